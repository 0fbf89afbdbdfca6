// Prints notices while something is followed: lines for people, JSON lines for programs, bounded where nobody reads them.

import { readTopic } from '../../../api/push.js';
import type { Context } from '../../../context.js';
import type { FleetError } from '../../../errors.js';
import type { Lost, StreamEvent } from '../../../http/stream/events.js';
import { showClock } from '../../../system/time-zone.js';
import { wrap } from '../../../terminal/cells.js';
import { clean, escapeJson } from '../../../terminal/clean.js';
import { iso, streamLine, streamRecord } from '../../../views/connection.js';

/** Lines, JSON lines, a board on the terminal or a page in a browser that draw by themselves. */
export type Form = 'lines' | 'json' | 'board' | 'page';

export type LogFields = { readonly [field: string]: unknown };

export type Stderr = ReturnType<typeof openStderr>;

interface StderrOptions {
  form: Form;
  /** What a topic is, for people. */
  titleOf?: ((topic: string) => string) | undefined;
  /** Whether the topic has to be named, because there are several. */
  namesTopic: boolean;
}

/** How many characters of a message that could not be shown are kept. */
const KEPT_CHARACTERS = 1_000;
/** A line that is too wide for the terminal continues behind its time. */
const BEHIND_CLOCK = ' '.repeat('00:00:00 '.length);
/** A loss is said again, once a minute at most, when its pause has grown so much. */
const SAID_MS = 60_000;
const LONGER_PAUSE = 4;
/** What a reader of stderr may be behind; what goes beyond it is counted and left out. */
const UNREAD_LIMIT_CHARACTERS = 256 * 1024;

export function openStderr(context: Context, options: StderrOptions) {
  const { io, flags, zone } = context;
  const { wallMs } = context.clock;
  const { form, namesTopic, titleOf = (topic) => topic } = options;
  const isJson = form === 'json';
  let lastLoss: Lost | undefined;
  const writeBounded = openBounded(io.stderr.write, (lines) => {
    const message = `${lines} lines were dropped here: the reader of stderr is too slow`;
    print(true, { event: 'left-out', message }, message);
  });
  // The board fills the terminal: what would be printed over it is on it already.
  const write = form === 'board' && io.stderr.isTerminal ? () => {} : writeBounded;
  const record = (fields: LogFields) =>
    escapeJson(JSON.stringify({ ...fields, at: fields['at'] ?? iso(wallMs()) }));
  /** In the form of the moment; `always`: a promise about silence, which `--quiet` does not hold back. */
  const print = (always: boolean, fields: LogFields | undefined, line: string | undefined) => {
    if (flags.quiet === true && !always) return;
    if (isJson && fields !== undefined) write(record(fields));
    else if (!isJson && line !== undefined) write(forTerminal(clean(line)));
  };
  const forTerminal = (line: string) =>
    wrap(line, io.stderr.isTerminal ? io.stderr.width() : undefined, BEHIND_CLOCK).join('\n');
  /** Only with `--verbose`. */
  const detail = (text: string) => {
    if (flags.verbose === true) print(true, { event: 'log', message: text }, text);
  };
  const atNow = (line: string) => `${showClock(wallMs(), zone)} ${line}`;

  return {
    zone,
    titleOf,
    print,
    /** The line behind the local time of day. */
    atNow,
    /** The fate of a stream. */
    stream(event: StreamEvent) {
      if (event.type === 'open') {
        lastLoss = undefined;
        const { topic, as = topic } = event;
        const role = readTopic(as)?.role;
        if (role !== undefined) detail(`subscribed as ${role}: ${as}`);
      }
      // A night without network is one loss and a new line for each new reason, not a thousand lines.
      if (event.type === 'lost') {
        if (!isJson && lastLoss !== undefined && isSaid(event, lastLoss)) return;
        lastLoss = event;
      }
      print(
        event.type !== 'open',
        streamRecord(event),
        streamLine(event, zone, namesTopic, titleOf),
      );
      if (event.type === 'gap' && event.text !== undefined && !isJson) detail(`  ${event.text}`);
    },
    /** Something that could not be shown or filtered. */
    unshown({ kind, message }: FleetError, text: string) {
      const hidden = io.secrets.hide(text.slice(0, 4 * KEPT_CHARACTERS));
      const kept =
        hidden.length > KEPT_CHARACTERS ? `${hidden.slice(0, KEPT_CHARACTERS)}…` : hidden;
      const line = atNow(`a message could not be shown: ${message}: ${kept}`);
      print(true, { event: 'unshown', kind, message, text: kept }, line);
    },
    /** A line of `--trace` or `--verbose`, as it is. */
    log: write,
    detail,
    /** The last words; resolves when they were taken. `always` as for `print`. */
    async summary(always: boolean, fields: LogFields, lines: readonly string[]) {
      if (flags.quiet === true && !always) return;
      await io.stderr.write(`${(isJson ? [record(fields)] : lines).join('\n')}\n`);
    },
  };
}

/** Whether a loss need not be said again: it is for the same reason, and its pause not much longer than was said, or was said just now. */
function isSaid({ error, attempt, retryInMs, monotonicMs }: Lost, said: Lost): boolean {
  const isLonger =
    retryInMs >= LONGER_PAUSE * said.retryInMs && monotonicMs - said.monotonicMs >= SAID_MS;
  return attempt > 1 && error.message === said.error.message && !isLonger;
}

/** Writes lines; those that come while the reader is too far behind are counted, and said to be left out. */
function openBounded(write: (text: string) => Promise<void>, sayLeftOut: (lines: number) => void) {
  let waiting = 0;
  let leftOut = 0;
  return (text: string) => {
    if (waiting > UNREAD_LIMIT_CHARACTERS) return void leftOut++;
    waiting += text.length;
    void write(`${text}\n`).finally(() => {
      waiting -= text.length;
      if (waiting > 0 || leftOut === 0) return;
      sayLeftOut(leftOut);
      leftOut = 0;
    });
  };
}
