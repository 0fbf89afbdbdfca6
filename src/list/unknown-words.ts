// Explains an empty list when its filter contains a word that is not documented.

/**
 * Returns a line for each typed word that is not one of the documented words. A service may have
 * further words, so fleet does not refuse them. `kind` is the noun for a word, such as `state`.
 */
export function notesOnUnknownWords(
  kind: string,
  typed: readonly string[] | undefined,
  documented: readonly string[],
): string[] {
  return (typed ?? [])
    .filter((word) => !documented.includes(word))
    .map(
      (word) =>
        `fleet does not know the ${kind} "${word}". Usual ${kind}s: ${documented.join(', ')}`,
    );
}
