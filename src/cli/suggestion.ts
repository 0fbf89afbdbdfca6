// Suggests a corrected command line when commander rejects the typed one. Replaces words of other
// tools with fleet's words, and misspelled words with the closest match.

import type { CommandUnknownOpts as Command, CommanderError } from '@commander-js/extra-typings';
import { ALERT_ACTIONS } from '../api/alert.js';
import { TRANSITIONS } from '../api/transitions.js';
import { pathOf } from './help.js';
import { flagsOf, followLine, namesBelow } from './line.js';
import { nearest } from './nearest.js';
import { suggestLines } from './suggest-line.js';

/** Words that users of gh, kubectl, stripe and curl type, and fleet's equivalents. */
function wordsFor(table: { readonly [meant: string]: string }): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(table).flatMap(([meant, typed]) =>
      typed.split(' ').map((word) => [word, meant]),
    ),
  );
}

const FLAGS = wordsFor({
  '--ordering': '--sort --sort-by --order --order-by',
  '--limit': '-n -l -L --max --first --take --head --per-page',
  '--all': '-A -a --all-pages',
  '--output': '--format --out --csv --html --yaml',
  '--zone': '--city --area --region',
  '--organization': '--org',
  '--where': '--filter --selector --name',
  '--columns': '--fields',
  '--field': '--set',
  '--from': '--filename -f',
  '--every': '--interval --poll',
  '--yes': '--force',
  '--base-url': '--url --host --server',
  '--email': '--user --username',
  '--profile': '--context',
  '--verbose': '--debug',
  '--quiet': '--silent',
});

const VERBS = new Map([
  ...wordsFor({
    list: 'ls all index search',
    get: 'view show describe info inspect find read',
    create: 'new add make post import',
    edit: 'update set patch put modify change',
    act: 'action do run transition',
    'act <bicycle> retire': 'delete remove rm destroy',
    history: 'log logs events changes',
    stats: 'summary report',
    use: 'switch select',
  }),
  ...TRANSITIONS.map((word) => [word, `act <bicycle> ${word}`] as const),
  ...ALERT_ACTIONS.map((word) => [word, `act <alert> ${word}`] as const),
]);

const COMMANDS = wordsFor({
  'auth login': 'login init setup configure',
  'auth status': 'whoami me',
  'profile use': 'context',
  api: 'curl request http',
  'mirror query': 'sql',
  watch: 'tail follow stream',
  'watch --live': 'live board dashboard',
  'watch --until': 'wait',
  doctor: 'check status ping diagnose',
  sandbox: 'serve server mock dev',
  'help install': 'upgrade self-update',
});

const TOKEN_FLAG = /^--(?:token|jwt|access-token|api-key)(?:=|$)/;
const TOKEN_HINT =
  'the token is never a flag, as other users could read it in the list of processes: use "fleet auth login", or set FLEET_TOKEN';

/**
 * Returns a hint with the command lines that the user may have meant, or undefined when there are
 * none.
 */
export function suggestionFor(program: Command, argv: readonly string[]): string | undefined {
  const lines = suggestLines(program, argv);
  return lines.length === 0 ? undefined : `did you mean: ${lines.join(', or: ')}`;
}

/** Returns the hint for a usage error from commander. */
export function hintFor(error: CommanderError, program: Command, argv: readonly string[]): string {
  if (argv.some((word) => TOKEN_FLAG.test(word))) return TOKEN_HINT;
  const { command, operands } = followLine(program, argv);
  const suggestion = suggestionFor(program, argv);
  if (suggestion !== undefined) return suggestion;
  const word = /'([^']+)'/.exec(error.message)?.[1] ?? '';
  const isExcess = error.code === 'commander.excessArguments';
  if (isExcess && argv.includes('-') && command.options.some(({ long }) => long === '--from'))
    return 'to read rows from stdin: --from -';
  const meant = isExcess
    ? operands
        .map((operand) => `--${operand}`)
        .find(
          (flag) =>
            command.options.some(({ long }) => long === flag) && !GRAVE_FLAGS.includes(flag),
        )
    : error.code === 'commander.unknownCommand'
      ? meantCommand(command, word)
      : error.code === 'commander.unknownOption' && meantFlag(command, word);
  const quotes = isExcess ? 'a name with spaces needs quotes; ' : '';
  return `${meant ? `did you mean "${meant}"? ` : quotes}see "${pathOf(command)} --help"`;
}

/**
 * Returns the subcommand that a word probably refers to. Adds the noun when only a verb was typed.
 */
export function meantCommand(
  command: Command,
  word: string,
  others: readonly string[] = [],
): string | undefined {
  const verb = VERBS.get(word) ?? word;
  const [name = '', operand] = verb.split(' ');
  const hasVerb = (noun: Command) =>
    noun.commands.some((inner) => inner.name() === name) &&
    (operand === undefined || (operand === '<alert>') === (noun.name() === 'alerts'));
  if (hasVerb(command)) return verb;
  const noun = COMMANDS.has(word) ? undefined : command.commands.find(hasVerb);
  return noun === undefined
    ? (COMMANDS.get(word) ?? nearest(word, [...namesBelow(command), ...others]))
    : `${noun.name()} ${verb}`;
}

function meantFlag(command: Command, word: string): string | undefined {
  const [name = ''] = word.split('=', 1);
  const flags = ['--help', ...flagsOf(command).map(({ long, flags }) => long ?? flags)];
  // Only a transition can change a state. For `bicycles edit --state`, the suggestion is therefore
  // a transition.
  if (name === '--state' && pathOf(command).endsWith('bicycles edit'))
    return 'act <bicycle> <transition>';
  const known = FLAGS.get(name);
  if (known !== undefined && flags.includes(known)) return known;
  // A short flag name is similar to many other names, so only one letter may be different. Never
  // suggests flags that skip a question or make the command do more.
  const most = name.length <= '--note'.length ? 1 : undefined;
  return nearest(
    name,
    flags.filter((flag) => flag.startsWith('--') && !GRAVE_FLAGS.includes(flag)),
    most,
  );
}

/**
 * Flags that are never suggested, because a command with such a flag does more than the typed
 * command.
 */
const GRAVE_FLAGS: readonly string[] = [
  '--yes',
  '--allow-unknown',
  '--unknown',
  '--all',
  '--no-check',
  '--no-input',
];
