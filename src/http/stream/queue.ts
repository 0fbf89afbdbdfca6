// A bounded queue between the sockets and the consumer; keeps the order of arrival.

export type Queue<T> = ReturnType<typeof openQueue<T>>;

/** How much may wait to be printed: enough to keep a fast reader busy, too little to be seen in memory. */
const QUEUE_LIMIT_CHARACTERS = 256 * 1024;

export function openQueue<T>(limitCharacters = QUEUE_LIMIT_CHARACTERS) {
  let items: T[] = [];
  let weight = 0;
  let isClosed = false;
  let waiting: (() => void)[] = [];
  const isFilled = () => weight >= limitCharacters;
  /** Resolves once the condition holds, or the queue is closed; it is looked at again after each change. */
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds() && !isClosed) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const changed = () => {
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  };

  return {
    /** Adds an item; `size` is what it weighs, in characters. */
    push(item: T, size = 0) {
      if (isClosed) return;
      items.push(item);
      weight += size;
      changed();
    },
    /** Resolves when there is room for more, or the queue is closed: the sockets wait here while the reader of the output is slow. */
    room: (): Promise<void> | undefined => (isFilled() && !isClosed ? until(() => !isFilled()) : undefined),
    /** Resolves when there is no more room, or the queue is closed: who gathers before taking waits no longer. */
    filled: () => until(isFilled),
    /** No more items will come; the batches end when the queue is empty. */
    close() {
      isClosed = true;
      changed();
    },
    /** Everything that has arrived, each time there is something. */
    async *batches(): AsyncGenerator<readonly T[], void, undefined> {
      for (;;) {
        await until(() => items.length > 0);
        if (items.length === 0) return;
        const batch = items;
        items = [];
        weight = 0;
        changed();
        yield batch;
      }
    },
  };
}
