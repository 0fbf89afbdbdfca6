// Reads the first bytes of an input, to detect its format and encoding.

/** The beginning of an input, and a way to read all of it. */
export interface PeekedInput {
  /** The first bytes: at least as many as requested, unless the input is shorter. */
  first: Buffer;
  /**
   * Returns the input starting at byte `skippedBytes`, including the bytes in `first`. Can be
   * called only once.
   */
  rest(skippedBytes?: number): AsyncIterable<Uint8Array>;
}

/** Reads the first bytes of an input. */
export async function peek(source: AsyncIterable<Uint8Array>, bytes: number): Promise<PeekedInput> {
  const iterator = source[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let length = 0;
  while (length < bytes) {
    const next = await iterator.next();
    if (next.done === true) break;
    read.push(next.value);
    length += next.value.length;
  }
  const first = Buffer.concat(read);
  return { first, rest: (skippedBytes = 0) => rest(first.subarray(skippedBytes), iterator) };
}

async function* rest(
  beginning: Uint8Array,
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (beginning.length > 0) yield beginning;
    for (;;) {
      const next = await iterator.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // When the reader stops early, this closes the file or stdin.
    await iterator.return?.();
  }
}
