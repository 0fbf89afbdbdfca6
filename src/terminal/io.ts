// Input and output of the program: stdout, stderr, stdin and the environment.

import { write } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { reasonOf } from '../errors.js';
import type { Clock } from '../system/clock.js';
import { BUN_VERSION } from '../system/program-files.js';
import { openSecrets, type Secrets } from '../system/secrets.js';
import { hideTyped } from '../system/typed-secrets.js';
import { type ColorLevel, colorLevel } from './colour.js';
import { type Delivery, type OutputTarget, openDelivery } from './delivery.js';
import type { Pager } from './pager.js';

/**
 * The streams of a process. `bin/fleet.js` passes the real ones, and tests pass in-memory streams.
 */
export interface Streams {
  stdin: Readable & { isTTY?: boolean | undefined };
  stdout: Writable & {
    isTTY?: boolean | undefined;
    columns?: number | undefined;
    rows?: number | undefined;
  };
  stderr: Writable & {
    isTTY?: boolean | undefined;
    columns?: number | undefined;
    rows?: number | undefined;
  };
  env: NodeJS.ProcessEnv;
  /** Whether the streams are in memory, as in tests, and are not the streams of the process. */
  isInMemory?: boolean;
}

/**
 * An output. `write` waits until the reader can accept more data. A slow reader therefore slows the
 * program down. Without the wait, unwritten data would fill the memory.
 */
export interface Output extends Omit<Delivery, 'beginEnd'> {
  readonly isTerminal: boolean;
  /**
   * Returns the terminal width, or 80 when the terminal reports no width or 0. Returns undefined
   * for a pipe.
   */
  width(): number | undefined;
  /** Returns the terminal height, or 24 when the terminal reports no height or 0. */
  height(): number;
  /**
   * Whether the output can show Unicode. Some terminals cannot, depending on their locale or type.
   */
  readonly hasUnicode: boolean;
  /** Whether lines can be redrawn. This is not possible in a pipe or with `TERM=dumb`. */
  readonly canRedraw: boolean;
  /** The number of colours: 0 for none, 1 for sixteen, 2 for 256, 3 for true colour. */
  readonly colorLevel: ColorLevel;
}

/** An output with a status line on a terminal. */
export interface StatusOutput extends Output {
  /** Draws the status line. It stays until other text is written. An empty line removes it. */
  drawStatus(line: string): void;
  /**
   * Removes the status line. Holds back all text until the returned function is called, so that no
   * text appears in the middle of a prompt. Prompts write directly to the stream.
   */
  holdOutput(): () => void;
}

export interface Io {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Streams['stdin'];
  readonly stdout: Output;
  readonly stderr: StatusOutput;
  /** The streams themselves, for prompts and the live board. */
  readonly streams: Streams;
  /**
   * The secrets of this run. They are hidden in all text for stderr, even if other code has already
   * hidden them.
   */
  readonly secrets: Secrets;
  /**
   * Whether each line on stderr is a JSON object, for `--json` and similar flags (cli.md section
   * 3).
   */
  readonly isJson: boolean;
  /**
   * Starts the shutdown. During the shutdown, the reader has half a second to read each write.
   * After this time, the write and all later writes are abandoned. A slow reader therefore cannot
   * keep the program running.
   */
  beginEnd(): void;
  /**
   * Sends stdout through the user's pager, if stdout is a terminal and a pager is set. The pager
   * starts at the first write. Text for stderr waits until the pager ends. When the pager cannot be
   * started, `say` is called with the reason.
   */
  startPager(say: (line: string) => Promise<void>): Promise<void>;
  /** Waits until the user closes the pager, after everything was written. */
  closePager(): Promise<void>;
  /** Resolves when all text for stderr was delivered. Does not open stderr. */
  stderrSettled(): Promise<void>;
  /** Returns the number of bytes of both outputs that were not delivered. */
  undeliveredBytes(): number;
}

/**
 * A width outside this range cannot be right. This applies to the width from the terminal and to
 * the width from the variable COLUMNS.
 */
const MINIMUM_WIDTH_COLUMNS = 20;
const MAXIMUM_WIDTH_COLUMNS = 1000;

const USUAL_COLUMNS = 80;
const USUAL_ROWS = 24;

/**
 * Returns the reported size. Returns the usual size when the reported size is 0, because terminals
 * in containers and CI report 0 columns and rows.
 */
function sizeOr(reported: number | undefined, usual: number): number {
  return reported === undefined || reported <= 0 ? usual : reported;
}

/**
 * Whether a terminal can show Unicode. When no locale is set, as in containers, fleet assumes that
 * the terminal can show Unicode.
 */
