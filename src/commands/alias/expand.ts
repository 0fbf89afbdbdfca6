// Expands a typed command line before it is parsed: replaces an alias by its line, and adds the
// user's default flags.

import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { pathOf } from '../../cli/help.js';
import { findBelow, flagsOf, followLine, readFlag, takesValue } from '../../cli/line.js';
import { wordsOf } from '../../cli/split.js';
import { FleetError, usageError } from '../../errors.js';
import { KEYS } from '../../settings/keys.js';
import { type LineSettings, loadLineSettings, loadStored } from '../../settings/store.js';
import { quoteForShell } from '../../system/shell-words.js';
import { hideInStoredLine } from '../../system/typed-secrets.js';

/**
 * Flags that must not have a default. Such a flag skips a prompt, does more than the typed line
 * says, or overwrites a file.
 */
const NEVER_DEFAULT: readonly string[] = [
  'yes',
  'unknown',
  'allow-unknown',
  'allow-superuser',
  'no-input',
  'no-check',
  'file',
  'journal',
  'plan',
  'hidden-rows',
  'empty',
  'install',
  'uninstall',
];

/** Flags that determine what a command changes. They must not have a default. */
const CHANGES: { readonly [command: string]: readonly string[] } = {
  'bicycles act': ['field', 'from'],
  'bicycles edit': [
    'name',
    'organization',
    'model',
    'lock',
    'serial-number',
    'description',
    'note',
    'field',
    'from',
  ],
  'bicycles create': ['from'],
  'alerts act': ['field', 'from'],
  api: ['method', 'field', 'raw-field', 'input'],
};

/**
 * Flags that determine which service receives the token. They cannot have defaults for individual
 * commands. Otherwise `list` could read from one service and `edit` could write to another.
 */
export const PLACE_FLAGS: readonly string[] = ['profile', 'base-url', 'sse-url'];

/** Returns whether a command's flag must not have a default. */
export function isNeverDefault(command: Command, flag: string): boolean {
  return (
    NEVER_DEFAULT.includes(flag) ||
    PLACE_FLAGS.includes(flag) ||
    CHANGES[commandName(command)]?.includes(flag) === true
  );
}

/** Commands that show or repair settings. They must also run when the settings are invalid. */
const REPAIRS: readonly string[] = ['config', 'alias', 'doctor', 'help', 'completion'];

/**
 * Returns the typed command line with its alias and defaults expanded. `build` declares the
 * commands. A built-in command takes precedence over an alias with the same name.
 *
 * Throws a FleetError of kind `usage` for an alias with missing arguments, and of kind `config` for
 * invalid aliases or defaults.
 */
export async function expandLine(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  build: (words: readonly string[]) => Promise<Command>,
): Promise<readonly string[]> {
  const settings = await readSettings(argv, env, build);
  if (settings === undefined) return argv;
  const { aliases, defaults } = settings;
  const isHelp = argv.some((word) => HELP_FLAGS.includes(word));
  const expanded = aliases.size === 0 ? argv : await replaceAlias(argv, aliases, build, isHelp);
  return defaults.size === 0 || isHelp
    ? expanded
    : addDefaults(await build(expanded), expanded, defaults, env);
}

/** Flags that print text instead of running the command. */
const HELP_FLAGS: readonly string[] = ['--help', '-h', '--version', '-V'];

/**
 * Reads aliases and defaults. Returns undefined when the settings cannot be read. In this case, the
 * command runs without aliases and defaults, or reports the error itself.
 */
async function readSettings(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  build: (words: readonly string[]) => Promise<Command>,
): Promise<LineSettings | undefined> {
  try {
    return await loadLineSettings(env);
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    const program = await build([]);
    const word = argv[findWord(program, argv)];
    if (word === undefined || REPAIRS.includes(word)) return undefined;
    // The word is not a command, so it may be an alias. The error explains why aliases cannot be
    // read.
    if (findBelow(program, word) === undefined) throw thrown;
    const isFileReadable = await loadStored(env).then(
      () => true,
      () => false,
    );
    // The command itself would ignore the unreadable defaults and run without them. Running without
    // a default such as --dry-run would be dangerous, so the error is thrown instead.
    if (isFileReadable) throw thrown;
    return undefined;
  }
}

/** Returns the index of the first word after the global flags, or -1. */
function findWord(program: Command, argv: readonly string[]): number {
  let isValue = false;
  for (const [index, word] of argv.entries()) {
    if (isValue) {
      isValue = false;
      continue;
    }
    if (!word.startsWith('-')) return index;
    const { option, value } = readFlag(program, word);
    // The flag is unknown. It is therefore unclear whether the next word is its value or a command.
    if (option === undefined) return -1;
    isValue = takesValue(option) && value === undefined;
  }
  return -1;
}

/** Matches a valid alias name. Other names in an edited settings file are ignored. */
export const ALIAS_NAME = /^[a-z][a-z0-9-]*$/i;

/**
 * Replaces an alias by its command line. With `--help`, inserts only the command name of that line.
 * A command has only one help page, whatever its flags and operands are.
 */
