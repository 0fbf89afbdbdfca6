// What users of gh, kubectl, stripe and curl type, and the line of fleet that means the same: tables of words, shown as a hint, never run.

import { ALERT_ACTIONS } from '../api/alert.js';
import { BICYCLE_STATES, TRANSITIONS } from '../api/bicycle.js';
import { METHODS } from '../http/methods.js';
import { quoteForShell } from '../shell-words.js';

/** How other tools spell a flag, and how fleet does; `$` is the flag's value. A flag that the typed command has itself is left alone. */
const FLAGS: readonly (readonly [typed: string, meant: string])[] = [
  ['--sort|--sort-by|--order|--order-by', '--ordering=$'],
  ['--desc|--descending|--reverse', '--ordering=-created'],
  ['-n|-l|-L|--max|--first|--take|--head|--per-page', '--limit'],
  ['-A|-a|--all-pages', '--all'],
  ['--format|--out', '--output'],
  ['--csv|--export', '-o csv'],
  ...['tsv', 'yaml', 'geojson', 'html', 'svg', 'wide'].map((format) => [`--${format}`, `-o ${format}`] as const),
  ['--dir|--folder|--out-dir|--output-dir', '--out'],
  ['--open', '--serve'],
  ['--city|--area|--region', '--zone'],
  ['--org', '--organization'],
  ['--interval|--poll', '--every'],
  ['--user|--username', '--email'],
  ['--bikes', '--bicycles'],
  ['--battery|--charge-below|--battery-below|--max-charge', '--where charge<$'],
  ['--low-battery|--low-charge', '--where charge<20'],
  ['--today', '--where created>-1d'],
  ['--days', '--where created>-$d'],
  ['--state', '--where state=$'],
  ['--status', '--state'],
  ['--filter|--selector', '--where'],
  ['--search|--query', '--name'],
  ['--fields', '--columns'],
  ['--set', '--field'],
  ['--no-trunc', '--no-truncate'],
  ['--no-header', '--no-headers'],
  ['--force', '--yes'],
  ['--url|--host|--server', '--base-url'],
  ['--context', '--profile'],
  ['--debug', '--verbose'],
  ['--silent', '--quiet'],
  ['--method', '-X'],
  ['--header', '-H'],
  ['--filename|-f', '--from'],
  ['--follow', ''],
];

/** Other words for a noun. */
const NOUNS: readonly (readonly [typed: string, meant: string])[] = [
  ['bicycle|bike|bikes', 'bicycles'],
  ['alert', 'alerts'],
  ['organization|organisations|org|orgs', 'organizations'],
  ['zone', 'zones'],
  ['model', 'models'],
  ['profiles|context|contexts', 'profile'],
];

const SHOW = 'view|show|describe|info|inspect|find|search|read|get';
const DO = 'act|action|do|run|transition';
const ANY_TRANSITION = TRANSITIONS.join('|');
const ANY_METHOD = [...METHODS, ...METHODS.map((method) => method.toLowerCase())].join('|');

/** Transitions by the state that they lead to. */
const STATES: readonly (readonly [word: string, transition: string])[] = [
  ['available|free', 'declare_available'],
  ['maintenance|in_maintenance|repair', 'put_in_maintenance'],
  ['lost|missing', 'declare_lost'],
  ['unrecoverable', 'declare_unrecoverable'],
  ['rented', 'rent'],
  ['reserved', 'reserve'],
  ['retired|scrap', 'retire'],
];

/**
 * The words in front of the flags, the noun first: `a|b` is one of these words, `X` any word, `U` a UUID or its beginning, `K` a field with its
 * value, `...` the rest, perhaps nothing, `X...` at least one; `$1` on the right is what the first of them was. The first that fits is meant.
 */
