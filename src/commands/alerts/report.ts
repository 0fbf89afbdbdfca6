// What following alerts says on stderr: failures and returns once each, what --exec prints, a summary at the end.

import { showDuration } from '../../terminal/time.js';
import { count, errorFields, type WatchEnd } from '../../views/stream.js';
import type { Stderr } from '../follow/stderr.js';
import type { AlertCounts, AlertsEffect, AlertsState, Show } from './state.js';

/** What was done besides showing. */
export interface DoneCounts {
  executed: number;
  execFailed: number;
}

export interface AlertsReport {
  /** What the machine says; shows are printed elsewhere, but for their marks. */
  effect(effect: AlertsEffect, state: AlertsState): void;
  execLine(line: string): void;
  execFailed(show: Show, reason: string): void;
  summary(input: SummaryInput): Promise<void>;
}

export interface SummaryInput {
  end: WatchEnd;
  durationMs: number;
  counts: AlertCounts;
  done: DoneCounts;
  undelivered: number;
  /** What a receiver adds: for programs, and for people. */
  more: { fields: { readonly [field: string]: unknown }; facts: readonly string[]; isPromise: boolean };
}

export function openAlertsReport(stderr: Stderr, doing: string): AlertsReport {
  const { print, atNow } = stderr;
  return {
    effect: (effect, { plan }) => printEffect(stderr, effect, { doing, everyMs: plan.everyMs }),
    execLine: (line) => print(true, { event: 'exec', line }, `exec: ${line}`),
    execFailed({ version }, reason) {
      const line = `the command of --exec failed for the alert ${version.id}: ${reason}`;
      print(true, { event: 'exec-failed', uuid: version.id, message: reason }, atNow(line));
    },
    summary: (input) => printSummary(stderr, doing, input),
  };
}

function printEffect(
  stderr: Stderr,
  effect: AlertsEffect,
  { doing, everyMs }: { doing: string; everyMs: number | undefined },
): void {
  const { print, atNow } = stderr;
  switch (effect.type) {
    case 'ready': {
      const { alerts } = effect;
      const pace = everyMs === undefined ? '' : `; the list is read every ${showDuration(everyMs)}`;
      print(false, { event: 'open', known: alerts }, atNow(`${doing}${pace}`));
      return;
    }
    case 'unread': {
      const { error, retryInMs, cappedFromMs } = effect;
      const capped = cappedFromMs === undefined ? '' : `, not in ${showDuration(cappedFromMs)} as the service asked`;
      const fields = { event: 'lost', ...errorFields(error), retry_in_seconds: retryInMs / 1000 };
      const line = `the alerts could not be read: ${error.message}; trying again in ${showDuration(retryInMs)}${capped}`;
      print(true, fields, atNow(line));
      return;
    }
    case 'back': {
      const { downMs } = effect;
      const line = `the alerts can be read again after ${showDuration(downMs)}; what was missed follows`;
      print(true, { event: 'back', seconds: Math.round(downMs) / 1000 }, atNow(line));
      return;
    }
    case 'bound': {
      const line = `the list was not read to the point where it is known, but ${effect.items} alerts deep: older changes may be missing`;
      print(true, { event: 'incomplete', alerts: effect.items }, atNow(line));
      return;
    }
    case 'show': {
      const { id, modified, state } = effect.version;
      // A line bears the mark itself.
      if (effect.mark !== undefined) print(true, { event: effect.mark, uuid: id, modified, state }, undefined);
      return;
    }
    case 'stream':
      stderr.stream(effect.event);
      return;
    case 'detail':
      stderr.detail(effect.text);
      return;
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
    ...more.facts,
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
    ...more.fields,
  };
  return stderr.summary(undelivered > 0 || done.execFailed > 0 || more.isPromise, fields, lines);
}
