// What users of gh, kubectl, stripe and curl type, and the line of fleet that means the same: shown as a hint, never run.

import { ALERT_ACTIONS } from '../api/alert.js';
import { TRANSITIONS } from '../api/bicycle.js';
import { METHODS } from '../http/methods.js';

/** How other tools spell a flag, and how fleet does. */
const FLAGS: readonly (readonly [typed: string, meant: string])[] = [
  ['--sort|--sort-by|--order|--order-by', '--ordering'],
  ['-n|-L|--max|--first|--take|--head|--per-page', '--limit'],
  ['--format|--out', '--output'],
  ['--csv', '-o csv'],
  ['--tsv', '-o tsv'],
  ['--yaml', '-o yaml'],
  ['--geojson', '-o geojson'],
  ['--wide', '-o wide'],
  ['-l|--filter|--selector', '--where'],
  ['--status', '--state'],
  ['--search|--query', '--name'],
  ['--org', '--organization'],
  ['-A|--all-pages', '--all'],
  ['--fields', '--columns'],
  ['--no-trunc', '--no-truncate'],
  ['--no-header', '--no-headers'],
  ['--force', '--yes'],
  ['--url|--host|--server', '--base-url'],
  ['--context', '--profile'],
  ['--debug', '--verbose'],
  ['--silent', '--quiet'],
  ['--dry|--dryrun', '--dry-run'],
  ['--method', '-X'],
  ['--header', '-H'],
];

const BICYCLES = 'bicycles|bicycle|bikes|bike';
const ALERTS = 'alerts|alert';
const SHOW = 'view|show|describe|info|inspect|find|search|read';
const LIST = 'ls|all|index|query';

/**
 * The words in front of the flags: `a|b` is one of these words, `X` any word, `...` the rest, perhaps nothing, `X...` at least one;
 * `$1` on the right is what the first of them was. The first that fits is meant.
 */
const LINES: readonly (readonly [typed: string, meant: string])[] = [
  [`get|list|ls ${BICYCLES}`, 'bicycles list'],
  [`get|list|ls ${ALERTS}`, 'alerts list'],
  [`get|${SHOW} ${BICYCLES} X`, 'bicycles get $3'],
  [`${BICYCLES} ${LIST}`, 'bicycles list'],
  [`${BICYCLES} get|list`, 'bicycles list'],
  [`${BICYCLES} ${SHOW} X`, 'bicycles get $3'],
  [`${BICYCLES} list X`, 'bicycles get $3'],
  [`${BICYCLES} ${TRANSITIONS.join('|')} X...`, 'bicycles act $3 $2'],
  [`${BICYCLES} act|action|do|run|transition ${TRANSITIONS.join('|')} X...`, 'bicycles act $4 $3'],
  [`${BICYCLES} action|do|run|transition X...`, 'bicycles act $3'],
  [`${TRANSITIONS.join('|')} X...`, 'bicycles act $2 $1'],
  [`act X...`, 'bicycles act $2'],
  [`${BICYCLES} rename X X`, 'bicycles edit $3 --name $4'],
  [`${BICYCLES} wait X`, 'watch --bicycle $3 --until state=available'],
  [`wait X`, 'watch --bicycle $2 --until state=available'],
  [`${BICYCLES} update|set|patch|put|rename|modify|change X...`, 'bicycles edit $3'],
  [`edit ${BICYCLES} X`, 'bicycles edit $3'],
  [`${BICYCLES} new|add|make|post|import ...`, 'bicycles create $3'],
  [`create|new|add ${BICYCLES} ...`, 'bicycles create $3'],
  // What comes near to a deletion has no way back: the page says which there are.
  [`${BICYCLES} delete|remove|rm|destroy X...`, 'bicycles act --help'],
  [`${BICYCLES} count`, 'bicycles list --count'],
  [`${BICYCLES} export|dump`, 'bicycles list --all -o csv'],
  [`${BICYCLES} watch|tail|follow|stream ...`, 'watch $3'],
  [`${BICYCLES} log|logs|events|transitions X`, 'watch --bicycle $3'],
  [`${BICYCLES} summary|status|top|report`, 'bicycles stats'],
  [`tail|logs|log|events|follow|stream|listen ...`, 'watch $2'],
  [`stats|top|summary|count`, 'bicycles stats'],
  [`${ALERTS} ls|get`, 'alerts list'],
  [`${ALERTS} ${ALERT_ACTIONS.join('|')} X...`, 'alerts act $3 $2'],
  [`${ALERTS} ${ALERT_ACTIONS.join('|')}`, 'alerts act $2'],
  [`${ALERTS} close X...`, 'alerts act $3 resolve'],
  [`${ALERTS} ack|acknowledge|dismiss|delete X...`, 'alerts act --help'],
  [`${ALERTS} tail|follow|stream`, 'alerts watch'],
  ['login ...', 'auth login $2'],
  ['logout', 'auth logout'],
  ['whoami|me', 'auth status'],
  ['auth whoami|show', 'auth status'],
  ['token', 'auth token'],
  ['config view|show|ls', 'config list'],
  ['config use-context|use X', 'profile use $3'],
  ['profile switch|select|set X', 'profile use $3'],
  ['profile|profiles ls|show', 'profile list'],
  ['profiles', 'profile list'],
  ['use|switch X', 'profile use $2'],
  ['contexts', 'profile list'],
  ['api GET|get X', 'api $3'],
  [`api ${[...METHODS, ...METHODS.map((method) => method.toLowerCase())].join('|')} X`, 'api $3 -X $2'],
  ['curl|request|http X', 'api $2'],
  ['check|status|ping|diagnose', 'doctor'],
  ['man|docs|manual ...', 'help $2'],
  ['serve|server|mock|dev', 'sandbox'],
];