export const LINES: readonly (readonly [typed: string, meant: string])[] = [
  ['bicycles|alerts ls|all|index|query|get|list', '$1 list'],
  ['organizations|zones|models', '$1 list'],
  ['organizations|zones|models ls|get|all|show|view ...', '$1 list'],
  [`bicycles ${SHOW}|list U`, 'bicycles get $3'],
  [`bicycles list ${BICYCLE_STATES.join('|')}`, 'bicycles list --state $3'],
  ['bicycles list|find|search X', 'bicycles list --name $3'],
  [`bicycles ${SHOW} X`, 'bicycles get $3'],
  [`bicycles ${ANY_TRANSITION} X...`, 'bicycles act $3 $2'],
  [`bicycles ${DO} ${ANY_TRANSITION} X...`, 'bicycles act $4 $3'],
  ...STATES.map(([word, transition]) => [`bicycles ${DO} X ${word}`, `bicycles act $3 ${transition}`] as const),
  [`bicycles X ${ANY_TRANSITION}`, 'bicycles act $2 $3'],
  ['bicycles action|do|run|transition X...', 'bicycles act $3'],
  ['bicycles U', 'bicycles get $2'],
  ['bicycles delete|remove|rm|destroy X...', 'bicycles act $3 retire'],
  ['bicycles update|set|patch|edit|modify|change X K', 'bicycles edit $3 --field $4'],
  ['bicycles rename X X', 'bicycles edit $3 --name $4'],
  ['bicycles update|set|patch|put|rename|modify|change X...', 'bicycles edit $3'],
  ['bicycles import|apply X', 'bicycles create --from $3'],
  ['bicycles new|add|make|post|apply|import ...', 'bicycles create $3'],
  ['bicycles count', 'bicycles list --count'],
  ['bicycles export|dump', 'bicycles list --all -o csv'],
  ['bicycles log|logs|events|transitions|changes X', 'bicycles history $3'],
  ['bicycles watch|tail|follow|stream|listen|log|logs|events ...', 'watch $3'],
  ['bicycles wait X', 'watch --bicycle $3 --until state=available'],
  ['bicycles summary|top|report', 'bicycles stats'],
  ['bicycles act|create|edit|history|stats ...', 'bicycles $2 $3'],
  [`alerts ${ALERT_ACTIONS.join('|')} X...`, 'alerts act $3 $2'],
  ['alerts tail|follow|stream', 'alerts watch'],
  ['login|init|setup|configure ...', 'auth login $2'],
  ['logout', 'auth logout'],
  ['whoami|me', 'auth status'],
  ['token', 'auth token'],
  ['config view|show|ls', 'config list'],
  ['config get-contexts|current-context|profiles', 'profile list'],
  ['config use-context|use X', 'profile use $3'],
  ['config set url|address|host X', 'config set base_url $4'],
  ['profile ls|show', 'profile list'],
  ['profile switch|select|set X', 'profile use $3'],
  ['profile add|create|new X', 'auth login --profile $3'],
  ['profile sandbox|default|production|prod|staging|test', 'profile use $2'],
  ['use|switch X', 'profile use $2'],
  ['sql X', 'mirror query $2'],
  ['mirror start|sync|up', 'mirror run'],
  ['gbfs publish|feed|export|run ...', 'gbfs $3'],
  ['gbfs validate|check|status ...', 'gbfs --check $3'],
  ['gbfs serve X ...', 'gbfs --serve $3 $4'],
  ['upgrade|self-update', 'help install'],
  ['completion|completions', 'completion bash'],
  ['api GET|get X', 'api $3'],
  [`api ${ANY_METHOD} X`, 'api $3 -X $2'],
  ['curl|request|http X', 'api $2'],
  ['check|status|ping|diagnose', 'doctor'],
  ['live|board|dashboard', 'watch --live'],
  ['serve|server|mock|dev', 'sandbox'],
];

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
  const guess = [...guessWords(argv.slice(0, end)), ...guessFlags(argv.slice(end), isFlagOfCommand)];
  return guess.join('\0') === argv.join('\0') ? undefined : guess;
}

/** The words in front of the flags. A verb may stand before its noun, and one without a noun is of bicycles. */
function guessWords(words: readonly string[]): readonly string[] {
  const [first = '', second = '', ...rest] = words.map((word, at) =>
    at < 2 ? (meaningOf(word, NOUNS) ?? word) : word,
  );
  const isNoun = NOUNS.some(([, noun]) => noun === second);
  const inOrder = isNoun ? [second, first, ...rest] : [first, second, ...rest].slice(0, words.length);
  return firstMeaning(inOrder) ?? firstMeaning(['bicycles', ...words]) ?? inOrder;
}

function guessFlags(words: readonly string[], isFlagOfCommand: (word: string) => boolean): string[] {
  const flags: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const [, name = word, joined] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    const meant = isFlagOfCommand(word) ? undefined : meaningOf(name, FLAGS);
    if (meant === undefined) flags.push(word);
    else if (meant.includes('$'))
      flags.push(...meant.split(' ').map((part) => part.replace('$', () => joined ?? words[++at] ?? '')));
    else flags.push(...meant.split(' ').filter(Boolean), ...(joined === undefined ? [] : [joined]));
  }
  return flags;
}

function meaningOf(word: string, table: typeof NOUNS): string | undefined {
  return table.find(([typed]) => typed.split('|').includes(word))?.[1];
}

/** The meaning of the first pattern that fits. */
function firstMeaning(words: readonly string[]): string[] | undefined {
  for (const [typed, meant] of LINES) {
    const groups = match(typed, words);
    if (groups !== undefined)
      return meant.split(' ').flatMap((word) => (word.startsWith('$') ? (groups[Number(word[1]) - 1] ?? []) : word));
  }
  return undefined;
}

/** The words that a pattern matches; undefined where they do not fit. */
function match(typed: string, words: readonly string[]): string[][] | undefined {
  const groups: string[][] = [];
  let at = 0;
  for (const place of typed.split(' ')) {
    const isRest = place.endsWith('...');
    const taken = words.slice(at, isRest ? undefined : at + 1);
    const [word] = taken;
    if (word === undefined ? place !== '...' : !isRest && !fitsPlace(place, word)) return undefined;
    groups.push(taken);
    at += taken.length;
  }
  return at === words.length ? groups : undefined;
}

function fitsPlace(place: string, word: string): boolean {
  if (place === 'X') return true;
  if (place === 'K') return /^[\w.]+=/.test(word);
  if (place === 'U') return /^[0-9a-f]{4}[0-9a-f-]*$/i.test(word) && /\d/.test(word);
  return place.split('|').includes(word);
}

/** Whether the word is a transition of bicycles or an action on alerts. */
export function isAction(word: string | undefined): boolean {
  return [...TRANSITIONS, ...ALERT_ACTIONS].some((known) => known === word);
}

/** Words as a shell takes them. */
export function quoteLine(words: readonly string[]): string {
  return words.map((word) => quoteForShell(word)).join(' ');
}
