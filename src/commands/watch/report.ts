// What a watch prints on stderr: lines for people, JSON lines for programs; losses and gaps even when quiet.

import type { Report } from '../../mirror/catch-up.js';
import { showDuration } from '../../terminal/time.js';
import type { Entry } from '../../views/change.js';
import { count, errorFields, iso, summaryLines, summaryRecord, type WatchSummary } from '../../views/stream.js';
import type { Fields, Stderr } from '../follow/stderr.js';
import type { Plan } from './plan.js';
import type { WatchEffect } from './state.js';

export function openReport({ print, atNow, offsetMinutes, ...stderr }: Stderr, plan: Plan) {
  return {
    /** What the list showed after a gap: printed here where it has no place on stdout. */
    caughtUp(entry: Entry): void {
      if (entry.type !== 'bicycle' || entry.kind !== 'caught-up') return;
      const { uuid, fields, after } = entry;
      print(true, { event: 'resync', uuid, changed: fields, bicycle: after }, undefined);
    },
    read(report: Report): void {
      print(report.sinceWallMs !== undefined && !report.isComplete, readRecord(report), readLine(report, atNow));
    },
    unread({ error, sinceWallMs, retryInMs }: WatchEffect & { type: 'unread' }): void {
      const what = sinceWallMs === undefined ? 'what is known at the start' : 'what changed meanwhile';
      const again = retryInMs === undefined ? '' : `; reading it again in ${showDuration(retryInMs)}`;
      const fields = { event: 'resync', since: iso(sinceWallMs), complete: false, ...errorFields(error) };
      print(true, fields, atNow(`the list could not be read to learn ${what}: ${error.message}${again}`));
    },
    /** A request that is tried again. */
    retry: (message: string, pauseMs: number) =>
      print(
        false,
        { event: 'resync', complete: false, message, retry_in_seconds: pauseMs / 1000 },
        atNow(`${message}; reading the list again in ${showDuration(pauseMs)}`),
      ),
    summary: (summary: WatchSummary) =>
      // What was not delivered is a promise as well.
      stderr.summary(
        summary.undelivered > 0,
        summaryRecord(summary),
        summaryLines(summary, offsetMinutes, plan.topics.length > 1),
      ),
  };
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
  const read = pages === 0 ? 'read what is followed' : `read ${count(pages, 'page')} of the list`;
  const found = changes === 0 ? 'nothing else changed meanwhile' : `${count(changes, 'change')} caught up`;
  const strangers = unknown === 0 ? '' : `, ${count(unknown, 'bicycle')} not known before`;
  if (isComplete) return atNow(`${read}: ${found}${strangers}`);
  const why = isBoundReached
    ? 'but the bound was reached; more may have changed before that; raise --resync-pages to be sure'
    : missing.length > 0
      ? `but it does not hold ${which}`
      : 'but the list does not prove that this is all';
  const sure = changes === 0 ? 'no change found' : found;
  return atNow(`${read}: ${sure}${strangers}, ${why}`);
}