function showsUnicode(env: NodeJS.ProcessEnv): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  return env['TERM'] !== 'dumb' && (locale === '' || /utf-?8/i.test(locale));
}

type EndableOutput = Output & Delivery;

function openOutput(
  streams: Streams,
  name: 'stdout' | 'stderr',
  { noColor, clock }: IoOptions,
): EndableOutput {
  const { env } = streams;
  const { isTerminal, target } = findTarget(streams, name, clock);
  return {
    isTerminal,
    canRedraw: isTerminal && env['TERM'] !== 'dumb',
    colorLevel: colorLevel(isTerminal, env, noColor),
    hasUnicode: !isTerminal || showsUnicode(env),
    width() {
      if (!isTerminal) return undefined;
      const asked = Number(env['COLUMNS']);
      const reported = sizeOr(streams[name].columns, USUAL_COLUMNS);
      const columns = Number.isInteger(asked) && asked > 0 ? asked : reported;
      return Math.min(MAXIMUM_WIDTH_COLUMNS, Math.max(MINIMUM_WIDTH_COLUMNS, columns));
    },
    height: () => sizeOr(streams[name].rows, USUAL_ROWS),
    ...openDelivery(target, clock),
  };
}

/** How long to wait before writing again to a non-blocking pipe that was full. */
const FULL_PIPE_MS = 10;

/**
 * Returns the stream or file that an output writes to, and whether it is a terminal. When the user
 * has paused the terminal with Ctrl-S, a write blocks the whole Node or Bun process, which then
 * ignores signals. Only a private API of Node can prevent this. If a later version of Node removes
 * this API, only this protection is lost. In Bun, the streams of the process are not used, because
 * they report bytes as written even while the bytes still wait in the process. Not creating these
 * streams also saves 1 to 2 ms.
 */
function findTarget(streams: Streams, name: 'stdout' | 'stderr', clock: Clock) {
  if (BUN_VERSION !== undefined && streams.isInMemory !== true) {
    const fd = name === 'stdout' ? 1 : 2;
    const isTerminal = isatty(fd);
    return { isTerminal, target: { ...writeInBackground(fd, clock), isTTY: isTerminal } };
  }
  const target: Streams['stdout'] & { _handle?: { setBlocking?(isBlocking: boolean): unknown } } =
    streams[name];
  const isTerminal = target.isTTY === true;
  if (isTerminal) target._handle?.setBlocking?.(false);
  return { isTerminal, target };
}

/** Writes strings sequentially in another thread. After a failure, all further writes fail. */
function writeInBackground(fd: number, clock: Clock): OutputTarget {
  let last: Promise<Error | null> = Promise.resolve(null);
  const writeAll = (bytes: Uint8Array, done: (error: Error | null) => void) =>
    write(fd, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') clock.after(FULL_PIPE_MS, () => writeAll(bytes, done));
      else if (error !== null || written === bytes.length) done(error);
      else writeAll(bytes.subarray(written), done);
    });
  return {
    write(text, done) {
      const bytes = typeof text === 'string' ? Buffer.from(text) : text;
      last = last.then((failed) => failed ?? new Promise((resolve) => writeAll(bytes, resolve)));
      void last.then(done);
    },
  };
}

export interface IoOptions {
  /** Whether `--no-color` was given. */
  noColor: boolean;
  /** Whether each line on stderr is JSON. */
  isJson: boolean;
  clock: Clock;
  /**
   * The arguments of the command line. Secrets in the arguments are hidden on stderr. Default: no
   * arguments.
   */
  argv?: readonly string[];
}

/** Returns to the first column and erases the line (ECMA-48 EL). */
const ERASE = '\r\u001b[K';
const LINE_FEED = 0x0a;

/**
 * Manages the status line of a terminal. The status line is removed before other text is written.
 */
function openStatus() {
  let drawnBy: Output['write'] | undefined;
  let isWithinLine = false;
  let isHeld = false;
  const takeAway = () => {
    void drawnBy?.(ERASE);
    drawnBy = undefined;
  };
  return {
    draw(line: string, write: Output['write']): void {
      // Other output may have stopped in the middle of a line. In this case the status line is not
      // drawn, because it would overwrite the unfinished line.
      if (line === '' || isWithinLine || isHeld) takeAway();
      else {
        drawnBy = write;
        void write(ERASE + line);
      }
    },
    hold(): () => void {
      takeAway();
      isHeld = true;
      return () => {
        isHeld = false;
      };
    },
    /**
     * Wraps the `write` method of an output stream on the same terminal, so that the status line is
     * removed before each write.
     */
    under(write: Output['write'], isStdout: boolean): Output['write'] {
      return (text) => {
        const last = text.at(-1);
        if (isStdout && last !== undefined) isWithinLine = last !== '\n' && last !== LINE_FEED;
        takeAway();
        return write(text);
      };
    },
  };
}

