// Suggests the command line that the user probably meant when fleet refuses a line. Keeps the
// user's values, and suggests only lines that fleet accepts.

import { readFileSync } from 'node:fs';
import type { CommandUnknownOpts as Command, Option } from '@commander-js/extra-typings';
import { ALERT_ACTIONS } from '../api/alert.js';
import { TRANSITIONS } from '../api/transitions.js';
import { distPath } from '../system/program-files.js';
import { quoteForShell } from '../system/shell-words.js';
import { pathOf } from './help.js';
import { type FollowedLine, findBelow, flagsOf, followLine, readFlag, takesValue } from './line.js';
import { topicOf } from './topics.js';

/**
 * Command lines that users of other tools type, and the corresponding fleet command lines.
 *
 * `<name>` matches any word, and the suggestion contains the word that the user typed.
 * `<transition>`, `<action>` and `<file>` match only a transition, an action or a file. The first
 * pattern that matches is used. Any further words that the user typed are added at the end. If the
 * suggestion ends with a transition or an action, they are inserted before it. `||` separates two
 * possible meanings.
 */
const LINES: readonly (readonly [typed: string, meant: string])[] = [
  ['man', 'help'],
  ['top', 'watch --live'],
  ['health', 'doctor'],
  ['help dates', 'help conditions'],
  ['help times', 'help conditions'],
  ['transitions', 'help states'],
  ['transitions list', 'help states'],
  ['states', 'help states'],
  ['states list', 'help states'],
  ['users list', 'api /users/'],
  ['org list', 'organizations list'],
  ['orgs list', 'organizations list'],
  ['org use <name>', 'config set organization <name>'],
  ['org switch <name>', 'config set organization <name>'],
  ['organizations use <name>', 'config set organization <name>'],
  ['profile create <name>', 'auth login --profile <name>'],
  ['profile add <name>', 'auth login --profile <name>'],
  ['profile create', 'auth login'],
  ['profile add', 'auth login'],
  ['config get', 'config list'],
  ['config show', 'config list'],
  ['config set <key=value>', 'config set <key> <value>'],
  ['mirror start', 'mirror run'],
  ['mirror sync', 'mirror once'],
  ['mirror update', 'mirror once'],
  ['mirror tables', 'help mirror'],
  ['mirror query .tables', 'help mirror'],
  ['mirror query \\d', 'help mirror'],
  ['mirror query <table>', 'mirror query "select * from <table> limit 10"'],
  ['gbfs serve <port>', 'gbfs --serve <port>'],
  ['gbfs serve', 'gbfs --serve 8080'],
  ['gbfs validate', 'help gbfs'],
  ['gbfs validate <folder>', 'gbfs --check --out <folder>'],
  ['journal list', 'help bulk'],
  ['journal <file>', 'journal show <file>'],
  ['completion', 'completion bash'],
  ['alerts show <alert>', 'alerts list --where uuid=<alert>'],
  ['alerts get <alert>', 'alerts list --where uuid=<alert>'],
  ['alerts show', 'alerts list'],
  ['alerts get', 'alerts list'],
  ['alerts <action> <alert>', 'alerts act <alert> <action>'],
  ['alerts act <action> <alert>', 'alerts act <alert> <action>'],
  ['alerts <alert> <action>', 'alerts act <alert> <action>'],
  ['<action> <alert>', 'alerts act <alert> <action>'],
  ['bicycles <transition> <bicycle>', 'bicycles act <bicycle> <transition>'],
  ['bicycles act <transition> <bicycle>', 'bicycles act <bicycle> <transition>'],
  ['act <transition> <bicycle>', 'bicycles act <bicycle> <transition>'],
  ['bicycles <bicycle> <transition>', 'bicycles act <bicycle> <transition>'],
  ['<transition> <bicycle>', 'bicycles act <bicycle> <transition>'],
  ['bicycles list <name>', 'bicycles list --name <name> || bicycles list --zone <name>'],
  ['list <name>', 'bicycles list --name <name> || bicycles list --zone <name>'],
  ['list', 'bicycles list'],
  ['stats', 'bicycles stats'],
  ['alerts', 'alerts list'],
];

