// What users of gh, kubectl, stripe and curl type, and the line of fleet that means the same: tables of words, shown as a hint, never run.

import { ALERT_ACTIONS } from '../api/alert.js';
import { TRANSITIONS } from '../api/bicycle.js';
import { METHODS } from '../http/methods.js';

/** Other words for one word of fleet, or for several: the word, and the others behind it. */
function wordsFor(...rows: readonly (readonly [meant: string, others: string])[]): ReadonlyMap<string, string> {
  return new Map(rows.flatMap(([meant, others]) => others.split(' ').map((typed) => [typed, meant] as const)));
}

const FLAGS = wordsFor(
  ['--ordering', '--sort --sort-by --order --order-by'],
  ['--limit', '-n -l -L --max --first --take --head --per-page'],
  ['--all', '-A -a --all-pages'],
  ['--output', '--format --out'],
  ['-o csv', '--csv --export'],
  ['-o html', '--html'],
  ['-o yaml', '--yaml'],
  ['--zone', '--city --area --region'],
  ['--organization', '--org'],
  ['--where', '--filter --selector'],
  ['--where charge<20', '--low-battery --low-charge'],
  ['--columns', '--fields'],
  ['--field', '--set'],
  ['--from', '--filename -f'],
  ['--every', '--interval --poll'],
  ['--yes', '--force'],
  ['--base-url', '--url --host --server'],
  ['--email', '--user --username'],
  ['--profile', '--context'],
  ['--verbose', '--debug'],
  ['--quiet', '--silent'],
  ['-X', '--method'],
  ['-H', '--header'],
);

const NOUNS = wordsFor(
  ['bicycles', 'bicycles bicycle bike bikes'],
  ['alerts', 'alerts alert'],
  ['organizations', 'organizations organization organisations org orgs'],
  ['zones', 'zones zone'],
  ['models', 'models model'],
  ['profile', 'profile profiles context contexts'],
);

const VERBS = wordsFor(
  ['list', 'list ls all index query search'],
  ['get', 'get view show describe info inspect find read'],
  ['create', 'create new add make post import apply'],
  ['edit', 'edit update set patch put modify change'],
  ['act', 'act action do run transition'],
  ['retire', 'delete remove rm destroy'],
  ['history', 'history log logs events changes'],
  ['stats', 'stats summary report'],
  ['use', 'use switch select'],
);

const COMMANDS = wordsFor(
  ['auth login', 'login init setup configure'],
  ['auth logout', 'logout'],
  ['auth status', 'whoami me'],
  ['auth token', 'token'],
  ['profile use', 'use switch'],
  ['api', 'curl request http'],
  ['mirror query', 'sql'],
  ['watch', 'tail follow stream'],
  ['watch --live', 'live board dashboard'],
  ['doctor', 'check status ping diagnose'],
  ['sandbox', 'serve server mock dev'],
  ['help install', 'upgrade self-update'],
);

/**
 * The line that was probably meant, as words behind `fleet`; undefined where nothing is known of the one that was typed. A flag that the
 * typed command has itself is left alone.
 */
export function guessLine(
  argv: readonly string[],
  isFlagOfCommand: (word: string) => boolean = () => false,
): string[] | undefined {
  const first = argv.findIndex((word) => word.startsWith('-') && word !== '-');
  const end = first === -1 ? argv.length : first;
  const flags = argv.slice(end).flatMap((word) => (isFlagOfCommand(word) ? word : guessFlag(word)));
  const guess = [...guessWords(argv.slice(0, end)), ...flags];
  return guess.join('\0') === argv.join('\0') ? undefined : guess;
}

function guessFlag(word: string): string[] {
  const [, name = word, value = ''] = /^(--[^=]+)(=.*)$/s.exec(word) ?? [];
  const meant = FLAGS.get(name);
  return meant === undefined ? [word] : `${meant}${value}`.split(' ');
}

/** The words in front of the flags. A verb may stand before its noun, and one without a noun is of bicycles. */
function guessWords(words: readonly string[]): readonly string[] {
  const [first = '', second = '', ...rest] = words;
  const command = COMMANDS.get(first);
  if (command !== undefined) return [...command.split(' '), ...words.slice(1)];
  if (first === 'api' && METHODS.some((method) => method === second.toUpperCase()))
    return ['api', ...rest, ...(second.toUpperCase() === 'GET' ? [] : ['-X', second])];
  const noun = NOUNS.get(first);
  if (noun !== undefined) return guessVerb(noun, words.slice(1));
  if (!VERBS.has(first) && !isAction(first)) return words;
  const last = NOUNS.get(second);
  return last === undefined ? guessVerb('bicycles', words) : guessVerb(last, [first, ...rest]);
}

/** `rent X` and `act rent X` are `act X rent`; kubectl's `get bicycles` is the list of all. */
function guessVerb(noun: string, [typed = 'list', ...operands]: readonly string[]): string[] {
  const meant = VERBS.get(typed) ?? typed;
  // Of alerts none is retired.
  const word = isAction(meant) && noun !== 'bicycles' ? typed : meant;
  if (word === 'get' && operands.length === 0) return [noun, 'list'];
  const isVerb = !isAction(word);
  const [action, ...others] = isVerb ? operands : [word, ...operands];
  const isAct = !isVerb || word === 'act';
  if (isAct && isAction(action) && others.length > 0) return [noun, 'act', ...others, action];
  return [noun, isAct ? 'act' : word, ...operands];
}

/** Whether the word is a transition of bicycles or an action on alerts. */
export function isAction(word: string | undefined): word is string {
  return [...TRANSITIONS, ...ALERT_ACTIONS].some((known) => known === word);
}