/** Creates the outputs of the program. */
export function openIo(streams: Streams, options: IoOptions): Io {
  const { env } = streams;
  const secrets = openSecrets();
  // The token from the environment is hidden from the start, because command-line errors are
  // printed before a command reads the token.
  secrets.addToken(env['FLEET_TOKEN']?.trim().split(/\s+/).at(-1) ?? '');
  const status = openStatus();
  const stdout = openOutput(streams, 'stdout', options);
  if (stdout.isTerminal) stdout.write = status.under(stdout.write, true);
  let isEnding = false;
  const paging = openPaging(stdout, env, options.clock, status.hold);
  const openStderr = (): EndableOutput & StatusOutput => {
    const opened = openOutput(streams, 'stderr', options);
    // The first text creates this function, because it runs many regular expressions.
    let hideInLine: ((text: string) => string) | undefined;
    if (isEnding) opened.beginEnd();
    /** Resolves when no prompt is waiting for an answer. */
    let answered: Promise<void> | undefined;
    const write: Output['write'] = async (text) => {
      hideInLine ??= hideTyped([...(options.argv ?? []), ...settingsIn(env)]);
      const hidden = typeof text === 'string' ? hideInLine(secrets.hide(text)) : text;
      if (answered !== undefined) await answered;
      if (opened.isTerminal && paging.held !== undefined) paging.held.push(hidden);
      // When stderr is closed, text for stderr is lost, but the command continues.
      else await opened.write(hidden).catch(() => {});
    };
    const drawStatus = (line: string) => status.draw(line, write);
    const holdOutput = () => {
      const showStatus = status.hold();
      let release = () => {};
      answered = new Promise((resolve) => {
        release = resolve;
      });
      return () => {
        answered = undefined;
        release();
        showStatus();
      };
    };
    return { ...opened, write: status.under(write, false), drawStatus, holdOutput };
  };
  let stderr: ReturnType<typeof openStderr> | undefined;
  return {
    env,
    get stdin() {
      return streams.stdin;
    },
    streams,
    stdout,
    get stderr() {
      stderr ??= openStderr();
      return stderr;
    },
    secrets,
    isJson: options.isJson,
    beginEnd() {
      isEnding = true;
      stdout.beginEnd();
      stderr?.beginEnd();
    },
    startPager: paging.start,
    async closePager() {
      for (const text of await paging.end()) await stderr?.write(text);
    },
    stderrSettled: async () => stderr?.settled(),
    undeliveredBytes: () => stdout.undeliveredBytes() + (stderr?.undeliveredBytes() ?? 0),
  };
}

/**
 * Returns the values of all `FLEET_…` variables, because a user may have put a secret into any of
 * them.
 */
function settingsIn(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    name.startsWith('FLEET_') && value !== undefined ? [value] : [],
  );
}

/** Manages the pager of stdout. */
function openPaging(
  stdout: EndableOutput,
  env: NodeJS.ProcessEnv,
  clock: Clock,
  holdStatus: () => void,
) {
  let opening: Promise<Pager | undefined> | undefined;
  const paging = {
    /** Text for stderr while the pager uses the terminal. */
    held: undefined as (string | Uint8Array)[] | undefined,
    async start(say: (line: string) => Promise<void>): Promise<void> {
      if (!stdout.isTerminal) return;
      const { openPager, pagerCommand } = await import('./pager.js');
      const command = pagerCommand(env);
      if (command === undefined) return;
      const direct = stdout.write;
      const refuse = async (error: unknown) => {
        await say(`! the pager "${command.join(' ')}" could not be started: ${reasonOf(error)}`);
        return undefined;
      };
      stdout.write = async (text) => {
        if (opening === undefined) holdStatus();
        opening ??= openPager(command, env, clock).catch(refuse);
        const pager = await opening;
        if (pager === undefined) return direct(text);
        paging.held ??= [];
        Object.assign(stdout, { settled: pager.settled, beginEnd: pager.beginEnd });
        await pager.write(text);
      };
    },
    /** Waits until the pager ends. Returns the stderr text that was held back meanwhile. */
    async end(): Promise<(string | Uint8Array)[]> {
      await (await opening)?.close();
      const texts = paging.held ?? [];
      paging.held = undefined;
      return texts;
    },
  };
  return paging;
}
