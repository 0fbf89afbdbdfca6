// Reads stdin to its end or line by line, bounded; rejects a directory.

import { fstatSync } from 'node:fs';
import type { Clock } from '../clock.js';
import { FleetError, reasonOf, usageError } from '../errors.js';
import type { Io, Streams } from './io.js';
import { withoutWorkbook } from './workbook.js';

/** The most that is read as a whole. */
const STDIN_LIMIT_BYTES = 64 * 1024 * 1024;

/** Longer than any line with a bicycle in it. */
const LINE_LIMIT_CHARACTERS = 1024 * 1024;

export interface ReadStdinOptions {
  limitBytes?: number;
  /** What is wrong with more than that. */
  tooMuch?: string;
}

/**
 * Reads stdin to its end. Throws a FleetError of kind `usage` where stdin is a directory, unreadable or too big, and the
 * signal's reason as soon as it is aborted.
 */
export async function readStdin(
  { io, signal }: { readonly io: Io; readonly signal: AbortSignal },
  { limitBytes = STDIN_LIMIT_BYTES, tooMuch = 'stdin holds more than 64 MB' }: ReadStdinOptions = {},
): Promise<Buffer> {
  const onAbort = () => void io.stdin.destroy(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of readChunks(io.stdin)) {
      chunks.push(Buffer.from(chunk));
      length += chunk.length;
      if (length > limitBytes) throw usageError(tooMuch);
    }
    signal.throwIfAborted();
    return Buffer.concat(chunks);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** What the reading of an input needs. */
export interface InputOptions {
  readonly io: Io;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  settings(): Promise<{ readonly timeoutMs: { readonly value: number } }>;
}

/** The bytes of an input file, or of stdin for `-`. Throws a FleetError of kind `usage` that says why they cannot be read; `flag` names it. */
export async function readInput(context: InputOptions, path: string, flag: string): Promise<Buffer> {
  if (path === '-') return readStdin(context);
  const { signal, clock } = context;
  const silenceMs = (await context.settings()).timeoutMs.value;
  const { readNamedFile } = await import('../named-file.js');
  const reading = readNamedFile(path, {
    limitBytes: STDIN_LIMIT_BYTES,
    tooLarge: 'it is larger than 64 MB',
    signal,
    clock,
    silenceMs,
  });
  return (await reading.catch((error: unknown) => refuseFile(error, path, flag, signal))).bytes;
}

function refuseFile(error: unknown, path: string, flag: string, signal: AbortSignal): never {
  signal.throwIfAborted();
  const hint = flag.endsWith('@') ? `give ${flag}FILE, or ${flag}- for stdin` : `give ${flag} a file, or - for stdin`;
  throw usageError(`${path} cannot be read: ${reasonOf(error)}`, hint);
}

/** The lines of an input file, or of stdin for `-`, as they come. Throws as readInput does, and for what is not UTF-8 or empty. */
export async function* readLines(
  context: InputOptions,
  path: string,
  flag: string,
  emptyHint: string,
): AsyncGenerator<string, void, undefined> {
  const { signal, clock } = context;
  const isStdin = path === '-';
  let isEmpty = true;
  for await (const line of isStdin ? readStdinLines(context, true) : linesOf(await chunksOfFile(), path, true)) {
    isEmpty &&= line.trim() === '';
    yield line;
  }
  if (isEmpty) throw usageError(`${isStdin ? 'stdin' : path} is empty`, emptyHint);

  async function chunksOfFile() {
    const silenceMs = (await context.settings()).timeoutMs.value;
    const { readNamedChunks } = await import('../named-file.js');
    return (async function* () {
      const chunks = readNamedChunks(path, { signal, clock, silenceMs });
      for (;;) {
        const got = await chunks.next().catch((error: unknown) => refuseFile(error, path, flag, signal));
        if (got.done === true) return;
        yield got.value;
      }
    })();
  }
}

/**
 * The lines of stdin as they come, without their ends (LF or CRLF) and without a byte order mark. Throws as readStdin does, and a
 * FleetError of kind `usage` for a line of more than a megabyte and, where it is strict, for what is not UTF-8.
 */
export async function* readStdinLines(
  { io, signal }: { readonly io: Pick<Io, 'stdin'>; readonly signal: AbortSignal },
  isStrict: boolean,
): AsyncGenerator<string, void, undefined> {
  const onAbort = () => void io.stdin.destroy(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    yield* linesOf(readChunks(io.stdin), 'stdin', isStrict);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function* linesOf(
  chunks: AsyncIterable<string | Uint8Array>,
  source: string,
  isStrict: boolean,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: isStrict });
  let rest = '';
  let number = 1;
  const refuseLong = (line: string) => {
    if (line.length > LINE_LIMIT_CHARACTERS) throw usageError(`a line of ${source} is longer than a megabyte`);
    return line;
  };
  const decode = (chunk?: string | Uint8Array): string => {
    if (typeof chunk === 'string') return chunk;
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch {
      const before =
        Buffer.from(chunk ?? [])
          .toString('utf8')
          .split('\uFFFD', 1)[0] ?? '';
      const line = number + before.split('\n').length - 1;
      throw usageError(`${source}:${line}: this is not UTF-8: save the file as UTF-8`, 'nothing was sent');
    }
  };
  for await (const chunk of withoutWorkbook(chunks, source)) {
    rest += decode(chunk);
    let start = 0;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      yield refuseLong(rest.slice(start, end)).replace(/\r$/, '');
      start = end + 1;
      number += 1;
    }
    rest = refuseLong(rest.slice(start));
  }
  rest += decode();
  if (rest !== '') yield rest.replace(/\r$/, '');
}

async function* readChunks(stdin: Streams['stdin']): AsyncGenerator<string | Uint8Array, void, undefined> {
  const reason = findObstacle(stdin);
  if (reason !== undefined) throw unreadable(reason);
  try {
    yield* stdin;
  } catch (error) {
    // What destroyed the stream, Ctrl-C for instance, comes through as it is.
    if (error instanceof FleetError || !(error instanceof Error) || !('syscall' in error)) throw error;
    throw unreadable(reasonOf(error));
  }
}

function unreadable(reason: string): FleetError {
  return usageError(`stdin cannot be read: ${reason}`, 'pipe the input in, or redirect it from a file: < FILE');
}

/** Why nothing can come from stdin; undefined where something can. Node shows a directory as an empty stream. */
function findObstacle(stdin: Streams['stdin']): string | undefined {
  const { fd } = stdin as { fd?: unknown };
  try {
    return typeof fd === 'number' && fstatSync(fd).isDirectory() ? 'it is a directory' : undefined;
  } catch {
    return undefined;
  }
}