/**
 * Lists for each fleet flag the flags of other tools that it replaces. Some flags of other tools
 * have a value although the fleet flag has none.
 */
const FLAGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '--ordering': '--sort --sort-by --order --order-by',
    '--limit': '-n -l -L --max --first --take --head --top --per-page',
    '--all': '-A -a --all-pages',
    '--output': '--format --out',
    '--zone': '--city --area --region',
    '--organization': '--org',
    '--name': '-s --search --query --find',
    '--where': '--filter --selector',
    '--columns': '--fields',
    '--field': '--set',
    '--from': '--filename -f',
    '--every': '--interval --poll',
    '--since': '--last',
    '--base-url': '--url --host --server',
    '--email': '--user --username',
    '--profile': '--context',
    '--verbose': '--debug',
    '--quiet': '--silent',
    '--serve': '--open',
  }).flatMap(([meant, typed]) => typed.split(' ').map((word) => [word, meant] as const)),
);

/**
 * Flags that users know from other tools and that fleet does not need, keyed by command name.
 * Suggested command lines omit them.
 */
const NEEDLESS_FLAGS: Readonly<Record<string, readonly string[]>> = {
  watch: ['-f', '--follow'],
  doctor: ['--fix'],
};

/**
 * Maps each command's flag to another flag that the command then requires, and to a typical value
 * of that other flag.
 */
const COMPANIONS: Readonly<Record<string, Readonly<Record<string, readonly [string, string]>>>> = {
  stats: { '--since': ['--by', 'day'], '--until': ['--by', 'day'] },
};

/**
 * Maps values that other tools use to the values that fleet uses. Undefined means that the fleet
 * flag has no value.
 */
const VALUES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '--limit': { all: ['--all'], '0': ['--all'] },
  '--output': {
    name: ['--output', 'uuid'],
    text: ['--output', 'table'],
    txt: ['--output', 'table'],
  },
  '--type': { battery: ['--type', 'lock.bat.low'], low_battery: ['--type', 'lock.bat.low'] },
  '--state': { open: ['--state', 'new,escalated'] },
};

/** The words and flags of a line. A flag's value follows the flag. */
interface SplitLine {
  words: readonly string[];
  flags: readonly string[];
}

/**
 * Returns command lines for a line that fleet refuses. They are the lines that the user may have
 * meant, most likely first, quoted for the shell. Includes only lines that fleet would definitely
 * accept. `argv` contains the words after `fleet`.
 */
export function suggestLines(program: Command, argv: readonly string[]): string[] {
  if (argv.includes('--')) return [];
  const { words, flags } = splitLine(program, argv);
  const candidates = [...replaceWords(program, words), joinOperands(program, words), words];
  const lines = candidates
    .map((candidate) => [...candidate, ...correctFlags(program, candidate, flags)])
    .filter((line) => !isSameLine(program, line, argv) && isAccepted(program, line));
  const shown = lines.map((line) =>
    ['fleet', ...line.map((word) => quoteForShell(word))].join(' '),
  );
  return [...new Set([...shown, ...pipeFiltered(program, words, flags)])].slice(0, 2);
}

/**
 * Joins all operands into one word, to correct a name with spaces that was typed without quotes.
 */
function joinOperands(program: Command, words: readonly string[]): string[] {
  const { command, operands } = followLine(program, words);
  const [argument, ...others] = command.registeredArguments;
  if (argument?.name() !== 'bicycle' || argument.variadic || others.length > 0) return [...words];
  const path = words.slice(0, words.length - operands.length);
  return operands.length < 2 ? [...words] : [...path, operands.join(' ')];
}

/** Filters of list commands. Users also try to use them with commands that change bicycles. */
const FILTERS = ['--state', '--zone', '--near', '--radius', '--bbox', '--where'];

/**
 * Handles a change command that the user typed with filters. Returns a pipe that lists the matching
 * bicycles and then changes them.
 */
