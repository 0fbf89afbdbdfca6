// Reads the first bytes of an input. They decide its format and its encoding.

/** The beginning of an input, and a way to read all of it. */
export interface PeekedInput {
  /** At least as many bytes as requested, unless the input is shorter. */
  first: Buffer;
  /** The whole input without its first `skippedBytes`. It can be read once. */
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
    // A reader that stops early releases the file or stdin.
    await iterator.return?.();
  }
}
