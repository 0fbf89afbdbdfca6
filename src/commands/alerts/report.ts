// What following alerts says on stderr: failures and returns once each, what --exec prints, a summary at the end.

import { showDuration } from '../../terminal/time.js';
import { count, errorFields, showCapped, type WatchEnd } from '../../views/stream.js';
import type { Fields, Stderr } from '../follow/stderr.js';
import type { AlertCounts, AlertsEffect, Show } from './state.js';

/** What was done besides showing. */
interface DoneCounts {
  executed: number;
  execFailed: number;
}

export interface SummaryInput {
  end: WatchEnd;
  durationMs: number;
  counts: AlertCounts;
  done: DoneCounts;
  undelivered: number;
  /** What a receiver adds: for programs, and for people. */
  more?: { fields: Fields; facts: readonly string[]; isPromise: boolean } | undefined;
}

export function openAlertsReport(stderr: Stderr, doing: string, everyMs: number | undefined) {
  const { print, atNow } = stderr;
  return {
    /** What the machine says; shows are printed elsewhere, but for their marks. */
    effect(effect: AlertsEffect): void {
      if (effect.type === 'stream') stderr.stream(effect.event);
      else if (effect.type === 'detail') stderr.detail(effect.text);
      else if (effect.type === 'ready') {
        const pace = everyMs === undefined ? '' : `; the list is read every ${showDuration(everyMs)}`;
        print(false, { event: 'open', known: effect.alerts }, atNow(`${doing}${pace}`));
      } else {
        const trouble = troubleOf(effect);
        // Of what bears its mark in its line there is a record alone.
        if (trouble !== undefined) print(true, trouble.fields, trouble.line && atNow(trouble.line));
      }
    },
    execLine: (line: string) => print(true, { event: 'exec', line }, `exec: ${line}`),
    execFailed({ version }: Show, reason: string): void {
      const line = `the command of --exec failed for the alert ${version.id}: ${reason}`;
      print(true, { event: 'exec-failed', uuid: version.id, message: reason }, atNow(line));
    },
    summary: (input: SummaryInput) => printSummary(stderr, doing, input),
  };
}

/** What is said even when quiet. */
function troubleOf(effect: AlertsEffect): { fields: Fields; line?: string } | undefined {
  switch (effect.type) {
    case 'unread': {
      const { error, retryInMs, cappedFromMs } = effect;
      const again = `trying again in ${showDuration(retryInMs)}${showCapped(cappedFromMs)}`;
      const fields = { event: 'lost', ...errorFields(error), retry_in_seconds: retryInMs / 1000 };
      return { fields, line: `the alerts could not be read: ${error.message}; ${again}` };
    }
    case 'back': {
      const line = `the alerts can be read again after ${showDuration(effect.downMs)}; what was missed follows`;
      return { fields: { event: 'back', seconds: Math.round(effect.downMs) / 1000 }, line };
    }
    case 'bound': {
      const line = `the list was read only ${effect.items} alerts deep, without reaching a known one: older changes may be missing`;
      return { fields: { event: 'incomplete', alerts: effect.items }, line };
    }
    case 'show': {
      const { id: uuid, modified, state } = effect.version;
      return effect.mark && { fields: { event: effect.mark, uuid, modified, state } };
    }
    default:
      return undefined;
  }
}

function printSummary(
  stderr: Stderr,
  doing: string,
  { end, durationMs, counts, done, undelivered, more }: SummaryInput,
): Promise<void> {
  const facts = [
    count(counts.shown, 'alert'),
    ...(counts.caughtUp === 0 ? [] : [`${counts.caughtUp} of them caught up`]),
    ...(counts.late === 0 ? [] : [`${counts.late} late`]),
    ...(counts.failures === 0 ? [] : [count(counts.failures, 'failed reading')]),
    ...(done.executed === 0 ? [] : [`${count(done.executed, 'command')} run, ${done.execFailed} failed`]),
    ...(more?.facts ?? []),
  ];
  const lines = [`${doing} for ${showDuration(durationMs)}: ${facts.join(', ')}`];
  if (undelivered > 0) lines.push(`  ${count(undelivered, 'alert')} not delivered`);
  const fields = {
    event: 'closed',
    reason: end,
    seconds: Math.round(durationMs) / 1000,
    shown: counts.shown,
    caught_up: counts.caughtUp,
    late: counts.late,
    readings: counts.readings,
    failures: counts.failures,
    executed: done.executed,
    exec_failed: done.execFailed,
    undelivered,
    ...more?.fields,
  };
  return stderr.summary(undelivered > 0 || done.execFailed > 0 || more?.isPromise === true, fields, lines);
}
