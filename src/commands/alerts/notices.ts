// The messages on stderr while alerts are followed. Each failure and each recovery is reported
// once, and a summary is printed at the end.

import type { LogFields, Stderr } from '../../follow/stderr.js';
import { count } from '../../terminal/count.js';
import { showDuration } from '../../terminal/time.js';
import { errorFields, showCapped, type WatchEnd } from '../../views/connection.js';
import type { AlertsEffect } from './events.js';
import type { AlertCounts } from './state.js';

export interface SummaryInput {
  end: WatchEnd;
  durationMs: number;
  counts: AlertCounts;
  undelivered: number;
  /** The parts of the summary that --exec, --post and the webhook receiver add. */
  more: readonly SummaryPart[];
}

/** A part of the summary. Programs get `fields`, and people get the text in `facts`. */
export interface SummaryPart {
  readonly fields: LogFields;
  readonly facts: readonly string[];
  /** Whether this part is printed even with --quiet. Set when alerts were not delivered. */
  readonly isPromise: boolean;
}

export type AlertsReport = ReturnType<typeof openAlertsReport>;

export function openAlertsReport(
  stderr: Stderr,
  [verb, what]: readonly [string, string],
  everyMs: number | undefined,
) {
  const { print, atNow } = stderr;
  /** Prints a message even with --quiet. */
  const say = (fields: LogFields, line: string) => print(true, fields, atNow(line));
  return {
    /** Reports a damaged state file. `since` is the time of its last change (RFC 3339). */
    damaged(keptAs: string, since: string): void {
      const line = `the state file is damaged and was kept as ${keptAs}; alerts since its last change (${since}) are printed, and some of them were printed before`;
      say({ event: 'damaged', kept_as: keptAs, since }, line);
    },
    /** Reports an effect on stderr. Another function prints the alerts themselves on stdout. */
    effect(effect: AlertsEffect): void {
      if (effect.type === 'detail') stderr.detail(effect.text);
      else if (effect.type === 'ready') {
        const pace =
          everyMs === undefined ? '' : `; the list is read every ${showDuration(everyMs)}`;
        print(false, { event: 'open', known: effect.alerts }, atNow(`${verb}ing ${what}${pace}`));
      } else if (effect.type === 'unread') {
        const { error, retryInMs, cappedFromMs } = effect;
        const again = `trying again in ${showDuration(retryInMs)}${showCapped(cappedFromMs)}`;
        const fields = { event: 'lost', ...errorFields(error), retry_in_seconds: retryInMs / 1000 };
        say(fields, `the alerts could not be read: ${error.message}; ${again}`);
      } else if (effect.type === 'back') {
        const line = `the alerts can be read again after ${showDuration(effect.downMs)}; the missed alerts follow`;
        say({ event: 'back', seconds: Math.round(effect.downMs) / 1000 }, line);
      } else if (effect.type === 'bound') {
        const line = `the list was read only ${effect.items} alerts deep, without reaching a known one: older changes may be missing`;
        say({ event: 'incomplete', alerts: effect.items }, line);
      } else if (effect.type === 'show' && effect.mark !== undefined) {
        // Tells programs that fleet found the alert late. People can see this in the line that is
        // printed for the alert.
        const { id: uuid, modified, state } = effect.version;
        print(true, { event: effect.mark, uuid, modified, state }, undefined);
      }
    },
    summary: (input: SummaryInput) => printSummary(stderr, `${verb}ed ${what}`, input),
  };
}

function printSummary(stderr: Stderr, followed: string, input: SummaryInput): Promise<void> {
  const { end, durationMs, counts, undelivered, more } = input;
  const facts = [
    count(counts.shown, 'alert'),
    counts.caughtUp > 0 && `${counts.caughtUp} of them caught up`,
    counts.failures > 0 &&
      `${count(counts.failures, 'failed reading')} (nothing read for ${showDuration(counts.unreadMs)})`,
    ...more.flatMap((part) => part.facts),
  ].filter((fact) => fact !== false);
  const lines = [`${followed} for ${showDuration(durationMs)}: ${facts.join(', ')}`];
  if (undelivered > 0) lines.push(`  ${count(undelivered, 'alert')} not delivered`);
  const fields = {
    event: 'closed',
    reason: end,
    seconds: Math.round(durationMs) / 1000,
    shown: counts.shown,
    caught_up: counts.caughtUp,
    readings: counts.readings,
    failures: counts.failures,
    unread_seconds: Math.round(counts.unreadMs) / 1000,
    undelivered,
    ...Object.assign({}, ...more.map((part) => part.fields)),
  };
  return stderr.summary(undelivered > 0 || more.some((part) => part.isPromise), fields, lines);
}
