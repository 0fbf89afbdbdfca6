// The words of an unfinished command line, as bash would split it.

const OPERATOR = /^[|&;()]$/;
const WORD = /[|&;()]|(?:\\[\s\S]?|'[^']*'?|"(?:\\[\s\S]|[^"\\])*"?|[^\s|&;()\\'"])+/g;
const QUOTED = /\\([\s\S]?)|'([^']*)'?|"((?:\\[\s\S]|[^"\\])*)"?/g;

/** The words up to the end of the line; the last one is what is being typed, '' behind a space. Quotes and backslashes count. */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let isEnded = true;
  for (const { 0: text, index } of line.matchAll(WORD)) {
    const isOperator = OPERATOR.test(text);
    // Another command begins: what came before it does not matter.
    if (isOperator) words.length = 0;
    else words.push(unquote(text));
    isEnded = isOperator || index + text.length < line.length;
  }
  return isEnded ? [...words, ''] : words;
}

function unquote(text: string): string {
  return text.replace(
    QUOTED,
    (_all, escaped?: string, single?: string, double = '') =>
      escaped ?? single ?? String(double).replace(/\\([\s\S])/g, '$1'),
  );
}
