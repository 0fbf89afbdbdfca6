// Prints the notices of follow commands on stderr: lines for people, or JSON lines for programs.
// Limits the memory for notices that are waiting to be written to stderr.

import { readTopic } from '../api/push.js';
import type { Context } from '../context.js';
import type { FleetError } from '../errors.js';
import type { Lost, StreamEvent } from '../http/stream/events.js';
import { showClock } from '../system/time-zone.js';
import { wrap } from '../terminal/cells.js';
import { clean, escapeJson } from '../terminal/clean.js';
import { iso, streamLine, streamRecord } from '../views/connection.js';

/**
 * The kind of output: lines, JSON lines, a board on the terminal, or a web page. The board and the
 * page show notices themselves.
 */
export type Form = 'lines' | 'json' | 'board' | 'page';

export type LogFields = { readonly [field: string]: unknown };

export type Stderr = ReturnType<typeof openStderr>;

interface StderrOptions {
  form: Form;
  /** Returns a readable title for a topic. */
  titleOf?: ((topic: string) => string) | undefined;
  /** Whether notices name the topic. True when several topics are followed. */
  namesTopic: boolean;
}

/** Prints at most this many characters of a message that could not be shown. */
const KEPT_CHARACTERS = 1_000;
/**
 * The number of characters of a message in which secrets are hidden. This happens before the
 * message is cut, because a secret that is cut in two would not be recognised.
 */
const HIDDEN_IN_CHARACTERS = 64 * KEPT_CHARACTERS;
/**
 * The indent of wrapped lines. It aligns them with the text of the first line, which follows the
 * time.
 */
const BEHIND_CLOCK = ' '.repeat('00:00:00 '.length);
/**
 * A continuing outage is reported again when the pause between attempts is at least LONGER_PAUSE
 * times as long as at the last report. Reports are at least REPORT_PAUSE_MS apart.
 */
const REPORT_PAUSE_MS = 60_000;
const LONGER_PAUSE = 4;
/** The maximum length of unwritten output. Further lines are dropped and counted. */
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
  // A board on the terminal shows the notices itself, so they are not printed.
  const write = form === 'board' && io.stderr.isTerminal ? () => {} : writeBounded;
  const record = (fields: LogFields) =>
    escapeJson(JSON.stringify({ ...fields, at: fields['at'] ?? iso(wallMs()) }));
  /** Prints a notice as a line or as JSON. With `always`, prints it even with `--quiet`. */
  const print = (always: boolean, fields: LogFields | undefined, line: string | undefined) => {
    if (flags.quiet === true && !always) return;
    if (isJson && fields !== undefined) write(record(fields));
    else if (!isJson && line !== undefined) write(forTerminal(clean(line)));
  };
  const forTerminal = (line: string) =>
    wrap(line, io.stderr.isTerminal ? io.stderr.width() : undefined, BEHIND_CLOCK).join('\n');
  /** Prints a message, but only with `--verbose`. */
  const detail = (text: string) => {
    if (flags.verbose === true) print(true, { event: 'log', message: text }, text);
  };
  const atNow = (line: string) => `${showClock(wallMs(), zone)} ${line}`;

  return {
    zone,
    titleOf,
    print,
    /** Returns a line that begins with the local time of day. */
    atNow,
    /** Reports an event of the live stream. */
    stream(event: StreamEvent) {
      if (event.type === 'open') {
        lastLoss = undefined;
        const { topic, as = topic } = event;
        const role = readTopic(as)?.role;
        if (role !== undefined) detail(`subscribed as ${role}: ${as}`);
      }
      // A long outage is reported once, and again for each new reason. Reporting every attempt
      // could print a thousand lines.
      if (event.type === 'lost') {
        if (!isJson && lastLoss !== undefined && wasReported(event, lastLoss)) return;
        lastLoss = event;
      }
      print(
        event.type !== 'open',
        streamRecord(event),
        streamLine(event, zone, namesTopic, titleOf),
      );
      if (event.type === 'gap' && event.text !== undefined && !isJson) detail(`  ${event.text}`);
    },
    /** Reports a message that cannot be shown or filtered. */
    unshown({ kind, message }: FleetError, text: string) {
      const hidden = io.secrets.hide(text.slice(0, HIDDEN_IN_CHARACTERS));
      const kept =
        hidden.length > KEPT_CHARACTERS ? `${hidden.slice(0, KEPT_CHARACTERS)}…` : hidden;
      const line = atNow(`a message could not be shown: ${message}: ${kept}`);
      print(true, { event: 'unshown', kind, message, text: kept }, line);
    },
    /** Prints a line of `--trace` or `--verbose` unchanged. */
    log: write,
    detail,
    /**
     * Prints the final summary and waits until it is written. With `always`, prints it even with
     * `--quiet`.
     */
    async summary(always: boolean, fields: LogFields, lines: readonly string[]) {
      if (flags.quiet === true && !always) return;
      await io.stderr.write(`${(isJson ? [record(fields)] : lines).join('\n')}\n`);
    },
  };
}

/**
 * Whether a lost connection was already reported for the same reason. The outage is reported again
 * when the pause is much longer and the last report is at least a minute old.
 */
function wasReported({ error, attempt, retryInMs, monotonicMs }: Lost, reported: Lost): boolean {
  const isLonger =
    retryInMs >= LONGER_PAUSE * reported.retryInMs &&
    monotonicMs - reported.monotonicMs >= REPORT_PAUSE_MS;
  return attempt > 1 && error.message === reported.error.message && !isLonger;
}

/**
 * Returns a function that writes lines. Drops lines while too much output is waiting to be written,
 * and later reports how many were dropped.
 */
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
