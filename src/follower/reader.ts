// Drives a reading of lists: a generator that yields what it asks for, and is handed the answers. No I/O.

import type { Bicycle } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';
import type { Emit, FollowerOptions, ReadRequest } from './events.js';
import type { ItemPlace, KnownFleet, Mark } from './known-fleet.js';

/** Yields requests, the moment of the monotonic clock until which it waits, or nothing where another answer to the last request is to come. */
export type Steps<Answer, Result> = Generator<
  ReadRequest | number | undefined,
  Result,
  Answer | undefined
>;

export type OnEnd<Result> = (result: Result, now: Moment) => void;

/** What is read in steps, one reading at a time. */
export class Reader<Answer, Result> {
  /** When the last answer came. */
  protected now: Moment = { monotonicMs: 0, wallMs: 0 };
  protected lastId = 0;
  #steps: Steps<Answer, Result> | undefined;
  #againMs = Number.POSITIVE_INFINITY;

  constructor(
    protected readonly known: KnownFleet,
    protected readonly options: FollowerOptions,
    protected readonly emit: Emit,
    protected readonly onEnd: OnEnd<Result>,
  ) {}

  get isReading(): boolean {
    return this.#steps !== undefined;
  }

  /** The number of the reading in progress: answers to others are not waited for. */
  get id(): number | undefined {
    return this.isReading ? this.lastId : undefined;
  }

  protected start(steps: Steps<Answer, Result>, now: Moment) {
    this.lastId++;
    this.#steps = steps;
    this.goOn(undefined, now);
  }

  /** Goes on where a pause is over. */
  wake(now: Moment) {
    if (this.#againMs <= now.monotonicMs) this.goOn(undefined, now);
  }

  protected goOn(answer: Answer | undefined, now: Moment) {
    this.now = now;
    const { done, value } = this.#steps?.next(answer) ?? {};
    this.#againMs = typeof value === 'number' ? value : Number.POSITIVE_INFINITY;
    if (done === true) {
      this.#steps = undefined;
      this.onEnd(value as Result, now);
    } else if (typeof value === 'object') this.emit({ ...(value as ReadRequest), id: this.lastId });
  }

  /** An item of a list: learned at the start, when there is no mark; else compared. `askedAt` is what `merged` was when the list was asked for. */
  protected takeItem(item: Bicycle, mark: Mark | undefined, askedAt: number, place: ItemPlace) {
    if (mark === undefined)
      return void this.emit({ type: 'learned', bicycle: this.known.learn(item, this.now, place) });
    const comparison = this.known.compare(item, mark, askedAt, this.now, place);
    if (comparison.change !== undefined)
      this.emit({ type: 'caught-up', change: comparison.change });
    return comparison;
  }

  /** Nothing more is read. */
  protected stop() {
    this.#steps = undefined;
  }
}
