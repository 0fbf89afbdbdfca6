// Input and output of the program: stdout, stderr, stdin and the environment.

import { write } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { reasonOf } from '../errors.js';
import type { Clock } from '../system/clock.js';
import { BUN_VERSION } from '../system/program-files.js';
import { openSecrets, type Secrets } from '../system/secrets.js';
import { type ColorLevel, colorLevel } from './colour.js';
import { type Delivery, type OutputTarget, openDelivery } from './delivery.js';
import type { Pager } from './pager.js';

/** The streams of a process: real ones in `bin/fleet.js`, streams in memory in tests. */
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
}

/** An output. `write` waits until the reader has room, so that a slow reader slows the program and not its memory. */
export interface Output extends Omit<Delivery, 'beginEnd'> {
  readonly isTerminal: boolean;
  /** Columns to draw in, 80 when the terminal does not say or says 0; undefined for a pipe, whose width nothing limits. */
  width(): number | undefined;
  /** Rows of the terminal, 24 when it does not say or says 0. */
  height(): number;
  /** Whether signs beyond ASCII can be drawn: not on a terminal whose locale or kind says no. */
  readonly hasUnicode: boolean;
  /** Whether the cursor can be moved and lines redrawn: not on a pipe, and not on a terminal with `TERM=dumb`. */
  readonly canRedraw: boolean;
  /** 0 no colour, 1 sixteen colours, 2 256 colours, 3 true colour. */
  readonly colorLevel: ColorLevel;
}

/** An output on whose terminal one line can say how far something is. */
export interface StatusOutput extends Output {
  /** Draws the line, which stays until something else is written to the terminal; '' removes it. */
  drawStatus(line: string): void;
  /** Takes the line away, and draws none until the function that it returns is called: for a prompt, which writes to the raw stream. */
  holdStatus(): () => void;
}

export interface Io {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Streams['stdin'];
  readonly stdout: Output;
  readonly stderr: StatusOutput;
  /** The raw streams, for what needs them whole: prompts and the live board. */
  readonly streams: Streams;
  /** The secrets of this run. What goes to stderr is searched for them once more, as the last net. */
  readonly secrets: Secrets;
  /** Whether each line on stderr is a JSON object, for `--json` and the like (cli.md section 3). */
  readonly isJson: boolean;
  /**
   * The program ends: from now on a write that its reader does not take within half a second is given up, and every later one with it,
   * so that no reader can keep the program from ending.
   */
  beginEnd(): void;
  /**
   * From its first write on stdout goes through the operator's pager, where it is a terminal and one is named; what stderr is given
   * waits for the pager's end. `say` is called with the reason when one could not be started.
   */
  startPager(say: (line: string) => Promise<void>): Promise<void>;
  /** Everything was written: waits until the operator closes the pager. */
  closePager(): Promise<void>;
}

/** Widths beyond these are a mistake of the terminal or of COLUMNS. */
const MINIMUM_WIDTH_COLUMNS = 20;
const MAXIMUM_WIDTH_COLUMNS = 1000;

const USUAL_COLUMNS = 80;
const USUAL_ROWS = 24;

/** The size that a terminal reports. Containers and CI have terminals of 0 columns and 0 rows: then the usual size. */
function sizeOr(reported: number | undefined, usual: number): number {
  return reported === undefined || reported <= 0 ? usual : reported;
}

/** Whether a terminal shows more than ASCII. Without a locale it does: containers set none, and the terminals before them are of today. */
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

/** How soon a full non-blocking pipe is retried. */
const FULL_PIPE_MS = 10;

/**
 * While Node or Bun writes to a terminal, the whole process waits, deaf to signals when somebody has stopped the terminal by Ctrl-S. Node
 * has no public way to ask for anything else; where this one goes, the process is deaf again and nothing else changes. Bun, too, calls
 * bytes written that wait in the process still; its streams are not even made, which takes it 1 to 2 ms.
 */
function findTarget(streams: Streams, name: 'stdout' | 'stderr', clock: Clock) {
  if (BUN_VERSION !== undefined) {
    const fd = name === 'stdout' ? 1 : 2;
    return { isTerminal: isatty(fd), target: writeInBackground(fd, clock) };
  }
  const target: Streams['stdout'] & { _handle?: { setBlocking?(isBlocking: boolean): unknown } } =
    streams[name];
  const isTerminal = target.isTTY === true;
  if (isTerminal) target._handle?.setBlocking?.(false);
  return { isTerminal, target };
}

/** Writes wait in another thread, one after the other; after one that failed each fails. */
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
  /** The flag `--no-color`. */
  noColor: boolean;
  /** Whether each line on stderr is to be JSON. */
  isJson: boolean;
  clock: Clock;
}

/** Back to the first column, and erase to the end of the line (ECMA-48 EL). */
const ERASE = '\r\u001b[K';
const LINE_FEED = 0x0a;

/** A status line on a terminal, removed before anything else is written there. */
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
      // Over the beginning of a line that is not finished nothing is drawn.
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
    /** The writer of an output on the same terminal. */
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

/** Makes the two outputs of the program. */
export function openIo(streams: Streams, options: IoOptions): Io {
  const { env } = streams;
  const secrets = openSecrets();
  const status = openStatus();
  const stdout = openOutput(streams, 'stdout', options);
  if (stdout.isTerminal) stdout.write = status.under(stdout.write, true);
  let isEnding = false;
  const paging = openPaging(stdout, env, options.clock, status.hold);
  const openStderr = (): EndableOutput & StatusOutput => {
    const opened = openOutput(streams, 'stderr', options);
    if (isEnding) opened.beginEnd();
    const write: Output['write'] = async (text) => {
      const hidden = typeof text === 'string' ? secrets.hide(text) : text;
      if (opened.isTerminal && paging.held !== undefined) paging.held.push(hidden);
      // When stderr itself is closed nobody can be told: its text is lost, the work goes on.
      else await opened.write(hidden).catch(() => {});
    };
    const drawStatus = (line: string) => status.draw(line, write);
    return { ...opened, write: status.under(write, false), drawStatus, holdStatus: status.hold };
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
  };
}

/** The way of stdout through the operator's pager. */
function openPaging(
  stdout: EndableOutput,
  env: NodeJS.ProcessEnv,
  clock: Clock,
  holdStatus: () => void,
) {
  let opening: Promise<Pager | undefined> | undefined;
  const paging = {
    /** What stderr was given while the terminal is the pager's. */
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
    /** Waits for the end of the pager; what stderr was given meanwhile. */
    async end(): Promise<(string | Uint8Array)[]> {
      await (await opening)?.close();
      const texts = paging.held ?? [];
      paging.held = undefined;
      return texts;
    },
  };
  return paging;
}
