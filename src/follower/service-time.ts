// The service's clock, taken from its answers, and the newest known change at each moment.

import type { AnswerDate } from '../http/types.js';
import type { Moment } from '../system/clock.js';

/**
 * A `modified` is wrong, and defines no order, when it is ahead of the service's clock by more than
 * this time.
 */
const AHEAD_MS = 5_000;
/**
 * How much two dates of the service can differ, because headers have whole seconds and several
 * machines can answer.
 */
const DATE_SLACK_MS = 3_000;
/**
 * The maximum number of stored steps. When there are more, every second step of the older half is
 * dropped.
 */
const MOST_STEPS = 2_000;

/**
 * Knows the service's clock and the newest change at each moment. All times are in milliseconds:
 * times of the service since the epoch, and `monotonicMs` on the machine's monotonic clock.
 */
export class ServiceTime {
  /**
   * Whether an answer contained the service's time. Until then the machine's clock is used, which
   * may be wrong by hours.
   */
  isTold = false;
  #aheadMs: number;
  /** The service's time when the push channel was opened last. */
  #openedMs: number | undefined;
  /** The newest known `modified` at each moment, earliest first. */
  #steps: { readonly sinceMs: number; readonly modifiedMs: number }[] = [];

  constructor(startedAt: Moment) {
    this.#aheadMs = startedAt.wallMs - startedAt.monotonicMs;
  }

  /** Whether any `modified` is known. */
  get hasModified(): boolean {
    return this.#steps.length > 0;
  }

  /** Sets the service's clock from the date of an answer. */
  set(serviceMs: number, monotonicMs: number) {
    this.isTold = true;
    this.#openedMs = serviceMs;
    this.#aheadMs = serviceMs - monotonicMs;
  }

  /**
   * Returns the reason why a list is too old to prove anything: a cache kept it, or the service
   * wrote it before the push channel was opened. Returns undefined for a list that is new enough.
   */
  staleReason(dated: AnswerDate | undefined): string | undefined {
    const { dateMs, ageMs = 0 } = dated ?? {};
    if (ageMs > 0) return `a cache kept the list for ${Math.ceil(ageMs / 1000)} s`;
    if (dateMs === undefined || this.#openedMs === undefined) return undefined;
    return dateMs < this.#openedMs - DATE_SLACK_MS
      ? 'the list is older than the connection, by its date'
      : undefined;
  }

  /**
   * Records the `modified` time of a message or list item. Times in the service's future are
   * ignored.
   */
  learn(modifiedMs: number | undefined, monotonicMs: number) {
    const last = this.#steps.at(-1);
    if (modifiedMs === undefined || (last !== undefined && modifiedMs <= last.modifiedMs)) return;
    if (!this.isPlausible(modifiedMs, monotonicMs)) return;
    this.#steps.push({ sinceMs: monotonicMs, modifiedMs });
    if (this.#steps.length <= MOST_STEPS) return;
    this.#steps = this.#steps.filter((_, index) => index % 2 === 0 || index > MOST_STEPS / 2);
  }

  /** Returns the service's time, or the machine's time before the first answer. */
  at(monotonicMs: number): number {
    return monotonicMs + this.#aheadMs;
  }

  /** Whether a `modified` is not in the service's future. */
  isPlausible(modifiedMs: number | undefined, monotonicMs: number): boolean {
    return modifiedMs !== undefined && modifiedMs <= this.at(monotonicMs) + AHEAD_MS;
  }

  /**
   * Returns the newest `modified` that was known at a moment. It may be slightly older than the
   * true value, and then more pages are read.
   */
  newestAt(monotonicMs: number): number | undefined {
    return this.#steps.findLast(({ sinceMs }) => sinceMs <= monotonicMs)?.modifiedMs;
  }
}
