// What users of gh, kubectl, stripe and curl type, and the line of fleet that means the same: shown as a hint, never run.

import { ALERT_ACTIONS } from '../api/alert.js';
import { TRANSITIONS } from '../api/bicycle.js';
import { METHODS } from '../http/methods.js';

/** How other tools spell a flag, and how fleet does. */
const FLAGS: { readonly [typed: string]: readonly string[] } = {
  '--sort': ['--ordering'],
  '--sort-by': ['--ordering'],
  '--order': ['--ordering'],
  '--order-by': ['--ordering'],
  '-n': ['--limit'],
  '-L': ['--limit'],
  '--max': ['--limit'],
  '--first': ['--limit'],
  '--take': ['--limit'],
  '--head': ['--limit'],
  '--per-page': ['--limit'],
  '--page-size': ['--limit'],
  '--format': ['--output'],
  '--out': ['--output'],
  '--csv': ['-o', 'csv'],
  '--tsv': ['-o', 'tsv'],
  '--yaml': ['-o', 'yaml'],
  '--geojson': ['-o', 'geojson'],
  '--filter': ['--where'],
  '--selector': ['--where'],
  '-l': ['--where'],
  '--status': ['--state'],
  '--search': ['--name'],
  '--query': ['--name'],
  '--org': ['--organization'],
  '-A': ['--all'],
  '--all-pages': ['--all'],
  '--fields': ['--columns'],
  '--wide': ['-o', 'wide'],
  '--no-trunc': ['--no-truncate'],
  '--no-header': ['--no-headers'],
  '--force': ['--yes'],
  '--url': ['--base-url'],
  '--host': ['--base-url'],
  '--server': ['--base-url'],
  '--context': ['--profile'],
  '--debug': ['--verbose'],
  '--silent': ['--quiet'],
  '--dry': ['--dry-run'],
  '--dryrun': ['--dry-run'],
  '--method': ['-X'],
  '--header': ['-H'],
};

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
  [`api ${[...METHODS, ...METHODS.map((method) => method.toLowerCase())].join('|')} X`, 'api $3 -X $2'],
  ['curl|request|http X', 'api $2'],
  ['check|status|ping|diagnose', 'doctor'],
  ['man|docs|manual ...', 'help $2'],
  ['serve|server|mock|dev', 'sandbox'],
];

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
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    const name = equals === -1 ? word : word.slice(0, equals);
    const isForeign = Object.hasOwn(FLAGS, name) && !isFlagOfCommand(word);
    const [flag = name, ...values] = isForeign ? flagsFor(name, argv[index + 1]) : [];
    return [equals === -1 ? flag : `${flag}${word.slice(equals)}`, ...values];
  });
  const end = flagged.findIndex((word) => word.startsWith('-') && word !== '-');
  const words = end === -1 ? flagged : flagged.slice(0, end);
  const flags = end === -1 ? [] : flagged.slice(end);
  const meant = LINES.map(([typed, line]) => substitute(words, typed.split(' '), line)).find(
    (line) => line !== undefined,
  );
  const guess = [...withoutDefault(meant ?? words), ...flags];
  return guess.join('\0') === argv.join('\0') ? undefined : guess;
}

/** What a flag of another tool is here: `-l` selects with a condition, and limits with a number. */
function flagsFor(name: string, next = ''): readonly string[] {
  return name === '-l' && /^\d+$/.test(next) ? ['--limit'] : (FLAGS[name] ?? []);
}

function substitute(words: readonly string[], typed: readonly string[], meant: string): string[] | undefined {
  const taken: string[][] = [];
  for (const [index, pattern] of typed.entries()) {
    if (pattern === '...' || pattern === 'X...') {
      const rest = words.slice(index);
      if (pattern === 'X...' && rest.length === 0) return undefined;
      taken.push(rest);
      return fill(meant, taken);
    }
    const word = words[index];
    if (word === undefined || (pattern !== 'X' && !pattern.split('|').includes(word))) return undefined;
    taken.push([word]);
  }
  return words.length === typed.length ? fill(meant, taken) : undefined;
}

function fill(meant: string, taken: readonly (readonly string[])[]): string[] {
  return meant.split(' ').flatMap((word) => (word.startsWith('$') ? (taken[Number(word.slice(1)) - 1] ?? []) : [word]));
}

/** `-X GET` says what is so anyway. */
function withoutDefault(words: readonly string[]): string[] {
  return / -X GET$/i.test(words.join(' ')) ? words.slice(0, -2) : [...words];
}

/** Whether the word is a transition of bicycles or an action on alerts. */
export function isAction(word: string | undefined): boolean {
  return [...TRANSITIONS, ...ALERT_ACTIONS].some((known) => known === word);
}

/** Words as a shell takes them. */
export function quoteLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}
