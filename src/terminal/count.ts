// Formats a number with its noun.

/** Returns `1 gap` or `3 gaps`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
