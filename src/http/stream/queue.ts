// A bounded queue between the sockets and the consumer; keeps the order of arrival.

export type Queue<T> = ReturnType<typeof openQueue<T>>;

/** How much may wait to be printed: enough to keep a fast reader busy, too little to be seen in memory. */
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
    /** Adds an item; `size` is what it weighs, in characters. */
    push(item: T, size = 0) {
      if (isClosed) return;
      items.push(item);
      weight += size;
      wakeReader?.();
      if (isFilled()) onFilled?.();
    },
    /** Resolves when there is room for more, or the queue is closed: the sockets wait here while the reader of the output is slow. */
    room(): Promise<void> | undefined {
      if (weight < limitCharacters || isClosed) return undefined;
      return new Promise((resolve) => waiting.push(resolve));
    },
    /** Resolves when there is no more room, or the queue is closed: who gathers before taking waits no longer. */
    filled(): Promise<void> {
      if (isFilled()) return Promise.resolve();
      return new Promise((resolve) => {
        onFilled = resolve;
      });
    },
    /** No more items will come; the batches end when the queue is empty. */
    close() {
      isClosed = true;
      wakeReader?.();
      onFilled?.();
      giveRoom();
    },
    /** Everything that has arrived, each time there is something. */
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
