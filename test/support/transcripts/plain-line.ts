// Recognizes command lines that need no shell: words, and pipes between commands of fleet.

export interface PlainCommand {
  /** Assignments before the command, such as `FLEET_TOKEN=x fleet auth whoami`. */
  env: { [name: string]: string };
  words: string[];
}

/** The parts of a word: in single quotes, in double quotes, or characters that mean themselves. */
const TOKEN = /\s*(?:(\|)(?!\|)|((?:'[^']*'|"[^"$`\\]*"|[^\s'"|&;<>()$`\\*?[\]{}!#~])+))/y;

/**
 * Returns the commands of a line that are connected by pipes, or undefined when the line needs a
 * shell. A comment at the end of the line is ignored.
 */
export function readPlainLine(line: string): PlainCommand[] | undefined {
  const text = line
    .replace(/\s+#\s.*$/, '')
    .replace(/\s*<<'?\w+'?\s*$/, '')
    .trimEnd();
  const commands: PlainCommand[] = [{ env: {}, words: [] }];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (match === null) return undefined;
    const [, pipe, word = ''] = match;
    const last = commands.at(-1);
    if (pipe !== undefined || last === undefined) {
      commands.push({ env: {}, words: [] });
      continue;
    }
    const plain = word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2');
    const assignment = /^([A-Z_][A-Z0-9_]*)=/.exec(word);
    if (last.words.length === 0 && assignment !== null)
      last.env[assignment[1] ?? ''] = plain.slice(assignment[0].length);
    else last.words.push(plain);
  }
  return commands.every(({ words }) => words.length > 0) ? commands : undefined;
}
