// The flags of every command that reads rows from a file or from stdin.

import { existsSync } from 'node:fs';
import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../cli/command.js';
import { plain, withOffers } from '../cli/completions.js';
import { unknownWord } from '../cli/nearest.js';
import { oneOf } from '../cli/options.js';
import { usageError } from '../errors.js';
import { quoteForShell } from '../system/shell-words.js';
import type { InputSource } from './open.js';
import { isEncoding } from './text-decoding.js';

/** The choices of `--hidden-rows`. */
const HIDDEN_ROWS_CHOICES = ['take', 'skip'] as const;

/**
 * The suggested encodings, which spreadsheet programs use. Every name that `TextDecoder` knows is
 * accepted.
 */
const COMMON_ENCODINGS = ['windows-1252', 'utf-8', 'utf-16le', 'iso-8859-15', 'macintosh'];

const readEncoding = withOffers(
  (name: string): string => {
    if (isEncoding(name)) return name;
    throw unknownWord('encoding', name, COMMON_ENCODINGS);
  },
  () => ({ words: plain(COMMON_ENCODINGS) }),
);

/**
 * Adds the input flags to a command. `noun` says what the rows of the input describe: bicycles or
 * alerts.
 */
export function addInputFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  noun: string,
) {
  return command
    .option('--from <file|->', `read the ${noun} from a file, or from stdin`)
    .option('--sheet <name>', 'sheet of an .xlsx file (default: the first visible sheet)')
    .option(
      '--hidden-rows <choice>',
      'take or skip rows that are hidden in an .xlsx file (default: refuse them)',
      oneOf('choice', HIDDEN_ROWS_CHOICES),
    )
    .option(
      '--encoding <name>',
      'encoding of a text file, such as windows-1252 (default: UTF-8)',
      readEncoding,
    )
    .option(
      '--map <heading=field>',
      "read a column under another name, such as 'Rahmennummer=serial_number' (repeatable)",
      readHeading,
    );
}

/** The parsed flags. `from` is a path, or `-` for stdin. The keys of `map` are in lower case. */
export type InputFlags = FlagsOf<typeof addInputFlags<[], NoFlags>>;

/**
 * Parses one `--map HEADING=FIELD` and adds it to the earlier mappings. Splits at the last `=`,
 * because only a heading can contain `=`.
 */
function readHeading(
  text: string,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const at = text.lastIndexOf('=');
  const heading = text.slice(0, Math.max(0, at)).trim().toLowerCase();
  const field = text
    .slice(at + 1)
    .trim()
    .toLowerCase();
  if (heading === '' || field === '')
    throw usageError(
      `--map must be HEADING=FIELD, not "${text}"`,
      "for example: --map 'Rahmennummer=serial_number'",
    );
  if (before.has(heading)) throw usageError(`--map contains the heading "${heading}" twice`);
  return new Map([...before, [heading, field]]);
}

/** Flags that are only valid together with an input. */
const NEED_INPUT = ['encoding', 'sheet', 'hiddenRows', 'map'] as const;

/**
 * Returns the input of a command, or undefined when the arguments and flags do not specify an
 * input. `isDash` is true when the user typed `-` in place of bicycles. Throws a FleetError of kind
 * `usage` for two inputs, and for flags that need an input.
 */
export function readInputSource(flags: InputFlags, isDash = false): InputSource | undefined {
  const { from, encoding, sheet, hiddenRows, map } = flags;
  if (from !== undefined && isDash)
    throw usageError('"-" and --from cannot be combined', 'remove one of them');
  const path = from ?? (isDash ? '-' : undefined);
  if (path === undefined) {
    const useless = NEED_INPUT.find((name) => flags[name] !== undefined);
    if (useless === undefined) return undefined;
    const flag = useless === 'hiddenRows' ? 'hidden-rows' : useless;
    throw usageError(`--${flag} needs an input`, 'add --from FILE, or - for stdin');
  }
  if (path === '') throw usageError('--from needs a file', 'pass a path, or - for stdin');
  return { path, encoding, sheet, hiddenRows, headings: map };
}

/**
 * Throws a FleetError of kind `usage` when an argument is a file name, because a file must be given
 * with `--from`.
 */
export function refuseFileNames(texts: readonly string[]): void {
  const file = texts.find((text) => INPUT_FILE.test(text) && existsSync(text));
  if (file === undefined) return;
  throw usageError(
    `"${file}" is a file`,
    `to read rows from it, use --from ${quoteForShell(file)}`,
  );
}

/** Matches the file extensions of inputs. */
const INPUT_FILE = /\.(?:csv|tsv|txt|jsonl?|geojson|ya?ml|xlsx?)$/i;
