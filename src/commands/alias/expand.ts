// Expands a typed command line before it is parsed: an alias becomes its line, and the flags of the
// command get their defaults.

import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { pathOf } from '../../cli/help.js';
import { findBelow, flagsOf, followLine, takesValue } from '../../cli/line.js';
import { wordsOf } from '../../cli/split.js';
import { FleetError, usageError } from '../../errors.js';
import { KEYS } from '../../settings/keys.js';
import { type LineSettings, loadLineSettings } from '../../settings/store.js';
import { quoteForShell } from '../../system/shell-words.js';

/**
 * Flags that never have a default: they skip a question, do more than the typed line, or overwrite a
 * file.
 */
export const NEVER_DEFAULT: readonly string[] = [
  'yes',
  'unknown',
  'allow-unknown',
  'allow-superuser',
  'no-input',
  'no-check',
  'file',
  'journal',
  'plan',
];

/**
 * Returns the line that a typed line stands for. `build` declares the commands. A built-in command
 * always wins over an alias. Settings that cannot be read are ignored, because the command reports
 * them. Throws a FleetError of kind `usage` for an alias with missing arguments.
 */
export async function expandLine(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  build: (words: readonly string[]) => Promise<Command>,
): Promise<readonly string[]> {
  const settings = await loadLineSettings(env).catch((thrown: unknown) => {
    if (thrown instanceof FleetError) return undefined;
    throw thrown;
  });
  if (settings === undefined) return argv;
  const { aliases, defaults } = settings;
  const [word = '', ...others] = argv;
  const line = aliases.get(word);
  const isAlias = line !== undefined && findBelow(await build([]), word) === undefined;
  const expanded = isAlias ? fillAlias(word, line, others) : argv;
  return defaults.size === 0
    ? expanded
    : addDefaults(await build(expanded), expanded, defaults, env);
}

/** Matches `$1` to `$9` and `$@`. */
const PLACEHOLDER = /\$([1-9@])/g;

/**
 * Returns the words of an alias with its arguments: `$1` to `$9` are single arguments, and `$@` as a
 * word of its own is all of them. Arguments that no placeholder uses follow the line.
 */
export function fillAlias(name: string, line: string, given: readonly string[]): string[] {
  const words = wordsOf(line) ?? [];
  const numbers = [...line.matchAll(PLACEHOLDER)].map(([, number]) => Number(number));
  const most = Math.max(0, ...numbers.filter((number) => !Number.isNaN(number)));
  if (given.length < most)
    throw usageError(
      `the alias "${name}" needs ${most} ${most === 1 ? 'argument' : 'arguments'}, not ${given.length}`,
      `it stands for: fleet ${line}`,
    );
  const hasAll = words.includes('$@');
  const filled = words.flatMap((word) =>
    word === '$@'
      ? given
      : [word.replace(/\$([1-9])/g, (_all, number: string) => given[Number(number) - 1] ?? '')],
  );
  return hasAll ? filled : [...filled, ...given.slice(most)];
}

/** Adds the defaults of the command to a line. Typed flags and environment variables win. */
function addDefaults(
  program: Command,
  line: readonly string[],
  defaults: LineSettings['defaults'],
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const { command, values } = followLine(program, line);
  const flags = defaults.get(commandName(command)) ?? {};
  const added = Object.entries(flags).flatMap(([flag, value]) => {
    const option = findFlag(command, flag);
    if (option === undefined || values.has(option.long ?? '') || isReplaced(option, values, env))
      return [];
    if (!takesValue(option)) return value === true ? [`--${flag}`] : [];
    return typeof value === 'string' ? [`--${flag}=${value}`] : [];
  });
  if (added.length === 0) return line;
  const end = line.includes('--') ? line.indexOf('--') : line.length;
  return [...line.slice(0, end), ...added, ...line.slice(end)];
}

/** Returns the name of a command as a default names it: `bicycles list`. */
export function commandName(command: Command): string {
  return pathOf(command).replace(/^\S+ ?/, '');
}

/** Returns the flag of a command that can have a default. */
export function findFlag(command: Command, name: string): Option | undefined {
  if (NEVER_DEFAULT.includes(name)) return undefined;
  return flagsOf(command).find(({ long }) => long === `--${name}`);
}

/** The flags that choose the form of the output. Any of them replaces the defaults of the others. */
const OUTPUT_FLAGS = ['--output', '--json', '--jq', '--columns', '--count'];

/** Whether a typed flag or a variable replaces the default of an option. */
function isReplaced(
  option: Option,
  values: ReadonlyMap<string, readonly string[]>,
  env: NodeJS.ProcessEnv,
): boolean {
  const isOutput = OUTPUT_FLAGS.includes(option.long ?? '');
  if (isOutput && OUTPUT_FLAGS.some((flag) => flag !== '--columns' && values.has(flag)))
    return true;
  const key = Object.values(KEYS).find(({ flag }) => flag === option.attributeName());
  return key?.variable !== undefined && (env[key.variable] ?? '') !== '';
}

/** Formats a line for a message. */
export function showLine(words: readonly string[]): string {
  return ['fleet', ...words.map((word) => quoteForShell(word))].join(' ');
}
