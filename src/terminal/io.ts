// Where text leaves and enters the program: two outputs judged apart for width and colour, one input, the environment.

import type { Readable, Writable } from 'node:stream';
import { FleetError } from '../errors.js';
import { openSecrets, type Secrets } from '../secrets.js';

/** What a process hands in: real streams in `bin/fleet.js`, streams in memory in tests. */
export interface Streams {
  stdin: Readable & { isTTY?: boolean | undefined };
  stdout: Writable & { isTTY?: boolean | undefined; columns?: number | undefined; rows?: number | undefined };
  stderr: Writable & { isTTY?: boolean | undefined; columns?: number | undefined; rows?: number | undefined };
  env: NodeJS.ProcessEnv;
}

/** One way out. `write` waits until the reader has room, so that a slow reader slows the program and not its memory. */
export interface Output {
  readonly isTerminal: boolean;
  /** Columns to draw in; `undefined` where nothing limits the width (a pipe or a file without COLUMNS). */
  width(): number | undefined;
  /** Rows of the terminal, 24 when it does not say. */
  height(): number;
  /** 0 no colour, 1 sixteen colours, 2 256 colours, 3 true colour. */
  readonly colorLevel: 0 | 1 | 2 | 3;
  /**
   * Resolves when the text has been taken. Rejects with ReaderLeft when the reader closed the pipe, with a FleetError
   * of kind `output` when it cannot be written (disk full).
   */
  write(text: string | Uint8Array): Promise<void>;
}

export interface Io {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Streams['stdin'];
  readonly stdout: Output;
  readonly stderr: Output;
  /** The raw streams, for what needs them whole: prompts and the live board. */
  readonly streams: Streams;
  /** The secrets of this run. What goes to stderr is searched for them once more, as the last net. */
  readonly secrets: Secrets;
}

/** The reader of stdout closed the pipe (`| head -1`): a quiet end, no error (cli.md section 2). */
export class ReaderLeft extends Error {
  constructor() {
    super('the reader of the output left');
    this.name = 'ReaderLeft';
  }
}

/** Widths beyond these are a mistake of the terminal or of COLUMNS. */
const MINIMUM_WIDTH_COLUMNS = 20;
const MAXIMUM_WIDTH_COLUMNS = 1000;

/**
 * Decides colour once, for one output: `--no-color` and NO_COLOR (any value but the empty one) turn it off, FORCE_COLOR turns it
 * on (0 or false: off), else a terminal that is not `TERM=dumb` has it. Sources: no-color.org, force-color.org.
 */
export function colorLevel(isTerminal: boolean, env: NodeJS.ProcessEnv, noColorFlag: boolean): 0 | 1 | 2 | 3 {
  if (noColorFlag || (env['NO_COLOR'] ?? '') !== '') return 0;
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined && forced !== '') {
    if (forced === '0' || forced === 'false') return 0;
    return forced === '2' ? 2 : forced === '3' ? 3 : 1;
  }
  if (!isTerminal || env['TERM'] === 'dumb') return 0;
  if (env['COLORTERM'] === 'truecolor' || env['COLORTERM'] === '24bit') return 3;
  return /-256(color)?$/.test(env['TERM'] ?? '') ? 2 : 1;
}

function widthFromEnvironment(env: NodeJS.ProcessEnv): number | undefined {
  const columns = Number(env['COLUMNS']);
  return Number.isInteger(columns) && columns > 0 ? columns : undefined;
}

function openOutput(
  stream: Streams['stdout'],
  env: NodeJS.ProcessEnv,
  noColor: boolean,
  onWrittenWrongly: (error: NodeJS.ErrnoException) => Error,
): Output {
  const isTerminal = stream.isTTY === true;
  let failure: Error | undefined;
  const waiting = new Set<() => void>();
  const fail = (error: Error) => {
    failure ??= error;
    for (const settle of waiting) settle();
    waiting.clear();
  };
  // Without a listener an EPIPE would end the process with a stack trace.
  stream.on('error', (error: NodeJS.ErrnoException) => fail(onWrittenWrongly(error)));
  stream.on('close', () => fail(new ReaderLeft()));
  return {
    isTerminal,
    colorLevel: colorLevel(isTerminal, env, noColor),
    width() {
      if (!isTerminal) return undefined;
      const columns = widthFromEnvironment(env) ?? stream.columns ?? 80;
      return Math.min(MAXIMUM_WIDTH_COLUMNS, Math.max(MINIMUM_WIDTH_COLUMNS, columns));
    },
    height: () => stream.rows ?? 24,
    write(text) {
      if (text.length === 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const settle = () => (failure === undefined ? resolve() : reject(failure));
        if (failure !== undefined) return settle();
        waiting.add(settle);
        stream.write(text, (error) => {
          if (error) fail(onWrittenWrongly(error));
          else if (waiting.delete(settle)) settle();
        });
      });
    },
  };
}

/** Makes the two outputs of the program; `noColor` is the flag `--no-color`. */
export function openIo(streams: Streams, noColor: boolean): Io {
  const { env } = streams;
  const secrets = openSecrets();
  // Nobody can be told when stderr itself is gone: what is said there is lost, the work goes on.
  const openStderr = (): Output => {
    const stderr = openOutput(streams.stderr, env, noColor, () => new ReaderLeft());
    return {
      ...stderr,
      write: (text) => stderr.write(typeof text === 'string' ? secrets.hide(text) : text).catch(() => {}),
    };
  };
  let stderr: Output | undefined;
  return {
    env,
    get stdin() {
      return streams.stdin;
    },
    streams,
    stdout: openOutput(streams.stdout, env, noColor, (error) =>
      error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED'
        ? new ReaderLeft()
        : new FleetError('output', `stdout could not be written: ${error.message}`, {
            cause: error,
            hint: error.code === 'ENOSPC' ? 'free some space and run the command again' : 'check where the output goes',
          }),
    ),
    get stderr() {
      stderr ??= openStderr();
      return stderr;
    },
    secrets,
  };
}