function pipeFiltered(
  program: Command,
  words: readonly string[],
  flags: readonly string[],
): string[] {
  const [, verb, transition, ...others] = words;
  if (verb !== 'act' || transition === undefined || others.length > 0) return [];
  const filters = flags.filter(
    (flag, index) => FILTERS.includes(flag) || FILTERS.includes(flags[index - 1] ?? ''),
  );
  const rest = flags.filter((flag) => !filters.includes(flag));
  const list = ['bicycles', 'list', ...filters, '--all', '--output', 'uuid'];
  const change = ['bicycles', 'act', '-', transition, ...rest];
  if (filters.length === 0 || !isAccepted(program, list) || !isAccepted(program, change)) return [];
  const show = (line: readonly string[]) => line.map((word) => quoteForShell(word)).join(' ');
  return [`fleet ${show(list)} | fleet ${show(change)}`];
}

/** Whether two command lines have the same meaning, such as `--name=x` and `--name x`. */
function isSameLine(program: Command, line: readonly string[], typed: readonly string[]): boolean {
  if (sameWords(line, typed)) return true;
  const unknown = (words: readonly string[]) => unknownFlags(followLine(program, words), words);
  if (unknown(typed).length > 0) return false;
  const [one, other] = [followLine(program, line), followLine(program, typed)];
  return (
    one.command === other.command &&
    sameWords(one.operands, other.operands) &&
    one.values.size === other.values.size &&
    [...one.values].every(([flag, values]) => sameWords(values, other.values.get(flag) ?? ['']))
  );
}

function sameWords(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, index) => word === other[index]);
}

/**
 * Splits a line into words and flags. A flag from another tool accepts a value if the equivalent
 * fleet flag accepts one.
 */
function splitLine(program: Command, argv: readonly string[]): SplitLine {
  const words: string[] = [];
  const flags: string[] = [];
  const { command } = followLine(program, argv);
  let isValue = false;
  for (const word of argv) {
    if (isValue) {
      flags.push(word);
      isValue = false;
    } else if (/^-?[\d.]+$/.test(word) && isHalfPlace(flags)) {
      // The user separated the coordinates with a space instead of a comma: `--near 52.52 13.40`.
      flags.push(`${flags.pop()?.replace(/,$/, '')},${word}`);
    } else if (word === '-' || !word.startsWith('-')) {
      words.push(word);
    } else {
      flags.push(word);
      const { option, value } = readFlag(command, word);
      const meant = option ?? anyOption(program, FLAGS.get(word) ?? word);
      isValue =
        meant !== undefined && takesValue(meant) && value === undefined && !word.includes('=');
    }
  }
  return { words, flags };
}

/** Whether the last flag is `--near` and its value contains only the latitude. */
function isHalfPlace(flags: readonly string[]): boolean {
  return flags.at(-2) === '--near' && /^-?[\d.]+,?$/.test(flags.at(-1) ?? '');
}

/** Returns the option with this long name, whichever command declares it. */
function anyOption(command: Command, long: string): Option | undefined {
  return (
    command.options.find((option) => option.long === long) ??
    command.commands.map((inner) => anyOption(inner, long)).find((option) => option !== undefined)
  );
}

/** Returns the suggested lines of the first pattern that matches. */
function replaceWords(program: Command, words: readonly string[]): string[][] {
  const [first = '', second = ''] = words;
  const noun = findBelow(program, first);
  const isCommand = noun !== undefined && findBelow(noun, second) !== undefined;
  for (const [typed, meant] of LINES) {
    const pattern = typed.split(' ');
    // When the line starts with an existing command, the verb of this command must not match a
    // placeholder such as `<id>`.
    if (isCommand && pattern[1]?.startsWith('<')) continue;
    const found = match(pattern, words);
    if (found === undefined) continue;
    const fill = (word: string) => word.replace(/<[^>]+>/g, (name) => found.get(name) ?? name);
    const rest = words.slice(pattern.length);
    return meant.split(' || ').map((line) => addRest(splitQuoted(line), rest).map(fill));
  }
  return [];
}

/**
 * Adds the user's remaining words to a suggested command line. A placeholder `<transition>` or
 * `<action>` stays last. No words are added when the suggestion is a guide (`help NAME`).
 */
function addRest(line: readonly string[], rest: readonly string[]): string[] {
  const last = line.at(-1) ?? '';
  if (last === '<transition>' || last === '<action>') return [...line.slice(0, -1), ...rest, last];
  const isGuide = line[0] === 'help' && line.length > 1;
  return isGuide ? [...line] : [...line, ...rest];
}

