// A bounded first-in, first-out queue between the sockets and the consumer.

export type Queue<T> = ReturnType<typeof openQueue<T>>;

/**
 * The maximum size of the queue. It is large enough for a fast consumer, but needs little memory.
 */
const QUEUE_LIMIT_CHARACTERS = 256 * 1024;

export function openQueue<T>(limitCharacters = QUEUE_LIMIT_CHARACTERS) {
  let items: T[] = [];
  let weight = 0;
  let isClosed = false;
  let wakeReader: (() => void) | undefined;
  const waiting: (() => void)[] = [];
  let onFilled: (() => void) | undefined;
  const isFilled = () => weight >= limitCharacters || isClosed;
  const giveRoom = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };

  return {
    /** Adds an item. `size` is its length in characters. */
    push(item: T, size = 0) {
      if (isClosed) return;
      items.push(item);
      weight += size;
      wakeReader?.();
      if (isFilled()) onFilled?.();
    },
    /**
     * Resolves when the queue has room or is closed. Until then, no data is read from the sockets.
     * Returns undefined when the queue already has room.
     */
    room(): Promise<void> | undefined {
      if (weight < limitCharacters || isClosed) return undefined;
      return new Promise((resolve) => waiting.push(resolve));
    },
    /**
     * Resolves when the queue is full or closed. A consumer that collects items for a batch then
     * stops waiting for more.
     */
    filled(): Promise<void> {
      if (isFilled()) return Promise.resolve();
      return new Promise((resolve) => {
        onFilled = resolve;
      });
    },
    /** Closes the queue. The remaining items are still yielded. */
    close() {
      isClosed = true;
      wakeReader?.();
      onFilled?.();
      giveRoom();
    },
    /** Yields all waiting items as one batch. Waits while the queue is empty. */
    async *batches(): AsyncGenerator<readonly T[], void, undefined> {
      for (;;) {
        while (items.length === 0) {
          if (isClosed) return;
          await new Promise<void>((resolve) => {
            wakeReader = resolve;
          });
          wakeReader = undefined;
        }
        const batch = items;
        items = [];
        weight = 0;
        giveRoom();
        yield batch;
      }
    },
  };
}
