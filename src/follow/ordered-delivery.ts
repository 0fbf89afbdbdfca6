// Delivers items in order. The caller waits for the reader of stdout, so that a slow reader also
// slows down the live stream. With `--max-events` or `--until`, the caller waits only briefly. It
// must notice the end of the command even when the reader does not read.

import type { Clock } from '../system/clock.js';
import { whatStopped } from './ending.js';

/** The maximum time that the caller waits while the reader of stdout does not read. */
const STALL_MS = 1_000;
/**
 * The maximum number of undelivered items. With more items, the caller waits until they are
 * delivered, however long that takes.
 */
const UNDELIVERED_LIMIT_ITEMS = 20_000;

export type OrderedDelivery<Item> = ReturnType<typeof openOrderedDelivery<Item>>;

export interface OrderedDeliveryOptions<Item> {
  clock: Clock;
  /** Whether messages can end the command (`--max-events`, `--until`). */
  endsByMessages: boolean;
  /** Delivers items, and reports the number of delivered items to `onDelivered`. */
  deliver(items: readonly Item[], onDelivered: (count: number) => void): Promise<void>;
  /**
   * Called when a delivery fails. The caller may no longer be waiting for the delivery, and would
   * not notice the failure otherwise.
   */
  onFailure(): void;
}

export function openOrderedDelivery<Item>(options: OrderedDeliveryOptions<Item>) {
  const { clock, endsByMessages, deliver, onFailure } = options;
  let undelivered = 0;
  /** Why no more items are delivered: the reader closed the pipe, or jq was stopped. */
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

  /** Waits until the deliveries are done, but at most for STALL_MS. */
  async function waitShortly(): Promise<void> {
    let cancel = () => {};
    const stalled = new Promise<void>((resolve) => {
      cancel = clock.after(STALL_MS, resolve);
    });
    await Promise.race([last, stalled]);
    cancel();
  }

  function throwFailure(): void {
    if (failure !== undefined) throw failure.thrown;
  }

  return {
    undelivered: () => undelivered,
    stopped: () => stopped,
    /**
     * Delivers items after all earlier ones. Resolves when they are delivered, or after one second
     * if messages can end the command. Throws the error of a failed delivery.
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
    /** Resolves when all items are delivered. Throws the error of a failed delivery. */
    async finish(): Promise<void> {
      await last;
      throwFailure();
    },
  };
}
