// Prints the notices of a watch on stderr. Prints lost connections and gaps even with --quiet.

import type { LogFields, Stderr } from '../../follow/stderr.js';
import type { Report } from '../../follower/events.js';
import { showDuration } from '../../terminal/time.js';
import type { WatchSummary } from '../../views/connection.js';
import {
  describeFound,
  errorFields,
  iso,
  summaryLines,
  summaryRecord,
} from '../../views/connection.js';
import type { ShownEntry } from '../../views/watch.js';
import type { WatchPlan } from './plan.js';
import type { WatchEffect } from './state.js';

export function openWatchReport({ print, atNow, zone, ...stderr }: Stderr, plan: WatchPlan) {
  return {
    /**
     * Prints an effect on stderr. Bicycles and messages are printed on stdout by another function.
     */
    effect(effect: WatchEffect): void {
      if (effect.type === 'show') {
        const { entry, atMs } = effect;
        print(true, foundRecord(entry), undefined);
        print(true, crossingRecord(entry, atMs), undefined);
      } else if (effect.type === 'read') {
        const { report } = effect;
        print(
          report.sinceWallMs !== undefined && !report.isComplete,
          readRecord(report),
          readLine(report, atNow),
        );
      } else if (effect.type === 'unread') {
        const { error, sinceWallMs, retryInMs } = effect;
        const after = sinceWallMs === undefined ? 'at the start' : 'after the gap';
        const fields = {
          event: 'resync',
          since: iso(sinceWallMs),
          complete: false,
          ...errorFields(error),
        };
        const line = `the list could not be read ${after}: ${error.message}; reading it again in ${showDuration(retryInMs)}`;
        print(true, fields, atNow(line));
      } else if (effect.type === 'notice') {
        const { event, message } = effect;
        // Problems with reading the list are always printed. Other messages are printed only with
        // --verbose.
        if (event === 'whole' || event === 'confirm') stderr.detail(message);
        else print(true, { event: 'resync', complete: false, message }, atNow(message));
      }
    },
    /** Reports that a request will be retried. */
    retry(message: string, pauseMs: number) {
      const fields = {
        event: 'resync',
        complete: false,
        message,
        retry_in_seconds: pauseMs / 1000,
      };
      print(false, fields, atNow(`${message}; reading the list again in ${showDuration(pauseMs)}`));
    },
    summary(summary: WatchSummary) {
      const lines = summaryLines(summary, zone, plan.topics.length > 1);
      // Undelivered output is always reported.
      return stderr.summary(summary.undelivered > 0, summaryRecord(summary), lines);
    },
  };
}

/** Returns the log record when a bicycle entered or left the selection. */
function crossingRecord(entry: ShownEntry, atMs: number): LogFields | undefined {
  if (entry.type !== 'bicycle' && entry.type !== 'leaving') return undefined;
  const { crossing, uuid } = entry;
  if (crossing === undefined) return undefined;
  const bicycle = entry.type === 'bicycle' ? entry.after : entry.bicycle;
  return { event: crossing, at: iso(atMs), uuid, bicycle };
}

/** Returns the log record of a change that was found in the list instead of a message. */
function foundRecord(entry: ShownEntry): LogFields | undefined {
  if (entry.type === 'gone') return { event: 'gone', uuid: entry.uuid, bicycle: entry.bicycle };
  if (entry.type !== 'bicycle' || entry.kind !== 'caught-up') return undefined;
  return { event: 'resync', uuid: entry.uuid, changed: entry.fields, bicycle: entry.after };
}

function readRecord({
  sinceWallMs,
  pages,
  changes,
  unknown,
  gone,
  isComplete,
  reason,
  missing,
}: Report): LogFields {
  const found = { pages, changes, unknown, gone, complete: isComplete, reason };
  return {
    event: 'resync',
    since: iso(sinceWallMs),
    ...found,
    missing: missing.length === 0 ? undefined : missing,
  };
}

/**
 * Returns the line for people about the changes that were found in the list. The first read of the
 * list produces a line only when a bicycle of --bicycle is missing.
 */
function readLine(report: Report, atNow: (text: string) => string): string | undefined {
  const { sinceWallMs, changes, unknown, gone, isComplete, missing, reason } = report;
  if (sinceWallMs === undefined)
    return missing.length === 0
      ? undefined
      : `waiting for the first update of ${missing.join(', ')}: ${reason}`;
  const found = describeFound(changes, unknown, gone).join(', ');
  if (isComplete) return atNow(`checked the list: ${found === '' ? 'nothing was missed' : found}`);
  return atNow(
    `checked the list: ${found === '' ? 'no change found' : found}, but it is not complete: ${reason}`,
  );
}
