// A number with its noun.

/** `1 gap`, `3 gaps`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
