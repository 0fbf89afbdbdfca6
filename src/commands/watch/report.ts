// What a watch prints on stderr: lines for people, JSON lines for programs; losses and gaps even when quiet.

import type { Context } from '../../context.js';
import type { FleetError } from '../../errors.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type { Report } from '../../mirror/catch-up.js';
import type { Change } from '../../mirror/knowledge.js';
import { clean, escapeJson } from '../../terminal/clean.js';
import { showDuration } from '../../terminal/time.js';
import { showClock } from '../../views/change.js';
import { streamLine, streamRecord, summaryLines, summaryRecord, type WatchSummary } from '../../views/stream.js';
import type { Plan } from './plan.js';
import type { WatchEffect } from './state.js';

export interface Reporter {
  stream(event: StreamEvent): void;
  /** A change that was found in the list; printed only where it has no place on stdout. */
  caughtUp(change: Change): void;
  /** A reading of the list that is over. */
  read(report: Report): void;
  /** A list that could not be read. */
  unread(effect: WatchEffect & { type: 'unread' }): void;
  /** A message that could not be shown or filtered. */
  unshown(error: FleetError, text: string): void;
  /** A request that is tried again. */
  retry(reason: string, pauseMs: number): void;
  /** A line of `--trace` or `--verbose`, as it is. */
  log(line: string): void;
  /** Only with `--verbose`. */
  detail(text: string): void;
  summary(summary: WatchSummary): Promise<void>;
}

/** How many characters of a message that could not be shown are kept, and how many of a broken event `--verbose` shows. */
const KEPT_CHARACTERS = 1_000;
const DETAIL_CHARACTERS = 200;
/** What a reader of stderr may be behind; what goes beyond it is counted and left out. */
const UNREAD_LIMIT_CHARACTERS = 256 * 1024;

type Fields = { readonly [field: string]: unknown };

/** Opens the report; `offsetMinutes` is what local time is ahead of UTC, `wallMs` the machine's date. */
export function openReport(context: Context, plan: Plan, offsetMinutes: number, wallMs: () => number): Reporter {
  const { io, flags } = context;
  const isJson = plan.form === 'json';
  const namesTopic = plan.topics.length > 1;
  // The board fills the terminal: what would be printed over it is on it already.
  const isMuted = plan.form === 'board' && io.stderr.isTerminal;
  let lastLoss: string | undefined;
  let waiting = 0;
  let leftOut = 0;

  const write = (text: string) => {
    if (isMuted) return;
    if (waiting > UNREAD_LIMIT_CHARACTERS) {
      leftOut++;
      return;
    }
    waiting += text.length;
    void io.stderr.write(`${text}\n`).finally(() => {
      waiting -= text.length;
      if (waiting > 0 || leftOut === 0) return;
      const message = `${leftOut} lines were left out here: the reader of stderr did not take them`;
      leftOut = 0;
      write(isJson ? record({ event: 'left-out', message }) : message);
    });
  };
  const record = (fields: Fields) => escapeJson(JSON.stringify({ ...fields, at: fields['at'] ?? iso(wallMs()) }));

  /** In the form of the moment; `always`: a promise about silence, which `--quiet` does not hold back. */
  const print = (always: boolean, fields: Fields | undefined, line: string | undefined) => {
    if (flags.quiet === true && !always) return;
    if (isJson && fields !== undefined) write(record(fields));
    else if (!isJson && line !== undefined) write(clean(line));
  };
  const atNow = (text: string) => `${showClock(wallMs(), offsetMinutes)} ${text}`;

  return {
    stream(event) {
      if (event.type === 'open') lastLoss = undefined;
      // A night without network is one loss and a new line for each new reason, not a thousand lines.
      if (event.type === 'lost') {
        const isSame = lastLoss === event.error.message && event.attempt > 1;
        lastLoss = event.error.message;
        if (isSame && !isJson) return;
      }
      print(event.type !== 'open', streamRecord(event), streamLine(event, offsetMinutes, namesTopic));
      if (event.type !== 'gap' || event.text === undefined || isJson || flags.verbose !== true) return;
      write(clean(`  ${cutText(event.text, DETAIL_CHARACTERS)}`));
    },
    caughtUp({ uuid, fields, after }) {
      print(true, { event: 'resync', at: iso(wallMs()), uuid, changed: fields, bicycle: after }, undefined);
    },
    read: (report) =>
      print(report.sinceWallMs !== undefined && !report.isComplete, readRecord(report), readLine(report, atNow)),
    unread({ error, sinceWallMs, retryInMs }) {
      const what = sinceWallMs === undefined ? 'what is known at the start' : 'what changed meanwhile';
      const again = retryInMs === undefined ? '' : `; reading it again in ${showDuration(retryInMs)}`;
      const { kind, message, status = null } = error;
      const fields = { event: 'resync', since: iso(sinceWallMs), complete: false, kind, message, status };
      print(true, fields, atNow(`the list could not be read to learn ${what}: ${message}${again}`));
    },
    unshown({ kind, message }, text) {
      const kept = cutText(io.secrets.hide(text.slice(0, 4 * KEPT_CHARACTERS)), KEPT_CHARACTERS);
      print(
        true,
        { event: 'unshown', kind, message, text: kept },
        atNow(`a message could not be shown: ${message}: ${kept}`),
      );
    },
    retry: (message, pauseMs) =>
      print(
        false,
        { event: 'resync', complete: false, message, retry_in_seconds: pauseMs / 1000 },
        atNow(`${message}; reading the list again in ${showDuration(pauseMs)}`),
      ),
    log: write,
    detail(text) {
      if (flags.verbose === true) print(true, { event: 'log', message: text }, text);
    },
    async summary(summary) {
      // What was not delivered is a promise as well.
      if (flags.quiet === true && summary.undelivered === 0) return;
      const lines = isJson ? [record(summaryRecord(summary))] : summaryLines(summary, offsetMinutes, namesTopic);
      await io.stderr.write(`${lines.join('\n')}\n`);
    },
  };
}

