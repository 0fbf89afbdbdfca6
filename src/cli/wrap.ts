// Wraps text between words.

/**
 * Wraps text into lines of at most `width` columns. Every line after the first starts with
 * `indent`. A word that is wider than the line is not split, so that it can be pasted.
 */
export function wrapWords(
  text: string,
  width: number,
  indent = '',
  widthOf = (words: string) => words.length,
): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.match(/ *[^ ]+/g) ?? []) {
    if (line.trim() === '' || widthOf(line + word) <= width) line += word;
    else {
      lines.push(line);
      line = indent + word.trimStart();
    }
  }
  return [...lines, line];
}
