// Splits an unfinished command line into words, as bash would.

const OPERATOR = /^[|&;()]$/;
const WORD = /[|&;()]|(?:\\[\s\S]?|'[^']*'?|"(?:\\[\s\S]|[^"\\])*"?|[^\s|&;()\\'"])+/g;
const QUOTED = /\\([\s\S]?)|'([^']*)'?|"((?:\\[\s\S]|[^"\\])*)"?/g;

/**
 * Returns the words of a line. The last word is unfinished, and is empty after a space. Quotes and
 * backslashes have the same meaning as in bash.
 */
export function splitLine(line: string): string[] {
  const words: string[] = [];
  let isEnded = true;
  for (const { 0: text, index } of line.matchAll(WORD)) {
    const isOperator = OPERATOR.test(text);
    // An operator such as `|` starts a new command, so the words before it are dropped.
    if (isOperator) words.length = 0;
    else words.push(unquote(text));
    isEnded = isOperator || index + text.length < line.length;
  }
  return isEnded ? [...words, ''] : words;
}

/**
 * Returns the words of a complete line. Returns undefined for a line with a pipe or any other shell
 * operator.
 */
export function wordsOf(line: string): string[] | undefined {
  const texts = [...line.matchAll(WORD)].map(([text]) => text);
  return texts.some((text) => OPERATOR.test(text)) ? undefined : texts.map(unquote);
}

/** Whether a line ends inside a quoted string, or with a single backslash. */
export function hasOpenQuote(line: string): boolean {
  const rest = line.replace(/\\[\s\S]|'[^']*'|"(?:\\[\s\S]|[^"\\])*"/g, '');
  return /['"\\]/.test(rest);
}

function unquote(text: string): string {
  return text.replace(
    QUOTED,
    (_all, escaped?: string, single?: string, double = '') =>
      escaped ?? single ?? String(double).replace(/\\([\s\S])/g, '$1'),
  );
}