/** Splits a pattern at the spaces outside double quotes. */
function splitQuoted(line: string): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
}

const NOUNS: Readonly<Record<string, string>> = {
  bicycle: 'bicycles',
  bike: 'bicycles',
  bikes: 'bicycles',
  alert: 'alerts',
  organization: 'organizations',
};

/**
 * Returns the user's word for each placeholder of a pattern, or undefined when the line does not
 * match.
 */
function match(
  pattern: readonly string[],
  words: readonly string[],
): Map<string, string> | undefined {
  const found = new Map<string, string>();
  for (const [index, part] of pattern.entries()) {
    const word = words[index];
    if (word === undefined) return undefined;
    if (part === '<key=value>') {
      const equals = word.indexOf('=');
      if (equals < 1) return undefined;
      found.set('<key>', word.slice(0, equals)).set('<value>', word.slice(equals + 1));
    } else if (!part.startsWith('<')) {
      if (part !== (NOUNS[word] ?? word)) return undefined;
    } else if (fits(part, word)) found.set(part, word);
    else return undefined;
  }
  return found;
}

/** Whether a placeholder of a pattern matches this word. */
function fits(placeholder: string, word: string): boolean {
  const isTransition = TRANSITIONS.some((each) => each === word);
  const isAction = ALERT_ACTIONS.some((each) => each === word);
  switch (placeholder) {
    case '<transition>':
      return isTransition;
    case '<action>':
      return isAction;
    case '<file>':
      return /[./\\]/.test(word);
    case '<table>':
      return /^[a-z]\w*$/i.test(word);
    case '<port>':
      return /^\d+$/.test(word);
    default:
      return !isTransition && !isAction;
  }
}

/**
 * Replaces flags and values from other tools with the command's flags and values that have the same
 * meaning.
 */
function correctFlags(
  program: Command,
  words: readonly string[],
  flags: readonly string[],
): string[] {
  const { command } = followLine(program, words);
  const known = flagsOf(command);
  const isKnown = (name: string) =>
    known.some(({ long, short }) => long === name || short === name);
  const corrected: string[] = [];
  for (let index = 0; index < flags.length; index++) {
    const [typed = '', inline] = splitValue(flags[index] ?? '');
    if (!typed.startsWith('--') && readFlag(command, typed).value !== undefined) {
      // Splits a short flag from its value, as in `-ojson`.
      corrected.push(typed);
      continue;
    }
    if (NEEDLESS_FLAGS[command.name()]?.includes(typed)) continue;
    const meant = isKnown(typed) ? typed : (FLAGS.get(typed) ?? typed);
    const option = readFlag(command, meant).option;
    const long = option?.long ?? meant;
    const hasValue = option !== undefined && takesValue(option);
    if (option !== undefined && !hasValue && inline !== undefined) {
      // The user typed a value for a flag that accepts no value, as in `--yes=no`. The value stays
      // attached to the flag. As a separate word, it would become an operand.
      corrected.push(flags[index] ?? '');
      continue;
    }
    const next = flags[index + 1];
    const value = inline ?? (hasValue && next !== undefined && !isFlag(next) ? next : undefined);
    if (inline === undefined && value !== undefined) index++;
    if (long === '--near' && value !== undefined && isKnown('--radius')) {
      corrected.push('--near', placeOf(value) ?? value);
      if (!flags.some((flag) => flag.startsWith('--radius'))) corrected.push('--radius', '1km');
      continue;
    }
    const replaced = value === undefined ? undefined : VALUES[long]?.[value];
    // A flag that the command knows is kept as the user typed it, even in its short form.
    const name = isKnown(typed) ? typed : long;
    corrected.push(...(replaced ?? [name, ...(value === undefined ? [] : [value])]));
  }
  for (const [flag, companion] of Object.entries(COMPANIONS[command.name()] ?? {}))
    if (corrected.includes(flag) && !corrected.includes(companion[0])) corrected.push(...companion);
  return corrected;
}

