// Estimates the service's clock from the times it sends.

import type { Moment } from '../clock.js';

/** A `modified` further ahead of the service's clock is a mistake, and says nothing of the order. */
const AHEAD_MS = 5_000;
/** From so many pushed times on they say what time it is at the service; before, the machine's date does. */
const LEAST_SAMPLES = 5;
const MOST_SAMPLES = 15;
/** Assumed: a service that sends again what was missed does so within this time. */
const REPLAY_MS = 2_000;
/** So many steps of the newest change are kept; of the older half every other one is left out. */
const MOST_STEPS = 2_000;

/** All times are milliseconds: `modified` and the service's since the epoch, `monotonicMs` on the machine's monotonic clock. */
export class ServiceTime {
  /** What the service's clock was ahead of the monotonic one at the last messages, and the middle of that. */
  readonly #samples: number[] = [];
  #heard = 0;
  #aheadMs: number;
  /** Until then messages may be sent again, and tell of earlier times. */
  #replayUntilMs = Number.NEGATIVE_INFINITY;
  /** Since when the newest `modified` was which one, the earliest first. */
  #steps: { readonly sinceMs: number; readonly modifiedMs: number }[] = [];

  constructor(startedAt: Moment) {
    this.#aheadMs = startedAt.wallMs - startedAt.monotonicMs;
  }

  /** A connection stands again: what was missed may be sent now. */
  open(monotonicMs: number) {
    this.#replayUntilMs = monotonicMs + REPLAY_MS;
  }

  /** A message with this `modified` came. */
  hear(modifiedMs: number, monotonicMs: number) {
    this.learn(modifiedMs, monotonicMs);
    if (monotonicMs < this.#replayUntilMs) return;
    if (this.#samples.push(modifiedMs - monotonicMs) > MOST_SAMPLES) this.#samples.shift();
    this.#heard++;
    const isDue = this.#heard <= MOST_SAMPLES || this.#heard % LEAST_SAMPLES === 0;
    if (!isDue || this.#samples.length < LEAST_SAMPLES) return;
    // The middle: no single wrong time moves it.
    this.#aheadMs = [...this.#samples].sort((a, b) => a - b)[this.#samples.length >> 1] ?? this.#aheadMs;
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

  /** What time it is at the service. */
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
