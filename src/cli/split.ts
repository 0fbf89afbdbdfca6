// The words of an unfinished command line, as bash would split it.

/** The words up to the end of the line; the last one is what is being typed, '' behind a space. Quotes and backslashes count. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let word = '';
  let isInWord = false;
  let quote = '';
  for (let index = 0; index < line.length; index++) {
    const character = line[index] ?? '';
    if (quote === "'") {
      if (character === "'") quote = '';
      else word += character;
    } else if (character === '\\') {
      index++;
      word += line[index] ?? '';
      isInWord = true;
    } else if (quote === '"') {
      if (character === '"') quote = '';
      else word += character;
    } else if (character === "'" || character === '"') {
      quote = character;
      isInWord = true;
    } else if (/[\s|&;()]/.test(character)) {
      if (isInWord) words.push(word);
      word = '';
      isInWord = false;
      // Another command begins: what came before it does not matter.
      if (/[|&;()]/.test(character)) words.length = 0;
    } else {
      word += character;
      isInWord = true;
    }
  }
  return [...words, word];
}
