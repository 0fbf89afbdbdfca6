// Estimates the service's clock from the responses. Also keeps a history of the newest known
// `modified`, so that its value at a past moment can be looked up.

import type { AnswerDate } from '../http/types.js';
import type { Moment } from '../system/clock.js';

/**
 * If a `modified` time is further ahead of the service's clock than this, the time is treated as
 * wrong and ignored.
 */
const AHEAD_MS = 5_000;
/**
 * The maximum expected difference between the `Date` headers of the service. They are in whole
 * seconds, and several machines with different clocks may answer.
 */
const DATE_SLACK_MS = 3_000;
/**
 * The maximum number of stored times. When there are more, every second time in the older half is
 * dropped.
 */
const MOST_STEPS = 2_000;

/**
 * Estimates the service's current time, and remembers the newest known `modified` at each moment.
 * Service times are in milliseconds since the epoch. `monotonicMs` is on the monotonic clock of
 * this machine.
 */
export class ServiceTime {
  /**
   * Whether a response contained the service's time. Until a response contains it, the system clock
   * is used, which may be wrong by hours.
   */
  isTold = false;
  /** When this process began to follow the service, on the monotonic clock. */
  readonly startedMs: number;
  #aheadMs: number;
  /** The service's time when the live stream was last opened. */
  #openedMs: number | undefined;
  /**
   * The history of the newest known `modified`. Each entry has a value, and the time at which this
   * value became known. The entries are in ascending order.
   */
  #steps: { readonly sinceMs: number; readonly modifiedMs: number }[] = [];

  constructor(startedAt: Moment) {
    this.startedMs = startedAt.monotonicMs;
    this.#aheadMs = startedAt.wallMs - startedAt.monotonicMs;
  }

  /** Whether any `modified` is known. */
  get hasModified(): boolean {
    return this.#steps.length > 0;
  }

  /** Sets the service's clock from the `Date` header of a response. */
  set(serviceMs: number, monotonicMs: number) {
    this.isTold = true;
    this.#openedMs = serviceMs;
    this.#aheadMs = serviceMs - monotonicMs;
  }

  /**
   * Returns why a list cannot be used as evidence because it is too old, or undefined when it is
   * new enough. A list is too old when it comes from a cache, or when the service wrote it before
   * the live stream was opened.
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
   * Records the `modified` of a message or list item. Ignores times that are in the future by the
   * service's clock.
   */
  learn(modifiedMs: number | undefined, monotonicMs: number) {
    const last = this.#steps.at(-1);
    if (modifiedMs === undefined || (last !== undefined && modifiedMs <= last.modifiedMs)) return;
    if (!this.isPlausible(modifiedMs, monotonicMs)) return;
    this.#steps.push({ sinceMs: monotonicMs, modifiedMs });
    if (this.#steps.length <= MOST_STEPS) return;
    this.#steps = this.#steps.filter((_, index) => index % 2 === 0 || index > MOST_STEPS / 2);
  }

  /** Returns the service's time, or the system time before the first response. */
  at(monotonicMs: number): number {
    return monotonicMs + this.#aheadMs;
  }

  /**
   * Whether a `modified` is plausible: it exists and is not in the future by the service's clock.
   */
  isPlausible(modifiedMs: number | undefined, monotonicMs: number): boolean {
    return modifiedMs !== undefined && modifiedMs <= this.at(monotonicMs) + AHEAD_MS;
  }

  /**
   * Returns the newest `modified` that was known at a moment. The result may be slightly too old.
   * In that case, more pages are read than necessary.
   */
  newestAt(monotonicMs: number): number | undefined {
    return this.#steps.findLast(({ sinceMs }) => sinceMs <= monotonicMs)?.modifiedMs;
  }
}
