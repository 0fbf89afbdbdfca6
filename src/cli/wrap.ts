// Wraps text between words.

/** The text in lines of at most `width` columns; `indent` stands before every line but the first. A wider word stays whole, to be pasted. */
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
