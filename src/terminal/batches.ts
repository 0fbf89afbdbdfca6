// Splits a long list into batches.

/** The limits of a batch. An item that exceeds them forms a separate batch. */
export interface BatchLimits {
  characters: number;
  items?: number;
}

/** Yields the items in batches, in order. */
export function* inBatches<T>(
  items: readonly T[],
  lengthOf: (item: T) => number,
  limits: BatchLimits,
): Generator<readonly T[], void, undefined> {
  let start = 0;
  let characters = 0;
  for (const [index, item] of items.entries()) {
    const length = lengthOf(item);
    if (
      index > start &&
      (characters + length > limits.characters || index - start === limits.items)
    ) {
      yield items.slice(start, index);
      start = index;
      characters = 0;
    }
    characters += length;
  }
  if (start < items.length) yield items.slice(start);
}