/** The words that a place stands for, each behind a NUL; a group, for `$1` and so on. */
const PLACES: { readonly [place: string]: string } = { X: '\0([^\0]+)', 'X...': '\0(.+)', '...': '(?:\0(.*))?' };

/** A flag with the value that it must never have. */
const TOKEN_FLAG = /^--(?:token|jwt|access-token|api-key)(?:=|$)/;

/** What to do instead of giving the token as a flag; undefined where nobody did. */
export function tokenHint(argv: readonly string[]): string | undefined {
  return argv.some((word) => TOKEN_FLAG.test(word))
    ? 'the token is never a flag, as other users could read it in the list of processes: use "fleet auth login", or set FLEET_TOKEN'
    : undefined;
}

/**
 * The line that was probably meant, as words behind `fleet`; undefined where nothing is known of the one that was typed. A flag that the
 * typed command has itself is left alone.
 */
export function guessLine(
  argv: readonly string[],
  isFlagOfCommand: (word: string) => boolean = () => false,
): string[] | undefined {
  const flagged = argv.flatMap((word, index) => {
    const [, name, value] = /^(--[^=]*)(=[\s\S]*)$/.exec(word) ?? [word, word, ''];
    const [flag = name, ...values] = isFlagOfCommand(word) ? [] : flagsFor(name, argv[index + 1]);
    return [flag + value, ...values];
  });
  const end = flagged.findIndex((word) => word.startsWith('-') && word !== '-');
  const words = end === -1 ? flagged : flagged.slice(0, end);
  const flags = end === -1 ? [] : flagged.slice(end);
  const guess = [...meaningOf(words), ...flags];
  return guess.join('\0') === argv.join('\0') ? undefined : guess;
}

/** What a flag of another tool is here: `-l` selects with a condition, and limits with a number. */
function flagsFor(name: string, next = ''): readonly string[] {
  if (name === '-l' && /^\d+$/.test(next)) return ['--limit'];
  return FLAGS.find(([typed]) => typed.split('|').includes(name))?.[1].split(' ') ?? [];
}

/** What the words mean; they themselves where nothing is known of them. */
function meaningOf(words: readonly string[]): readonly string[] {
  const line = words.map((word) => `\0${word}`).join('');
  for (const [typed, meant] of LINES) {
    const places = typed.split(' ').map((place) => PLACES[place] ?? `\0(${place})`);
    const pattern = new RegExp(`^${places.join('')}$`, 's');
    if (pattern.test(line)) return line.replace(pattern, meant.replaceAll(' ', '\0')).split('\0').filter(Boolean);
  }
  return words;
}

/** Whether the word is a transition of bicycles or an action on alerts. */
export function isAction(word: string | undefined): boolean {
  return [...TRANSITIONS, ...ALERT_ACTIONS].some((known) => known === word);
}

/** Words as a shell takes them. */
export function quoteLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}
