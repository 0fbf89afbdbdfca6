// The statement of a query, read just far enough: where it ends, and whether it only reads.

import { usageError } from '../errors.js';

/** Quoted texts and names, comments, texts between dollars: nothing in them ends a statement. */
const SKIPPED =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)|\$([A-Za-z_]\w*)?\$[\s\S]*?(?:\$\1\$|$)/g;
/** What stands before the first word, that word, the rest of the statement, and what ends it. */
const STATEMENT = /^\W*(\w*)[^;]*/;
/** What a statement that only reads begins with. */
const READING = ['SELECT', 'WITH', 'VALUES', 'EXPLAIN', 'PRAGMA', 'SHOW', 'TABLE'];
/** Comments; what else is skipped stays, for a name in quotes is called, too. */
const COMMENT = /^(?:--|\/\*)/;
/** Functions that read or write files, or change the server, also where nothing may be written; `U&"…"` can spell each of them. */
const CHANGING = new RegExp(
  [
    'u&"|\\b(?:fsdir|carray|sqlite_dbpage)\\b|\\b(?:readfile|writefile|lsmode|load_extension|fts3_tokenizer|sqlite3mc_\\w+',
    'pg_(?:create|drop|copy|sync|advance|replication|logical|reload|rotate|backup|start|stop|read|ls|log|import|clear|restore)_\\w*',
    'pg_(?:switch_wal|promote|notify|wal_replay_\\w+|cancel_backend|terminate_backend|stat_file|stat_reset\\w*|export_snapshot|set_\\w+)',
    'pg_(?:try_)?advisory_\\w+|set_config|setval|nextval|lo_\\w+|dblink\\w*|query_to_xml\\w*)["`\\]\\s]*\\(',
  ].join('|'),
  'i',
);
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
  const called = CHANGING.exec(text.replace(SKIPPED, (skipped) => (COMMENT.test(skipped) ? ' ' : skipped)));
  if (called !== null)
    throw usageError(`a query only reads: ${called[0].replace(/[^\w&]+$/, '')} is refused`, 'leave that function out');
  return text.slice(0, statement.length).trim();
}
