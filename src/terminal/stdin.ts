// Reads stdin or a file in chunks or completely, up to a limit.

import { addAbortSignal } from 'node:stream';
import { reasonOf, usageError } from '../errors.js';
import type { Clock } from '../system/clock.js';
import type { Io } from './io.js';

/** The size limit for an input that is kept in memory completely. */
const STDIN_LIMIT_BYTES = 64 * 1024 * 1024;

/** The parts of the context that are needed to read stdin. */
export interface StdinOptions {
  readonly io: Pick<Io, 'stdin'>;
  readonly signal: AbortSignal;
}

/** The parts of the context that are needed to read an input. */
export interface InputOptions extends StdinOptions {
  readonly clock: Clock;
  settings(): Promise<{ readonly timeout: { readonly value: number } }>;
}

/**
 * Reads stdin to its end. Throws a FleetError of kind `usage` when stdin is a directory, unreadable
 * or too large. `tooMuch` is the message for an input that is too large. When the signal is
 * aborted, throws its reason.
 */
export function readStdin(
  options: StdinOptions,
  limitBytes = STDIN_LIMIT_BYTES,
  tooMuch = 'stdin has more than 64 MB',
): Promise<Buffer> {
  return readAll(stdinChunks(options), limitBytes, tooMuch);
}

/**
 * Reads an input file, or stdin for `-`. Throws a FleetError of kind `usage` with the reason when
 * it cannot be read.
 */
export function readInput(context: InputOptions, path: string): Promise<Buffer> {
  const source = path === '-' ? 'stdin' : path;
  return readAll(inputChunks(context, path), STDIN_LIMIT_BYTES, `${source} has more than 64 MB`);
}

/**
 * Reads all chunks. Throws a FleetError of kind `usage` with the message `tooMuch` when the limit
 * is exceeded.
 */
export async function readAll(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
  tooMuch: string,
): Promise<Buffer> {
  const gathered: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    gathered.push(chunk);
    length += chunk.length;
    if (length > limitBytes) throw usageError(tooMuch);
  }
  return Buffer.concat(gathered);
}

/**
 * Yields the bytes of an input file, or of stdin for `-`, as they arrive. Throws a FleetError of
 * kind `usage` that says why they cannot be read.
 */
export async function* inputChunks(
  context: InputOptions,
  path: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (path === '-') return yield* stdinChunks(context);
  const { signal, clock } = context;
  const silenceMs = (await context.settings()).timeout.value;
  const { openNamedFile } = await import('../system/named-file.js');
  try {
    yield* (await openNamedFile(path, { signal, clock, silenceMs })).chunks;
  } catch (error) {
    signal.throwIfAborted();
    throw usageError(`${path} cannot be read: ${reasonOf(error)}`, 'pass a file, or - for stdin');
  }
}

async function* stdinChunks({
  io: { stdin },
  signal,
}: StdinOptions): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of addAbortSignal(signal, stdin))
      yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  } catch (error) {
    signal.throwIfAborted();
    throw usageError(
      `stdin cannot be read: ${reasonOf(error)}`,
      'pipe the input in, or redirect it from a file: < FILE',
    );
  }
}
