// Drives a reading of lists: a generator that yields what it asks for, and is handed the answers. No I/O.

import type { Moment } from '../system/clock.js';
import type { Emit, ReadRequest } from './events.js';

/** Yields requests, the moment of the monotonic clock until which it waits, or nothing where another answer to the last request is to come. */
export type Steps<Answer, Result> = Generator<ReadRequest | number | undefined, Result, Answer | undefined>;

/** One reading at a time. */
export class Reader<Answer, Result> {
  /** When the last answer came. */
  now: Moment = { monotonicMs: 0, wallMs: 0 };
  /** The number of the last reading: answers to others are not waited for. */
  id = 0;
  readonly #emit: Emit;
  readonly #onEnd: (result: Result, now: Moment) => void;
  #steps: Steps<Answer, Result> | undefined;
  #againMs = Number.POSITIVE_INFINITY;

  constructor(emit: Emit, onEnd: (result: Result, now: Moment) => void) {
    this.#emit = emit;
    this.#onEnd = onEnd;
  }

  get isReading(): boolean {
    return this.#steps !== undefined;
  }

  begin(steps: Steps<Answer, Result>, now: Moment) {
    this.id++;
    this.#steps = steps;
    this.goOn(undefined, now);
  }

  /** Goes on where a pause is over. */
  wake(now: Moment) {
    if (this.#againMs <= now.monotonicMs) this.goOn(undefined, now);
  }

  goOn(answer: Answer | undefined, now: Moment) {
    this.now = now;
    const { done, value } = this.#steps?.next(answer) ?? {};
    this.#againMs = typeof value === 'number' ? value : Number.POSITIVE_INFINITY;
    if (done === true) {
      this.#steps = undefined;
      this.#onEnd(value as Result, now);
    } else if (typeof value === 'object') this.#emit({ ...(value as ReadRequest), id: this.id });
  }

  /** Nothing more is read. */
  stop() {
    this.#steps = undefined;
  }
}
