// A bounded queue between the sockets and the consumer. It keeps the order of arrival.

export type Queue<T> = ReturnType<typeof openQueue<T>>;

/** The maximum size of the queue. It keeps a fast reader busy without using much memory. */
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
    /** Adds an item. `size` is its size in characters. */
    push(item: T, size = 0) {
      if (isClosed) return;
      items.push(item);
      weight += size;
      wakeReader?.();
      if (isFilled()) onFilled?.();
    },
    /**
     * Resolves when there is room or the queue is closed. The sockets wait for it while the output
     * is slow.
     */
    room(): Promise<void> | undefined {
      if (weight < limitCharacters || isClosed) return undefined;
      return new Promise((resolve) => waiting.push(resolve));
    },
    /**
     * Resolves when the queue is full or closed, so that a consumer that gathers items stops
     * waiting.
     */
    filled(): Promise<void> {
      if (isFilled()) return Promise.resolve();
      return new Promise((resolve) => {
        onFilled = resolve;
      });
    },
    /** Closes the queue. No further batch follows when it is empty. */
    close() {
      isClosed = true;
      wakeReader?.();
      onFilled?.();
      giveRoom();
    },
    /** Yields all waiting items as one batch, as soon as at least one item has arrived. */
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
