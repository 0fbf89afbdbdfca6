// A bounded queue between the sockets and the consumer; keeps the order of arrival.

export interface Queue<T> {
  /** Adds an item; `size` is what it weighs, in characters. */
  push(item: T, size?: number): void;
  /** Resolves when there is room for more, or the queue is closed: the sockets wait here while the reader of the output is slow. */
  room(): Promise<void> | undefined;
  /** Resolves when there is no more room, or the queue is closed: who gathers before taking waits no longer. */
  filled(): Promise<void>;
  /** No more items will come; the batches end when the queue is empty. */
  close(): void;
  /** Everything that has arrived, each time there is something. */
  batches(): AsyncGenerator<readonly T[], void, undefined>;
}

/** How much may wait to be printed: enough to keep a fast reader busy, too little to be seen in memory. */
const QUEUE_LIMIT_CHARACTERS = 256 * 1024;

export function openQueue<T>(limitCharacters = QUEUE_LIMIT_CHARACTERS): Queue<T> {
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
    push(item, size = 0) {
      if (isClosed) return;
      items.push(item);
      weight += size;
      wakeReader?.();
      if (isFilled()) onFilled?.();
    },
    room() {
      if (weight < limitCharacters || isClosed) return undefined;
      return new Promise((resolve) => waiting.push(resolve));
    },
    filled() {
      if (isFilled()) return Promise.resolve();
      return new Promise((resolve) => {
        onFilled = resolve;
      });
    },
    close() {
      isClosed = true;
      wakeReader?.();
      onFilled?.();
      giveRoom();
    },
    async *batches() {
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