async function replaceAlias(
  argv: readonly string[],
  aliases: LineSettings['aliases'],
  build: (words: readonly string[]) => Promise<Command>,
  isHelp: boolean,
): Promise<readonly string[]> {
  const startsWithFlag = argv[0]?.startsWith('-') === true;
  const at = startsWithFlag ? findWord(await build([]), argv) : 0;
  const word = argv[at];
  const line = word === undefined || !ALIAS_NAME.test(word) ? undefined : aliases.get(word);
  if (word === undefined || line === undefined) return argv;
  const program = await build([]);
  if (findBelow(program, word) !== undefined) return argv;
  const [before, given] = [argv.slice(0, at), argv.slice(at + 1)];
  if (!isHelp) return [...before, ...fillAlias(word, line, given)];
  const { command } = followLine(program, wordsOf(line) ?? []);
  return [...before, ...commandName(command).split(' '), '--help'];
}

/** Matches `$1` to `$9` and `$@`. */
const PLACEHOLDER = /\$([1-9@])/g;

/**
 * Returns the words of an alias with its arguments filled in.
 *
 * `$1` to `$9` are single arguments. `$@` as a separate word means all arguments. Inside a word,
 * such as `--name=$@`, the arguments are joined. Arguments without a placeholder are added at the
 * end.
 */
export function fillAlias(name: string, line: string, given: readonly string[]): string[] {
  const words = wordsOf(line) ?? [];
  const numbers = [...line.matchAll(PLACEHOLDER)].map(([, number]) => Number(number));
  const most = Math.max(0, ...numbers.filter((number) => !Number.isNaN(number)));
  if (given.length < most)
    throw usageError(
      `the alias "${name}" needs ${most} ${most === 1 ? 'argument' : 'arguments'}, not ${given.length}`,
      `the alias expands to: fleet ${hideInStoredLine(line)}`,
    );
  const hasAll = words.some((word) => word.includes('$@'));
  const fill = (_all: string, name: string) =>
    name === '@' ? given.join(' ') : (given[Number(name) - 1] ?? '');
  const filled = words.flatMap((word) =>
    word === '$@' ? given : [word.replace(PLACEHOLDER, fill)],
  );
  return hasAll ? filled : [...filled, ...given.slice(most)];
}

/**
 * Adds the defaults of the command to a line. Typed flags and environment variables take
 * precedence.
 */
function addDefaults(
  program: Command,
  line: readonly string[],
  defaults: LineSettings['defaults'],
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const { command, commandEnd, values } = followLine(program, line);
  const flags = defaults.get(commandName(command)) ?? {};
  const added = Object.entries(flags).flatMap(([flag, value]) => {
    const option = findFlag(command, flag);
    if (option === undefined || values.has(option.long ?? '') || isReplaced(option, values, env))
      return [];
    if (!takesValue(option)) return String(value) === 'true' ? [`--${flag}`] : [];
    return isText(value) ? [`--${flag}=${value}`] : [];
  });
  // The defaults are inserted directly after the command. At the end of the line, a default could
  // become the value of an incomplete flag, as in `edit SN-1 --name`.
  return [...line.slice(0, commandEnd), ...added, ...line.slice(commandEnd)];
}

function isText(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Returns a command's name as it appears in the defaults, such as `bicycles list`. */
export function commandName(command: Command): string {
  return pathOf(command).replace(/^\S+ ?/, '');
}

/**
 * Returns the flag with this name. Returns undefined for an unknown flag, and for a flag that must
 * not have a default.
 */
export function findFlag(command: Command, name: string): Option | undefined {
  if (isNeverDefault(command, name)) return undefined;
  return flagsOf(command).find(({ long }) => long === `--${name}`);
}

/**
 * Flags that determine the output format. When the user types one of these flags, the stored
 * defaults for the others are ignored.
 */
const OUTPUT_FLAGS = ['--output', '--json', '--jq', '--columns', '--count'];

/**
 * Groups of mutually exclusive flags. When the user types one flag of a group, stored defaults for
 * the other flags of the group are ignored.
 */
const ALTERNATIVES: readonly (readonly string[])[] = [
  ['--all', '--page'],
  ['--all', '--limit'],
  ['--limit', '--count'],
  ['--page', '--count'],
  ['--keep-going', '--fail-fast'],
  ['--near', '--bbox'],
  ['--radius', '--bbox'],
];

/**
 * Whether an option's stored default is ignored. This is the case when the user typed a flag, or
 * set an environment variable, that replaces the default.
 */
function isReplaced(
  option: Option,
  values: ReadonlyMap<string, readonly string[]>,
  env: NodeJS.ProcessEnv,
): boolean {
  const isOutput = OUTPUT_FLAGS.includes(option.long ?? '');
  if (isOutput && OUTPUT_FLAGS.some((flag) => flag !== '--columns' && values.has(flag)))
    return true;
  const long = option.long ?? '';
  const isExcluded = ALTERNATIVES.some(
    (flags) => flags.includes(long) && flags.some((flag) => values.has(flag)),
  );
  if (isExcluded) return true;
  const key = Object.values(KEYS).find(({ flag }) => flag === option.attributeName());
  return key?.variable !== undefined && (env[key.variable] ?? '') !== '';
}

/** Formats a command line for a message. */
export function showLine(words: readonly string[]): string {
  return ['fleet', ...words.map((word) => quoteForShell(word))].join(' ');
}
