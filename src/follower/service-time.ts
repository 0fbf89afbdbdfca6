// The service's clock, as its answers give it, and the newest change that was known at each moment.

import type { Moment } from '../system/clock.js';

/** A `modified` further ahead of the service's clock is a mistake, and says nothing of the order. */
const AHEAD_MS = 5_000;
/** So many steps of the newest change are kept; of the older half every other one is left out. */
const MOST_STEPS = 2_000;

/** All times are milliseconds: `modified` and the service's since the epoch, `monotonicMs` on the machine's monotonic clock. */
export class ServiceTime {
  /** An answer of the service gave its date; until one does, the machine's stands for it, which may be off by hours. */
  isTold = false;
  #aheadMs: number;
  /** Since when the newest `modified` was which one, the earliest first. */
  #steps: { readonly sinceMs: number; readonly modifiedMs: number }[] = [];

  constructor(startedAt: Moment) {
    this.#aheadMs = startedAt.wallMs - startedAt.monotonicMs;
  }

  /** An answer of the service gave its date. */
  set(serviceMs: number, monotonicMs: number) {
    this.isTold = true;
    this.#aheadMs = serviceMs - monotonicMs;
  }

  /** A message or a list showed a bicycle with this `modified`. */
  learn(modifiedMs: number | undefined, monotonicMs: number) {
    const last = this.#steps.at(-1);
    if (modifiedMs === undefined || (last !== undefined && modifiedMs <= last.modifiedMs)) return;
    if (!this.isPlausible(modifiedMs, monotonicMs)) return;
    this.#steps.push({ sinceMs: monotonicMs, modifiedMs });
    if (this.#steps.length <= MOST_STEPS) return;
    this.#steps = this.#steps.filter((_, index) => index % 2 === 0 || index > MOST_STEPS / 2);
  }

  /** What time it is at the service; before an answer gave it, what the machine's date says. */
  at(monotonicMs: number): number {
    return monotonicMs + this.#aheadMs;
  }

  /** Whether a `modified` is none that lies in the future of the service. */
  isPlausible(modifiedMs: number | undefined, monotonicMs: number): boolean {
    return modifiedMs !== undefined && modifiedMs <= this.at(monotonicMs) + AHEAD_MS;
  }

  /** The newest `modified` that was known at that moment, or a little earlier: then more is read than had to be. */
  newestAt(monotonicMs: number): number | undefined {
    return this.#steps.findLast(({ sinceMs }) => sinceMs <= monotonicMs)?.modifiedMs;
  }
}
