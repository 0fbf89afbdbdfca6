// Reads stdin to its end or line by line, bounded; rejects a directory.

import { fstatSync } from 'node:fs';
import type { Clock } from '../clock.js';
import { type FleetError, reasonOf, usageError } from '../errors.js';
import type { Io, Streams } from './io.js';
import { withoutWorkbook } from './workbook.js';

/** The most that is read as a whole. */
const STDIN_LIMIT_BYTES = 64 * 1024 * 1024;

/** Longer than any line with a bicycle in it. */
const LINE_LIMIT_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/** What the reading of stdin needs. */
export interface StdinOptions {
  readonly io: Pick<Io, 'stdin'>;
  readonly signal: AbortSignal;
}

/** What the reading of an input needs. */
export interface InputOptions extends StdinOptions {
  readonly clock: Clock;
  settings(): Promise<{ readonly timeout: { readonly value: number } }>;
}

/**
 * Reads stdin to its end. Throws a FleetError of kind `usage` where stdin is a directory, unreadable or too big, and the
 * signal's reason as soon as it is aborted. `tooMuch` says what is wrong with more than the limit.
 */
export function readStdin(
  options: StdinOptions,
  limitBytes = STDIN_LIMIT_BYTES,
  tooMuch = 'stdin holds more than 64 MB',
): Promise<Buffer> {
  return readAll(stdinChunks(options), limitBytes, tooMuch);
}

/** The bytes of an input file, or of stdin for `-`. Throws a FleetError of kind `usage` that says why they cannot be read; `flag` names it. */
export function readInput(context: InputOptions, path: string, flag: string): Promise<Buffer> {
  if (path === '-') return readStdin(context);
  const tooLarge = `${path} cannot be read: it is larger than 64 MB`;
  return readAll(fileChunks(context, path, flag), STDIN_LIMIT_BYTES, tooLarge);
}

async function readAll(chunks: AsyncIterable<Uint8Array>, limitBytes: number, tooMuch: string): Promise<Buffer> {
  const gathered: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    gathered.push(chunk);
    length += chunk.length;
    if (length > limitBytes) throw usageError(tooMuch);
  }
  return Buffer.concat(gathered);
}

/** The lines of an input file, or of stdin for `-`, as they come. Throws as readInput does, and for what is not UTF-8 or empty. */
export async function* readLines(
  context: InputOptions,
  path: string,
  flag: string,
  emptyHint: string,
): AsyncGenerator<string, void, undefined> {
  const [chunks, source] = path === '-' ? [stdinChunks(context), 'stdin'] : [fileChunks(context, path, flag), path];
  let isEmpty = true;
  for await (const line of linesOf(chunks, source, true)) {
    isEmpty &&= line.trim() === '';
    yield line;
  }
  if (isEmpty) throw usageError(`${source} is empty`, emptyHint);
}

/**
 * The lines of stdin as they come, without their ends (LF or CRLF) and without a byte order mark. Throws as readStdin does, and a
 * FleetError of kind `usage` for a line of more than a megabyte and, where it is strict, for what is not UTF-8.
 */
export function readStdinLines(options: StdinOptions, isStrict: boolean): AsyncGenerator<string, void, undefined> {
  return linesOf(stdinChunks(options), 'stdin', isStrict);
}

async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  source: string,
  isStrict: boolean,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: isStrict });
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  const check = (line: Buffer) => {
    if (line.length > LINE_LIMIT_BYTES) throw usageError(`a line of ${source} is longer than a megabyte`);
    return line;
  };
  const decode = (line: Buffer): string => {
    number += 1;
    try {
      return decoder.decode(line).replace(/\r$/, '');
    } catch {
      throw usageError(`${source}:${number}: this is not UTF-8: save the file as UTF-8`, 'nothing was sent');
    }
  };
  for await (const chunk of withoutWorkbook(chunks, source)) {
    rest = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED, start)) {
      yield decode(check(rest.subarray(start, end)));
      start = end + 1;
    }
    rest = check(rest.subarray(start));
  }
  if (rest.length > 0) yield decode(rest);
}

async function* fileChunks(
  { signal, clock, settings }: InputOptions,
  path: string,
  flag: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const silenceMs = (await settings()).timeout.value;
  const { readNamedChunks } = await import('../named-file.js');
  try {
    yield* readNamedChunks(path, { signal, clock, silenceMs });
  } catch (error) {
    signal.throwIfAborted();
    const hint = flag.endsWith('@') ? `give ${flag}FILE, or ${flag}- for stdin` : `give ${flag} a file, or - for stdin`;
    throw usageError(`${path} cannot be read: ${reasonOf(error)}`, hint);
  }
}

async function* stdinChunks({ io: { stdin }, signal }: StdinOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const onAbort = () => void stdin.destroy(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (isDirectory(stdin)) throw unreadable('it is a directory');
    for await (const chunk of stdin) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    signal.throwIfAborted();
  } catch (error) {
    // What destroyed the stream, Ctrl-C for instance, comes through as it is.
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw unreadable(reasonOf(error));
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function unreadable(reason: string): FleetError {
  return usageError(`stdin cannot be read: ${reason}`, 'pipe the input in, or redirect it from a file: < FILE');
}

/** Node shows a directory as an empty stream. */
function isDirectory(stdin: Streams['stdin']): boolean {
  const { fd } = stdin as { fd?: unknown };
  try {
    return typeof fd === 'number' && fstatSync(fd).isDirectory();
  } catch {
    return false;
  }
}
