// Runs the generators that read lists. Such a generator yields requests and receives the responses.
// Does no I/O.

import type { Bicycle } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';
import type { Emit, FollowerOptions, ReadRequest } from './events.js';
import type { ItemPlace, KnownFleet, Mark } from './known-fleet.js';

/**
 * A generator that reads lists step by step. It yields one of three values: a request, the time
 * until which it must wait (on the monotonic clock), or undefined. After undefined, it waits for
 * the response to its last request.
 */
export type Steps<Answer, Result> = Generator<
  ReadRequest | number | undefined,
  Result,
  Answer | undefined
>;

export type OnEnd<Result> = (result: Result, now: Moment) => void;

/** Runs a generator that reads lists. Only one such generator can run at a time. */
export class Reader<Answer, Result> {
  /** When the last response arrived. */
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

  /**
   * The id of the list read in progress, or undefined when no list is being read. Responses with
   * another id are ignored.
   */
  get id(): number | undefined {
    return this.isReading ? this.lastId : undefined;
  }

  protected start(steps: Steps<Answer, Result>, now: Moment) {
    this.lastId++;
    this.#steps = steps;
    this.goOn(undefined, now);
  }

  /** Resumes the generator if the pause that it requested is over. */
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

  /**
   * Handles a list item. `mark` is the start of a gap. With `mark`, the item is compared with the
   * known data. Without `mark`, the item is only stored. `askedAt` is the number of messages that
   * had been merged when the list was requested.
   */
  protected takeItem(item: Bicycle, mark: Mark | undefined, askedAt: number, place: ItemPlace) {
    if (mark === undefined)
      return void this.emit({ type: 'learned', bicycle: this.known.learn(item, this.now, place) });
    const comparison = this.known.compare(item, mark, askedAt, this.now, place);
    if (comparison.change !== undefined)
      this.emit({ type: 'caught-up', change: comparison.change });
    return comparison;
  }

  /** Stops the generator. */
  protected stop() {
    this.#steps = undefined;
  }
}