/** Returns a town's latitude and longitude in the format that `--near` accepts. */
function placeOf(name: string): string | undefined {
  if (!/\p{L}/u.test(name)) return undefined;
  const towns: [name: string, longitude: number, latitude: number][] = JSON.parse(
    readFileSync(distPath('towns.json'), 'utf8'),
  );
  const found = towns.find(([town]) => town.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : `${found[2]},${found[1]}`;
}

function isFlag(word: string): boolean {
  return word.startsWith('-') && word !== '-' && !/^-\d/.test(word);
}

/** Splits `--flag=value`. */
function splitValue(word: string): [flag: string, value?: string] {
  const equals = word.indexOf('=');
  return equals === -1 || !word.startsWith('--')
    ? [word]
    : [word.slice(0, equals), word.slice(equals + 1)];
}

/** Whether fleet would accept a line: it has a complete command, known flags and valid values. */
function isAccepted(program: Command, line: readonly string[]): boolean {
  const followed = followLine(program, line);
  const { command, operands, values, awaiting } = followed;
  if (awaiting?.required === true || command.commands.length > 0) return false;
  if (unknownFlags(followed, line).length > 0 || hasConflict(followed)) return false;
  const required = command.registeredArguments.filter((each) => each.required).length;
  const isVariadic = command.registeredArguments.some(({ variadic }) => variadic);
  const most = isVariadic ? Number.POSITIVE_INFINITY : command.registeredArguments.length;
  if (operands.length < required || operands.length > most) return false;
  if (operands.includes('') || !hasValidWords(program, followed)) return false;
  const flags = flagsOf(command);
  return [...values].every(([name, texts]) => {
    const option = flags.find(({ long, flags: text }) => (long ?? text) === name);
    return texts.every((text) => isValid(option, text));
  });
}

/**
 * Returns the words that look like flags, but are not flags of the command, or have a value
 * although the flag accepts none.
 */
function unknownFlags({ command }: FollowedLine, line: readonly string[]): string[] {
  return line.filter((word, index) => {
    if (!isFlag(word) || isValueOf(command, line[index - 1])) return false;
    const { option, value } = readFlag(command, word);
    return option === undefined || (!takesValue(option) && value !== undefined);
  });
}

/** Whether a line contains mutually exclusive flags. */
function hasConflict({ command, values }: FollowedLine): boolean {
  const given = flagsOf(command).filter(({ long, flags }) => values.has(long ?? flags));
  const names = given.map((option) => option.attributeName());
  return given.some((option) => conflictsOf(option).some((name) => names.includes(name)));
}

/**
 * Returns the names of the flags that conflict with the given flag. commander stores them in a
 * field that its types do not declare.
 */
function conflictsOf(option: Option): readonly string[] {
  const { conflictsWith = [] } = option as { conflictsWith?: readonly string[] };
  return conflictsWith;
}

/**
 * Whether a command accepts these operands. For `act`, only the last operand is checked; for
 * `help`, only the page name.
 */
function hasValidWords(program: Command, { command, operands, values }: FollowedLine): boolean {
  const last = operands.at(-1) ?? '';
  switch (pathOf(command)) {
    case 'fleet bicycles act':
      return isActLine(operands, values) && TRANSITIONS.some((each) => each === last);
    case 'fleet alerts act':
      return isActLine(operands, values) && ALERT_ACTIONS.some((each) => each === last);
    case 'fleet help':
      return (
        (operands.length === 1 && (topicOf(last) !== undefined || last === 'topics')) ||
        followLine(program, operands).operands.length === 0
      );
    default:
      return true;
  }
}

/** Whether the operands of `act` are valid: its bicycles or alerts come from only one source. */
function isActLine(operands: readonly string[], values: FollowedLine['values']): boolean {
  const targets = operands.slice(0, -1);
  if (values.has('--from')) return targets.length === 0;
  return targets.length === 1 || (targets.length > 1 && !targets.includes('-'));
}

function isValueOf(command: Command, word = ''): boolean {
  const { option, value } = readFlag(command, word);
  return option !== undefined && takesValue(option) && value === undefined;
}

function isValid(option: Option | undefined, text: string): boolean {
  if (option?.flags.includes('<name=value>') && text.indexOf('=') < 1) return false;
  try {
    option?.parseArg?.(text, undefined as never);
    return true;
  } catch {
    return false;
  }
}
