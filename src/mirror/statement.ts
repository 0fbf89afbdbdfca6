// SQL text, read just far enough: where a statement ends, where its `?` stand, and whether it only reads.

import { usageError } from '../errors.js';

/** Quoted texts and names, comments, texts between dollars: nothing in them ends a statement. */
const SKIPPED =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)/y;
/** What a statement that only reads begins with. */
const READING = ['SELECT', 'WITH', 'VALUES', 'EXPLAIN', 'PRAGMA', 'SHOW', 'TABLE'];
/** What a statement that the database refuses is answered with. */
export const QUERY_HINT = 'tables, columns and ten examples: fleet help mirror';
const LONGEST_CHARACTERS = 100_000;

/** Calls back for each character that is neither quoted nor in a comment. */
function walk(sql: string, visit: (character: string, at: number) => void): void {
  for (let at = 0; at < sql.length; at += 1) {
    const character = sql[at] ?? '';
    if ('\'"`-/$'.includes(character)) {
      SKIPPED.lastIndex = at;
      if (SKIPPED.test(sql)) {
        at = SKIPPED.lastIndex - 1;
        continue;
      }
    }
    visit(character, at);
  }
}

/** The statement with `$1`, `$2` … for each `?`. */
export function numberParameters(sql: string): string {
  let numbered = '';
  let from = 0;
  let count = 0;
  walk(sql, (character, at) => {
    if (character !== '?') return;
    count += 1;
    numbered += `${sql.slice(from, at)}$${count}`;
    from = at + 1;
  });
  return numbered + sql.slice(from);
}

/** The one statement of a query, without the semicolon at its end. Throws a usage error for none, several, or one that writes. */
export function readStatement(text: string): string {
  if (text.length > LONGEST_CHARACTERS) throw usageError(`the query is longer than ${LONGEST_CHARACTERS} characters`);
  let end: number | undefined;
  let first = '';
  let isFirstOver = false;
  walk(text, (character, at) => {
    if (character === ';') {
      if (first !== '') end ??= at;
    } else if (!/\s/.test(character)) {
      if (end !== undefined)
        throw usageError('a query is one statement, and this text has several', 'run them one after another');
      if (/\w/.test(character) && !isFirstOver) first += character;
      else if (first !== '') isFirstOver = true;
    } else if (first !== '') {
      isFirstOver = true;
    }
  });
  if (first === '') {
    if (text.replaceAll(/[\s;(]/g, '') === '')
      throw usageError('the query is empty', 'write one such as "select state, count(*) from bicycles group by state"');
    throw usageError('the query has no statement');
  }
  if (!READING.includes(first.toUpperCase())) {
    throw usageError(`a query only reads: "${first}" is refused`, `a query begins with ${READING.join(', ')}`);
  }
  if (first.toUpperCase() === 'PRAGMA' && text.includes('='))
    throw usageError('a query only reads: a PRAGMA that sets a value is refused', 'leave the value out to read it');
  return text.slice(0, end).trim();
}
