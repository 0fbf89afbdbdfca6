// What the mirror's writer counts, and what it prints on stderr: lines for people, JSON lines for programs, one status line on a terminal.

import type { Context } from '../../context.js';
import type { FollowerOutput } from '../../follower/events.js';
import type { Follower } from '../../follower/follower.js';
import { count } from '../../terminal/count.js';
import { openProgress } from '../../terminal/progress.js';
import { showDuration } from '../../terminal/time.js';
import { errorFields } from '../../views/connection.js';
import type { LogFields, Stderr } from '../shared/follow/stderr.js';

export type Counters = ReturnType<typeof openCounters>;

/** Changed in place by the writer; times in milliseconds. */
export function openCounters() {
  return {
    ...{ messages: 0, unreadable: 0, changes: 0, batches: 0, gaps: 0 },
    ...{ gone: 0, alerts: 0, pages: 0, reconnects: 0, databaseErrors: 0 },
    /** How far what is written is behind the service, by the messages' own times; from the arrival of the oldest to its commit at least. */
    lagMs: 0,
  };
}

export type MirrorReport = ReturnType<typeof openMirrorReport>;

/** How often progress is a line where stderr is no terminal. */
const PROGRESS_LINE_MS = 10_000;

/** What does not follow reads nothing again. */
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

  /** A line for people and an event for programs; `always`: not held back by `--quiet`. */
  const print = (always: boolean, event: string, message: string, more: LogFields = {}) =>
    stderr.print(always, { event, message, ...more }, stderr.atNow(message));
  return {
    print,
    /** What the catch-up and the whole reading report. */
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
    /** The state that the status line shows. */
    show(next: Follower) {
      state = next;
      const nowMs = context.clock.monotonicMs();
      if (
        !next.whole.isReading ||
        context.io.stderr.isTerminal ||
        nowMs < lineAtMs + PROGRESS_LINE_MS
      )
        return;
      // A service's log gets a line now and then while the list is read, and none afterwards.
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
