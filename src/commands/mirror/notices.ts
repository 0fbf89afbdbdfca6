// The counters and messages of the process that writes a mirror. On stderr, people get lines and a
// status line, and programs get JSON lines.

import type { Context } from '../../context.js';
import type { LogFields, Stderr } from '../../follow/stderr.js';
import type { FollowerOutput } from '../../follower/events.js';
import type { Follower } from '../../follower/follower.js';
import { count } from '../../terminal/count.js';
import { openProgress } from '../../terminal/progress.js';
import { showDuration } from '../../terminal/time.js';
import { errorFields } from '../../views/connection.js';

export type Counters = ReturnType<typeof openCounters>;

/**
 * Creates the counters of the process. The parts of the process that count something change these
 * counters directly. Times are in milliseconds.
 */
export function openCounters() {
  return {
    ...{ messages: 0, unreadable: 0, changes: 0, batches: 0, gaps: 0 },
    ...{ gone: 0, alerts: 0, pages: 0, reconnects: 0, databaseErrors: 0 },
    /**
     * How far the written data lags behind the service, computed from message times. The lag is at
     * least the time from the arrival of the oldest message to its commit.
     */
    lagMs: 0,
  };
}

export type MirrorReport = ReturnType<typeof openMirrorReport>;

/** The pause between two progress messages when stderr is not a terminal. */
const PROGRESS_LINE_MS = 10_000;

/**
 * Returns functions that print the messages of the process. `follows` is false for `mirror once`.
 * That command does not retry when reading the list fails.
 */
export function openMirrorReport(
  context: Context,
  stderr: Stderr,
  counters: Counters,
  follows: boolean,
) {
  let state: Follower | undefined;
  const draw = () => (state === undefined ? 'starting' : statusLine(state, counters));
  const status = openProgress(context, { draw });
  let lineAtMs = context.clock.monotonicMs();

  /**
   * Prints a line for people, or an event for programs. With `always`, prints even with `--quiet`.
   */
  const print = (always: boolean, event: string, message: string, more: LogFields = {}) =>
    stderr.print(always, { event, message, ...more }, stderr.atNow(message));
  return {
    print,
    /**
     * Reports an effect of reading the list: a lost change that the list revealed, a failure, or
     * another notice.
     */
    effect(effect: FollowerOutput) {
      if (effect.type === 'notice') print(effect.event !== 'whole', effect.event, effect.message);
      if (effect.type === 'gap-close')
        print(false, 'caught-up', `caught up: ${effect.found} changes found in the list`, {
          found: effect.found,
        });
      if (effect.type === 'unread') {
        const later = follows ? `; trying again in ${showDuration(effect.retryInMs)}` : '';
        print(
          true,
          'unread',
          `the list cannot be read: ${effect.error.message}${later}`,
          errorFields(effect.error),
        );
      }
    },
    retry: (reason: string, pauseMs: number) =>
      print(false, 'retry', `${reason}; trying again in ${showDuration(pauseMs)}`),
    /**
     * Updates the status line on a terminal. On other outputs, prints a progress message from time
     * to time while the whole list is being read.
     */
    show(next: Follower) {
      state = next;
      const nowMs = context.clock.monotonicMs();
      if (
        !next.whole.isReading ||
        context.io.stderr.isTerminal ||
        nowMs < lineAtMs + PROGRESS_LINE_MS
      )
        return;
      // This code is reached only without a terminal, for example when stderr goes to a log. A log
      // gets progress messages only while the whole list is being read.
      lineAtMs = nowMs;
      print(false, 'progress', draw());
    },
    close: status.end,
  };
}

function statusLine(follower: Follower, counters: Counters): string {
  const { isReading, progress } = follower.whole;
  const traffic = count(counters.messages, 'message');
  if (isReading && progress !== undefined) {
    const total = progress.counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    const share =
      total > 0 ? `, ${Math.min(100, Math.floor((progress.read / total) * 100))} %` : '';
    const of = total > 0 ? ` of ${total}` : '';
    return `reading the list: ${progress.read}${of} bicycles${share} · ${traffic}`;
  }
  const condition = follower.isCurrent
    ? 'current'
    : follower.isConnected
      ? 'catching up'
      : 'not connected';
  return `${condition} · ${follower.known.store.size()} bicycles · ${traffic} · ${count(counters.changes, 'change')} · ${count(counters.gaps, 'gap')}`;
}