function iso(wallMs: number | undefined): string | null {
  return wallMs === undefined ? null : new Date(wallMs).toISOString();
}

function cutText(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters)}…`;
}

function readRecord({ sinceWallMs, pages, changes, unknown, isComplete, missing }: Report): Fields {
  const fields = { event: 'resync', since: iso(sinceWallMs), pages, changes, unknown, complete: isComplete };
  return missing.length === 0 ? fields : { ...fields, missing };
}

/** A reading for people; the start is worth a line only where a bicycle that was named is not there. */
function readLine(report: Report, atNow: (text: string) => string): string | undefined {
  const { sinceWallMs, pages, changes, unknown, isComplete, isBoundReached, missing } = report;
  const which = missing.join(', ');
  if (sinceWallMs === undefined) {
    if (missing.length === 0) return undefined;
    return isBoundReached
      ? `not among the last changed bicycles of the list, so not known before the first update: ${which}; raise --resync-pages`
      : `not in the list, so not known before the first update: ${which}`;
  }
  const read = pages === 0 ? 'read what is followed' : `read ${pages} ${pages === 1 ? 'page' : 'pages'} of the list`;
  const found =
    changes === 0 ? 'nothing else changed meanwhile' : `${changes} ${changes === 1 ? 'change' : 'changes'} caught up`;
  const strangers = unknown === 0 ? '' : `, ${unknown} ${unknown === 1 ? 'bicycle' : 'bicycles'} not known before`;
  if (isComplete) return atNow(`${read}: ${found}${strangers}`);
  const why = isBoundReached
    ? 'but the bound was reached; more may have changed before that; raise --resync-pages to be sure'
    : missing.length > 0
      ? `but it does not hold ${which}`
      : 'but the list does not prove that this is all';
  const sure = changes === 0 ? 'no change found' : found;
  return atNow(`${read}: ${sure}${strangers}, ${why}`);
}
