// A queue of messages for one receiver. The receiver is a command or an address. The queue delivers
// one message at a time, in order. A failed delivery is retried with growing pauses. After too many
// attempts, the message is set aside and not delivered.

import { LONGEST_ASKED_PAUSE_MS } from '../http/retry.js';
import { type Clock, doublingPauseMs, sleep } from '../system/clock.js';

/** The result of one attempt to deliver a message. */
export interface Attempt {
  readonly isDelivered: boolean;
  /** Why the attempt failed. */
  readonly reason: string;
  /** The pause in milliseconds that the receiver asked for. */
  readonly askedMs?: number | undefined;
  /** Whether the receiver refused the message. If so, a retry will probably also fail. */
  readonly isRefused?: boolean;
}

/** Stores the waiting messages, oldest first. Each change is stored before its method returns. */
export interface MessageStore<Message> {
  first(): Message | undefined;
  /**
   * Returns the number of failed attempts for the first message. Attempts of earlier runs are
   * included.
   */
  tries(): number;
  /** Records a failed attempt for the first message. */
  tried(): void;
  /** Removes the first message. */
  done(): void;
  size(): number;
}

/** The pauses between attempts, and the limits after which a message is set aside. */
export interface RetryPolicy {
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** The maximum number of failed attempts for a message. */
  readonly attempts: number;
  /**
   * The maximum number of times that the receiver may refuse a message. After the last refusal, the
   * message is set aside even if fewer than `attempts` attempts have failed.
   */
  readonly refusals: number;
}

export interface Failure<Message> {
  readonly message: Message;
  readonly reason: string;
  readonly retryInMs: number | undefined;
  /** The number of waiting messages, including this one. */
  readonly waiting: number;
}

/** Receives reports about the queue. */
export interface QueueReport<Message> {
  /**
   * Called at the first failure after a success. `retryInMs` is undefined when the message is set
   * aside without another attempt.
   */
  failing(failure: Failure<Message>): void;
  /** Called at the first success after a failure. */
  back(downMs: number): void;
  setAside(message: Message, reason: string): void;
}

export interface QueueOptions<Message> {
  store: MessageStore<Message>;
  policy: RetryPolicy;
  report: QueueReport<Message>;
  clock: Clock;
  /** Sends a message once. Never rejects. */
  send(message: Message, signal: AbortSignal): Promise<Attempt>;
  /** Called when the queue stops because its store cannot be written. */
  onFailure(thrown: unknown): void;
}

export type DeliveryQueue = ReturnType<typeof openDeliveryQueue>;

/** Opens a queue and begins to deliver the messages in its store. */
export function openDeliveryQueue<Message>(options: QueueOptions<Message>) {
  const { store, policy, report, clock, send, onFailure } = options;
  const over = new AbortController();
  /**
   * Aborted when the program ends. Pauses then end immediately, and each message gets at most one
   * more attempt.
   */
  const ending = new AbortController();
  const counts = { delivered: 0, attempts: 0, failed: 0, setAside: 0 };
  let failingSinceMs: number | undefined;
  let working: Promise<void> | undefined;
  let hasMore = false;

  /**
   * Reports the result of an attempt when it changes: at the first failure after a success, and at
   * the first success after a failure.
   */
  function note(message: Message, attempt: Attempt, retryInMs: number | undefined): void {
    if (attempt.isDelivered) {
      if (failingSinceMs !== undefined) report.back(clock.monotonicMs() - failingSinceMs);
      failingSinceMs = undefined;
    } else if (failingSinceMs === undefined) {
      failingSinceMs = clock.monotonicMs();
      report.failing({ message, reason: attempt.reason, retryInMs, waiting: store.size() });
    }
  }

  /**
   * Delivers a message, or gives up and sets it aside. Returns false when the message stays in the
   * queue.
   */
  async function deliverFirst(message: Message): Promise<boolean> {
    let refusals = 0;
    for (;;) {
      const attempt = await send(message, over.signal);
      over.signal.throwIfAborted();
      counts.attempts++;
      if (attempt.isDelivered) {
        note(message, attempt, undefined);
        counts.delivered++;
        return true;
      }
      counts.failed++;
      store.tried();
      if (attempt.isRefused === true) refusals++;
      const isLast = store.tries() >= policy.attempts || refusals >= policy.refusals;
      const pauseMs = pauseAfter(attempt, store.tries(), policy);
      note(message, attempt, isLast ? undefined : pauseMs);
      if (isLast) {
        counts.setAside++;
        report.setAside(message, attempt.reason);
        return true;
      }
      if (ending.signal.aborted) return false;
      await sleep(clock, pauseMs, AbortSignal.any([over.signal, ending.signal])).catch(() => {});
      over.signal.throwIfAborted();
    }
  }

  async function deliverAll(): Promise<void> {
    for (let first = store.first(); first !== undefined; first = store.first()) {
      if (!(await deliverFirst(first))) return;
      store.done();
    }
  }

  /** Starts to deliver the waiting messages, unless they are being delivered already. */
  function start(): void {
    hasMore = true;
    working ??= work().finally(() => {
      working = undefined;
    });
  }

  async function work(): Promise<void> {
    try {
      // Another message may have been added during the delivery.
      while (hasMore) {
        hasMore = false;
        await deliverAll();
      }
    } catch (thrown) {
      if (!over.signal.aborted) onFailure(thrown);
    }
  }

  start();
  return {
    /** Must be called after a message was added to the store. */
    start,
    counts: () => ({ ...counts, waiting: store.size() }),
    /**
     * Tries to deliver the waiting messages one last time, without pauses. Stops at the first
     * failure. Resolves immediately after `close`.
     */
    async finish(): Promise<void> {
      ending.abort(new Error('the last attempts'));
      start();
      await working;
    },
    /** Cancels the current attempt. The waiting messages stay in the store. */
    close: () => over.abort(new Error('the queue was closed')),
  };
}

function pauseAfter({ askedMs = 0 }: Attempt, failures: number, policy: RetryPolicy): number {
  const backoffMs = doublingPauseMs(
    Math.max(1, failures),
    policy.firstPauseMs,
    policy.longestPauseMs,
  );
  return Math.max(backoffMs, Math.min(askedMs, LONGEST_ASKED_PAUSE_MS));
}
