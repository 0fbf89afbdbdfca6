// Prints notices of the follow commands on stderr: lines for people, JSON lines for programs.
// Limits the memory for output that the reader of stderr has not read yet.

import { readTopic } from '../api/push.js';
import type { Context } from '../context.js';
import type { FleetError } from '../errors.js';
import type { Lost, StreamEvent } from '../http/stream/events.js';
import { showClock } from '../system/time-zone.js';
import { wrap } from '../terminal/cells.js';
import { clean, escapeJson } from '../terminal/clean.js';
import { iso, streamLine, streamRecord } from '../views/connection.js';

/**
 * The kind of output: lines, JSON lines, a board on the terminal, or a page in a browser. The board
 * and the page show notices themselves.
 */
export type Form = 'lines' | 'json' | 'board' | 'page';

export type LogFields = { readonly [field: string]: unknown };

export type Stderr = ReturnType<typeof openStderr>;

interface StderrOptions {
  form: Form;
  /** Returns the title of a topic for people. */
  titleOf?: ((topic: string) => string) | undefined;
  /** Whether notices name the topic, because several topics are followed. */
  namesTopic: boolean;
}

/** How many characters of a message that could not be shown are printed. */
const KEPT_CHARACTERS = 1_000;
/**
 * This many characters of the text are searched for secrets. It is much more than is printed,
 * because a secret that is cut is not recognised.
 */
const HIDDEN_IN_CHARACTERS = 64 * KEPT_CHARACTERS;
/**
 * The continuation of a line that is too wide for the terminal is indented to the text after its
 * time.
 */
const BEHIND_CLOCK = ' '.repeat('00:00:00 '.length);
/**
 * A lost connection is reported again when the pause before the next attempt has grown by this
 * factor, but at most once a minute.
 */
const REPORT_PAUSE_MS = 60_000;
const LONGER_PAUSE = 4;
/** The maximum size of output that waits for the reader. Further lines are dropped and counted. */
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
  // The board fills the terminal and already shows these notices.
  const write = form === 'board' && io.stderr.isTerminal ? () => {} : writeBounded;
  const record = (fields: LogFields) =>
    escapeJson(JSON.stringify({ ...fields, at: fields['at'] ?? iso(wallMs()) }));
  /** Prints in the current format. `always` prints even with `--quiet`, for gaps and losses. */
  const print = (always: boolean, fields: LogFields | undefined, line: string | undefined) => {
    if (flags.quiet === true && !always) return;
    if (isJson && fields !== undefined) write(record(fields));
    else if (!isJson && line !== undefined) write(forTerminal(clean(line)));
  };
  const forTerminal = (line: string) =>
    wrap(line, io.stderr.isTerminal ? io.stderr.width() : undefined, BEHIND_CLOCK).join('\n');
  /** Printed only with `--verbose`. */
  const detail = (text: string) => {
    if (flags.verbose === true) print(true, { event: 'log', message: text }, text);
  };
  const atNow = (line: string) => `${showClock(wallMs(), zone)} ${line}`;

  return {
    zone,
    titleOf,
    print,
    /** Returns the line with the local time of day in front. */
    atNow,
    /** Reports an event of a connection. */
    stream(event: StreamEvent) {
      if (event.type === 'open') {
        lastLoss = undefined;
        const { topic, as = topic } = event;
        const role = readTopic(as)?.role;
        if (role !== undefined) detail(`subscribed as ${role}: ${as}`);
      }
      // A long network outage is reported once, and again for each new reason, instead of with a
      // thousand lines.
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
    /** Reports a message that could not be shown or filtered. */
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
     * Prints the final summary. Resolves when it is written. `always` prints even with `--quiet`.
     */
    async summary(always: boolean, fields: LogFields, lines: readonly string[]) {
      if (flags.quiet === true && !always) return;
      await io.stderr.write(`${(isJson ? [record(fields)] : lines).join('\n')}\n`);
    },
  };
}

/**
 * Whether this loss of the connection was already reported: the reason is the same, and the pause
 * is not much longer or was reported less than a minute ago.
 */
function wasReported({ error, attempt, retryInMs, monotonicMs }: Lost, reported: Lost): boolean {
  const isLonger =
    retryInMs >= LONGER_PAUSE * reported.retryInMs &&
    monotonicMs - reported.monotonicMs >= REPORT_PAUSE_MS;
  return attempt > 1 && error.message === reported.error.message && !isLonger;
}

/**
 * Writes lines. While the reader is too far behind, lines are dropped and counted. The count is
 * reported later.
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
