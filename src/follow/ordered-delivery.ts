// Delivers items in order. The caller waits for the reader of stdout, so that a slow reader also
// slows down the messages of the service. When a number of messages or a condition can end the
// command, the caller waits only briefly, because it must notice the end even when the reader reads
// nothing.

import { type Clock, sleep } from '../system/clock.js';
import { whatStopped } from './ending.js';

/** How long the caller waits for a reader that reads nothing. */
const STALL_MS = 1_000;
/** When more items than this are undelivered, the caller waits in any case. */
const UNDELIVERED_LIMIT_ITEMS = 20_000;

export type OrderedDelivery<Item> = ReturnType<typeof openOrderedDelivery<Item>>;

export interface OrderedDeliveryOptions<Item> {
  clock: Clock;
  /** Whether messages can end the command, by `--max-events` or `--until`. */
  endsByMessages: boolean;
  /** Delivers items and calls `onDelivered` with the number of delivered items. */
  deliver(items: readonly Item[], onDelivered: (count: number) => void): Promise<void>;
  /** Called when a delivery fails while the caller does not wait for it. */
  onFailure(): void;
}

export function openOrderedDelivery<Item>(options: OrderedDeliveryOptions<Item>) {
  const { clock, endsByMessages, deliver, onFailure } = options;
  let undelivered = 0;
  /**
   * The reason why the delivery stopped: the reader closed the pipe, or the jq program was stopped.
   */
  let stopped: Error | undefined;
  let failure: { readonly thrown: unknown } | undefined;
  let last = Promise.resolve();

  const onDelivered = (count: number) => {
    undelivered -= count;
  };

  async function deliverNext(items: readonly Item[]): Promise<void> {
    if (stopped !== undefined || failure !== undefined) return;
    try {
      await deliver(items, onDelivered);
    } catch (thrown) {
      try {
        stopped = whatStopped(thrown);
      } catch (unexpected) {
        failure = { thrown: unexpected };
        onFailure();
      }
    }
  }

  /** Waits for the deliveries, at most for a second. */
  async function waitShortly(): Promise<void> {
    const done = new AbortController();
    await Promise.race([last, sleep(clock, STALL_MS, done.signal).catch(() => {})]);
    done.abort();
  }

  function throwFailure(): void {
    if (failure !== undefined) throw failure.thrown;
  }

  return {
    undelivered: () => undelivered,
    stopped: () => stopped,
    /**
     * Delivers the items after all earlier ones. Resolves when they are delivered. When messages
     * can end the command, it resolves after a second at the latest. Throws the error of a failed
     * delivery.
     */
    async add(items: readonly Item[]): Promise<void> {
      throwFailure();
      if (items.length === 0) return;
      undelivered += items.length;
      last = last.then(() => deliverNext(items));
      if (endsByMessages && undelivered <= UNDELIVERED_LIMIT_ITEMS) await waitShortly();
      else await last;
      throwFailure();
    },
    /** Resolves when everything is delivered. Throws the error of a failed delivery. */
    async finish(): Promise<void> {
      await last;
      throwFailure();
    },
  };
}
