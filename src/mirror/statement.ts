// The statement of a query, read just far enough: where it ends, and whether it only reads.

import { usageError } from '../errors.js';

/** Quoted texts and names, comments, texts between dollars: nothing in them ends a statement. */
const SKIPPED =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)/g;
/** What stands before the first word, that word, the rest of the statement, and what ends it. */
const STATEMENT = /^\W*(\w*)[^;]*/;
/** What a statement that only reads begins with. */
const READING = ['SELECT', 'WITH', 'VALUES', 'EXPLAIN', 'PRAGMA', 'SHOW', 'TABLE'];
const LONGEST_CHARACTERS = 100_000;

/** The one statement of a query, without the semicolon at its end. Throws a usage error for none, several, or one that writes. */
export function readStatement(text: string): string {
  if (text.length > LONGEST_CHARACTERS) throw usageError(`the query is longer than ${LONGEST_CHARACTERS} characters`);
  const bare = text.replace(SKIPPED, (skipped) => ' '.repeat(skipped.length));
  const [statement = '', first = ''] = STATEMENT.exec(bare) ?? [];
  if (first === '')
    throw usageError('the query is empty', 'write one such as "select state, count(*) from bicycles group by state"');
  if (/[^\s;]/.test(bare.slice(statement.length)))
    throw usageError('a query is one statement, and this text has several', 'run them one after another');
  if (!READING.includes(first.toUpperCase()))
    throw usageError(`a query only reads: "${first}" is refused`, `a query begins with one of: ${READING.join(', ')}`);
  if (first.toUpperCase() === 'PRAGMA' && text.includes('='))
    throw usageError('a query only reads: a PRAGMA that sets a value is refused', 'leave the value out to read it');
  return text.slice(0, statement.length).trim();
}
