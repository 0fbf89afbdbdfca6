// The commands `fleet alias set`, `list`, `delete` and `import`.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { findBelow } from '../../cli/line.js';
import { nearest } from '../../cli/nearest.js';
import { hasOpenQuote, wordsOf } from '../../cli/split.js';
import type { Context } from '../../context.js';
import { FleetError, messageOf, usageError } from '../../errors.js';
import { printReport } from '../../list/change-report.js';
import { findPlace } from '../../settings/config-folder.js';
import { loadLineSettings, saveAliases } from '../../settings/store.js';
import { hideJwts, hideLikelyTokens, looksLikeToken } from '../../system/secrets.js';
import { hideInStoredLine } from '../../system/typed-secrets.js';
import { type LinedValue, readYamlWithLines } from '../../terminal/formats/yaml.js';
import { chooseFormat, REPORT_FORMATS, type Shape } from '../../terminal/formats.js';
import { readInput } from '../../terminal/stdin.js';
import { ALIAS_NAME } from './expand.js';

/** Adds or replaces an alias. Throws a FleetError of kind `usage` for an invalid name or line. */
export async function setAlias(
  { io, notice }: Context,
  program: Command,
  name: string,
  line: string,
): Promise<void> {
  checkAlias(program, name, line);
  const before = (await loadLineSettings(io.env)).aliases.get(name);
  await saveAliases(findPlace(io.env), { [name]: line });
  await notice(
    before === undefined
      ? `✓ "fleet ${name}" now runs: fleet ${line}`
      : `✓ "fleet ${name}" now runs: fleet ${line} (before: fleet ${hideInStoredLine(before)})`,
  );
}

export async function listAliases(context: Context): Promise<void> {
  const { aliases } = await loadLineSettings(context.io.env);
  const format = chooseFormat((await context.settings()).output, REPORT_FORMATS);
  const rows = [...aliases].map(([name, line]) => ({ name, line }));
  if (format === 'table' && rows.length === 0)
    return context.notice(
      "No aliases yet. To add an alias, run: fleet alias set NAME 'COMMAND LINE'",
    );
  await printReport(context, ALIASES, rows, format);
}

const ALIASES: Shape<object> = {
  noun: { one: 'alias', many: 'aliases' },
  isReport: true,
  fields: ['name', 'line'],
  columns: [],
};

/** Deletes an alias. Throws a FleetError of kind `usage` when it does not exist. */
export async function deleteAlias({ io, notice }: Context, name: string): Promise<void> {
  const { aliases } = await loadLineSettings(io.env);
  if (!aliases.has(name)) {
    const near = nearest(name, [...aliases.keys()]);
    throw usageError(
      `there is no alias "${name}"`,
      near === undefined ? '"fleet alias list" shows all aliases' : `did you mean "${near}"?`,
    );
  }
  await saveAliases(findPlace(io.env), { [name]: undefined });
  await notice(`✓ deleted the alias "${name}"`);
}

/**
 * Adds the aliases from a file. The file is a mapping of names to lines, or a list of rows with
 * `name` and `line`. If an entry is invalid, adds no alias and throws a FleetError of kind `usage`
 * that names the line of the first invalid entry.
 */
export async function importAliases(
  context: Context,
  program: Command,
  path: string,
): Promise<void> {
  const source = path === '-' ? 'stdin' : path;
  const text = (await readInput(context, path)).toString('utf8').replace(/^\uFEFF/, '');
  const entries = entriesOf(await readYamlOf(text, source), source);
  for (const { name, line, at } of entries) {
    try {
      checkAlias(program, name, line);
    } catch (thrown) {
      if (!(thrown instanceof FleetError)) throw thrown;
      const { message, hint } = thrown;
      throw thrown.with({
        message: `line ${at} of ${source}: ${message}`,
        hint: hint && hideInStoredLine(hint),
      });
    }
  }
  const lines = Object.fromEntries(entries.map(({ name, line }) => [name, line]));
  await saveAliases(findPlace(context.io.env), lines);
  const count = Object.keys(lines).length;
  await context.notice(`✓ added ${count} ${count === 1 ? 'alias' : 'aliases'}`);
}

async function readYamlOf(text: string, source: string): Promise<LinedValue> {
  try {
    return await readYamlWithLines(text);
  } catch (error) {
    throw usageError(`${source} is not valid YAML: ${messageOf(error)}`);
  }
}

interface Entry {
  name: string;
  line: string;
  /** The line number in the file, counted from 1. */
  at: number;
}

function entriesOf({ value, line }: LinedValue, source: string): Entry[] {
  if (value instanceof Map)
    return [...value].map(([name, { value: text, line: at }]) => entryOf(name, text, at, source));
  if (!Array.isArray(value))
    throw usageError(`line ${line} of ${source}: aliases must be entries such as "name: line"`);
  return value.map(({ value: row, line: at }: LinedValue) => {
    const fields = row instanceof Map ? row : new Map<string, LinedValue>();
    return entryOf(String(fields.get('name')?.value ?? ''), fields.get('line')?.value, at, source);
  });
}

function entryOf(name: string, line: unknown, at: number, source: string): Entry {
  if (typeof line === 'string') return { name, line, at };
  throw usageError(`line ${at} of ${source}: an alias line must be a string`);
}

/** Throws a FleetError of kind `usage` when an alias must not have this name or this line. */
function checkAlias(program: Command, name: string, line: string): void {
  if (!ALIAS_NAME.test(name))
    throw usageError(
      `"${hideInWord(name)}" is not a valid alias name`,
      'use letters, digits and dashes, beginning with a letter',
    );
  if (findBelow(program, name) !== undefined)
    throw usageError(
      `"${name}" is a fleet command, and an alias cannot replace it`,
      'choose another name',
    );
  const words = wordsOf(line);
  if (words === undefined)
    throw usageError(
      'an alias must be a single fleet command without pipes or other shell operators',
      'put such characters in quotes, or define an alias in your shell',
    );
  if (hideJwts(line) !== line || words.some((word) => /^[^/]*$/.test(word) && looksLikeToken(word)))
    throw usageError(
      'an alias line must not contain a token: "alias list" and process lists would show it',
      'set FLEET_TOKEN or log in with "fleet auth login"',
    );
  if (hasOpenQuote(line))
    throw usageError('the alias line has an unclosed quote', 'close the quote');
  const [first = '', ...others] = words[0] === 'fleet' ? words.slice(1) : words;
  if (words[0] === 'fleet')
    throw usageError(
      'an alias line must not begin with "fleet"',
      `did you mean: fleet alias set ${name} '${[first, ...others].join(' ')}'`,
    );
  if (findBelow(program, first) === undefined) {
    const near = nearest(
      first,
      program.commands.map((each) => each.name()),
    );
    throw usageError(
      `"${hideInWord(first)}" is not a fleet command`,
      near === undefined ? 'run "fleet help" to list the commands' : `did you mean "${near}"?`,
    );
  }
}

/**
 * Hides secrets in a name or word, such as the value of `PGPASSWORD=secret`. The word may come from
 * a file, so hiding what was typed is not enough.
 */
function hideInWord(word: string): string {
  return hideInStoredLine(hideLikelyTokens(word));
}
