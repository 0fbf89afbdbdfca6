// Runs a command line of fleet in this process with streams in memory and real sockets.

import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { main } from '../../src/main.js';
import { type Clock, systemClock } from '../../src/system/clock.js';

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  /** The text on stdin. By default stdin ends at once. */
  stdin?: string | Readable;
  /** stdout and stderr are terminals of this size; pipes when absent. */
  terminal?: { columns: number; rows?: number };
  /** The wall clock. Default: the clock of the machine. */
  now?: () => number;
  /** Replaces the machine's clock. */
  clock?: Clock;
  signals?: EventEmitter;
  /** Called with each chunk of stdout. */
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
}

export interface RunResult {
  code: number;
  stdout: string;
  stderr: string;
}

type Sink = Writable & { isTTY?: boolean; columns?: number; rows?: number; text(): string };

function openSink(
  terminal: RunOptions['terminal'],
  onText: ((text: string) => void) | undefined,
): Sink {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      onText?.(chunk.toString());
      done();
    },
  });
  const size =
    terminal === undefined
      ? {}
      : { isTTY: true, columns: terminal.columns, rows: terminal.rows ?? 24 };
  return Object.assign(sink, size, { text: () => Buffer.concat(chunks).toString() });
}

/** Parses each line of a text as JSON. */
export const jsonLines = <T = { [field: string]: unknown }>(text: string): T[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

/**
 * Runs `fleet ARGS`. The environment contains only the given variables, so that no token, URL or
 * setting of the developer's machine reaches a test.
 */
export async function runFleet(
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const stdout = openSink(options.terminal, options.onStdout);
  const stderr = openSink(options.terminal, options.onStderr);
  const stdin =
    options.stdin instanceof Readable ? options.stdin : Readable.from([options.stdin ?? '']);
  const code = await main(args, {
    stdin: Object.assign(stdin, options.terminal === undefined ? {} : { isTTY: true }),
    stdout,
    stderr,
    env: { FLEET_CONFIG_DIR: '/nonexistent/fleet-tests', ...options.env },
    signals: options.signals ?? new EventEmitter(),
    clock: options.clock ?? systemClock(options.now),
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}
