// What users of gh, kubectl, stripe and curl type, and the line of fleet that means the same: one table of words, shown as a hint, never run.

import { ALERT_ACTIONS } from '../api/alert.js';
import { TRANSITIONS } from '../api/bicycle.js';
import { METHODS } from '../http/methods.js';
import { quoteForShell } from '../shell-words.js';

/**
 * How other tools spell a flag, and how fleet does: `$` is the flag's value, which is looked at where the third text names some: words, `*.html` for what
 * ends so, `-*` for what begins so, `#` for a number, `@` for a name. The first that fits is meant; a flag that the typed command has itself is left alone unless a value is named.
 */
const FLAGS: readonly (readonly [typed: string, meant: string, values?: string])[] = [
  ['--sort|--sort-by|--order|--order-by', '--ordering=$', '-*'],
  ['--sort|--sort-by|--order|--order-by', '--ordering'],
  ['--limit|-n|-L|--max|--per-page|--page-size', '--all', 'all'],
  ['-l', '--limit', '#'],
  ['-n|-L|--max|--first|--take|--head|--per-page', '--limit'],
  ['-o|--output|--format', '-o xlsx --file fleet.xlsx', 'excel|xls|Excel'],
  ['-o|--output|--format|--export', '-o xlsx --file $', '*.xlsx'],
  ['-o|--output|--format|--export', '-o html --file $', '*.html|*.htm'],
  ['-o|--output|--format|--export', '-o svg --file $', '*.svg'],
  ['-o|--output|--format|--export', '-o csv --file $', '*.csv'],
  ['-o|--output|--format|--export', '-o json --file $', '*.json'],
  ['--dir|--folder|--out-dir|--output-dir', '--out'],
  ['--format|--out', '--output'],
  ['--csv|--export', '-o csv'],
  ['--tsv', '-o tsv'],
  ['--yaml', '-o yaml'],
  ['--geojson', '-o geojson'],
  ['--html', '-o html'],
  ['--svg', '-o svg'],
  ['--wide', '-o wide'],
  ['--open', '--serve'],
  ['--city|--area|--region', '--zone'],
  ['--near', '--zone $', '@'],
  ['--interval|--poll', '--every'],
  ['--user|--username', '--email'],
  ['--bikes', '--bicycles'],
  ['--battery|--charge-below|--battery-below|--max-charge', '--where charge<$', '#'],
  ['--battery|--low-battery|--low-charge', '--where charge<20'],
  ['--today', '--where created>-1d'],
  ['--days', '--where created>-$d', '#'],
  ['--desc|--descending|--reverse', '--ordering=-created'],
  ['--state', '--where state=$'],
  ['--since', '--where created>-$', '*s|*m|*h|*d'],
  ['--since', '--where created>$'],
  ['--follow|-f', ''],
  ['-l|--filter|--selector', '--where'],
  ['--status', '--state'],
  ['--search|--query', '--name'],
  ['--org', '--organization'],
  ['-A|-a|--all-pages', '--all'],
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
];

const BICYCLES = 'bicycles|bicycle|bikes|bike';
const ALERTS = 'alerts|alert';
const SHOW = 'view|show|describe|info|inspect|find|search|read';
const LIST = 'ls|all|index|query';
const DO = 'act|action|do|run|transition';
const NAMED = 'organizations|zones|models';

/** What `gbfs --set` takes, and people give as a flag. */
const GBFS_FACTS = ['system_id', 'name', 'language', 'timezone', 'opening_hours', 'operator', 'url', 'email'];

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
 * The words in front of the flags, or the whole line where there are flags in it: `a|b` is one of these words, `X` any word, `U` a UUID or its
 * beginning, `K` a field with its value, `...` the rest, perhaps nothing, `X...` at least one; `$1` on the right is what the first of them was. The first that fits is meant.
 */
const LINES: readonly (readonly [typed: string, meant: string])[] = [
  [`${BICYCLES} wait X --state|--for X`, 'watch --bicycle $3 --until state=$5'],
  [`${BICYCLES} history X --state X`, 'bicycles history $3 --field state'],
  [`${BICYCLES} history X --state`, 'bicycles history $3 --field state'],
  [`${BICYCLES} list|ls --watch|-w ...`, 'watch $4'],
  [`${BICYCLES} list|ls --open`, 'map --serve'],
  [
    `${BICYCLES}|${ALERTS} list|ls --sort|--sort-by|--order-by|--ordering X --desc|--reverse ...`,
    '$1 list --ordering=-$4 $6',
  ],
  [`get ${BICYCLES} --watch|-w ...`, 'watch $4'],
  [`${ALERTS} list|ls --watch|-w ...`, 'alerts watch $4'],
  ['watch --watch|-w ...', 'watch $3'],
  ['watch --since X ...', 'mirror replay --since $3 $4'],
  ['watch X --since X', 'mirror replay --since $4'],
  [`${BICYCLES} create|import -f|--filename X ...`, 'bicycles create --from $4 $5'],
  ['create|apply|import -f|--filename X ...', 'bicycles create --from $3 $4'],
  [`${BICYCLES} import X`, 'bicycles create --from $3'],
  ['import X', 'bicycles create --from $2'],
  [`get|list|ls ${BICYCLES}`, 'bicycles list'],
  [`get|list|ls ${ALERTS}`, 'alerts list'],
  ['ls', 'bicycles list'],
  [`get|${SHOW} ${BICYCLES} X`, 'bicycles get $3'],
  [`${BICYCLES} ${LIST}`, 'bicycles list'],
  [`${BICYCLES} get|list`, 'bicycles list'],
  [`${BICYCLES} ${SHOW} U`, 'bicycles get $3'],
  [`${BICYCLES} list U`, 'bicycles get $3'],
  [`${BICYCLES} list available|rented|reserved|in_maintenance|lost|unrecoverable|retired`, 'bicycles list --state $3'],
  [`${BICYCLES} list|find|search X`, 'bicycles list --name $3'],
  [`${BICYCLES} ${SHOW} X`, 'bicycles get $3'],
  [`${BICYCLES} ${TRANSITIONS.join('|')} X...`, 'bicycles act $3 $2'],
  [`${BICYCLES} ${DO} ${TRANSITIONS.join('|')} X...`, 'bicycles act $4 $3'],
  ...STATES.flatMap(([word, transition]) => [
    [`${BICYCLES} ${DO} X ${word}`, `bicycles act $3 ${transition}`] as const,
    [`${DO} X ${word}`, `bicycles act $2 ${transition}`] as const,
    [`${BICYCLES} U ${word}`, `bicycles act $2 ${transition}`] as const,
  ]),
  [`${BICYCLES} X ${TRANSITIONS.join('|')}`, 'bicycles act $2 $3'],
  [`${BICYCLES} U`, 'bicycles get $2'],
  [`${BICYCLES} action|do|run|transition X...`, 'bicycles act $3'],
  [`${TRANSITIONS.join('|')} X...`, 'bicycles act $2 $1'],
  ['act X...', 'bicycles act $2'],
  [`${BICYCLES} rename X X`, 'bicycles edit $3 --name $4'],
  [`${BICYCLES} wait X`, 'watch --bicycle $3 --until state=available'],
  ['wait X', 'watch --bicycle $2 --until state=available'],
  [`${BICYCLES} update|set|patch|put|rename|modify|change X...`, 'bicycles edit $3'],
  [`edit ${BICYCLES} X`, 'bicycles edit $3'],
  [`${BICYCLES} edit X K`, 'bicycles edit $3 --field $4'],
  ['update|edit X', 'bicycles edit $2'],
  ['update', 'bicycles edit --help'],
  [`${BICYCLES} new|add|make|post|import ...`, 'bicycles create $3'],
  [`create|new|add ${BICYCLES} ...`, 'bicycles create $3'],
  [`${BICYCLES} delete|remove|rm|destroy X...`, 'bicycles act $3 retire'],
  [`delete|remove|rm|destroy ${BICYCLES} X...`, 'bicycles act $3 retire'],
  ['delete|remove|rm|destroy X...', 'bicycles act $2 retire'],
  [`${BICYCLES} count`, 'bicycles list --count'],
  [`${BICYCLES} export|dump`, 'bicycles list --all -o csv'],
  ['export|dump', 'bicycles list --all -o csv'],
  [`${BICYCLES} watch|tail|follow|stream ...`, 'watch $3'],
  [`${BICYCLES} log|logs|events|transitions|changes X`, 'bicycles history $3'],
  ['history X', 'bicycles history $2'],
  [`${BICYCLES} summary|status|top|report`, 'bicycles stats'],
  ['tail|logs|log|events|follow|stream|listen ...', 'watch $2'],
  ['stats|top|summary|count', 'bicycles stats'],
  [`${NAMED} ls|get|all|show|view ...`, '$1 list'],
  ['orgs|organisations|org|organization', 'organizations list'],
  ['orgs|organisations|org|organization ls|list|get', 'organizations list'],
  ['zone', 'zones list'],
  ['zone ls|list|get ...', 'zones list'],
  ['profile|profiles add|create|new X', 'auth login --profile $3'],
  [`${ALERTS} ls|get`, 'alerts list'],
  [`${ALERTS} ${ALERT_ACTIONS.join('|')} X...`, 'alerts act $3 $2'],
  [`${ALERTS} ${ALERT_ACTIONS.join('|')}`, 'alerts act $2'],
  [`${ALERTS} ack|acknowledge|dismiss|delete X...`, 'alerts act --help'],
  [`${ALERTS} tail|follow|stream`, 'alerts watch'],
  ['login ...', 'auth login $2'],
  ['init|setup|configure', 'auth login'],
  ['logout', 'auth logout'],
  ['whoami|me', 'auth status'],
  ['auth refresh|renew', 'auth status'],
  ['token', 'auth token'],
  ['config view|show|ls', 'config list'],
  ['config set url|address|host X', 'config set base_url $4'],
  ['config use-context|use X', 'profile use $3'],
  ['profile switch|select|set X', 'profile use $3'],
  ['profile|profiles ls|show', 'profile list'],
  ['profile|profiles sandbox|default|production|prod|staging|test', 'profile use $2'],
  ['profiles', 'profile list'],
  ['use|switch X', 'profile use $2'],
  ['config get-contexts|current-context|profiles', 'profile list'],
  ['context|contexts use|switch X', 'profile use $3'],
  ['sql X', 'mirror query $2'],
  ['sql', 'mirror query --help'],
  ['mirror sql', 'mirror query --help'],
  ['mirror start|sync|up', 'mirror run'],
  ['gbfs --gbfs-version X ...', 'gbfs --version $3 $4'],
  ...GBFS_FACTS.map((name) => [`gbfs --${name.replaceAll('_', '-')} X ...`, `gbfs --set ${name}=$3 $4`] as const),
  ['gbfs -o|--output X ...', 'gbfs --out $3 $4'],
  ['gbfs publish|feed|export|run ...', 'gbfs $3'],
  ['gbfs validate|check|status ...', 'gbfs --check $3'],
  ['gbfs serve X ...', 'gbfs --serve $3 $4'],
  ['journal list|ls', 'journal show --help'],
  ['upgrade|self-update', 'help install'],
  ['completion|completions', 'completion bash'],
  ['api GET|get X', 'api $3'],
  [`api ${[...METHODS, ...METHODS.map((method) => method.toLowerCase())].join('|')} X`, 'api $3 -X $2'],
  ['curl|request|http X', 'api $2'],
  ['check|status|ping|diagnose', 'doctor'],
  ['live|board|dashboard', 'watch --live'],
  ['serve|server|mock|dev', 'sandbox'],
];

/** What has no counterpart in fleet, and why: the words that begin the line, or a flag anywhere in it. */
const NOTES: readonly (readonly [typed: RegExp, why: string])[] = [
  [
    / --(?:token|jwt|access-token|api-key)[= ]/,
    'the token is never a flag, as other users could read it in the list of processes: use "fleet auth login", or set FLEET_TOKEN',
  ],
  [
    /^ mirror (?:stop|down) /,
    'a mirror is stopped where it runs: Ctrl-C, or "systemctl stop" for a unit; "fleet mirror status" says whether one runs',
  ],
  [/^ sandbox (?:stop|down) /, 'the sandbox is stopped where it runs: Ctrl-C'],
  [/^ watch .*--(?:interval|poll)[= ]/, 'watch needs no interval: it prints changes as the service sends them'],
  [/^ alerts? list .*--severity[= ]/, 'alerts have no severity: use --type, or --state'],
  [
    /^ (?:bicycles?|bikes?) edit \S+\.(?:xlsx|csv|tsv|jsonl?) /,
    'edit reads a file, a workbook too, from stdin: fleet bicycles edit - < FILE',
  ],
  [/^ doctor .*--fix /, 'doctor changes nothing: it says with each finding what to do'],
];

/** The hint for what fleet has on no line at all; undefined where there is none. */
export function noteOn(argv: readonly string[]): string | undefined {
  const line = ` ${argv.join(' ')} `;
  return NOTES.find(([typed]) => typed.test(line))?.[1];
}

/**
 * The line that was probably meant, as words behind `fleet`; undefined where nothing is known of the one that was typed. A flag that the
 * typed command has itself is left alone.
 */
export function guessLine(
  argv: readonly string[],
  isFlagOfCommand: (word: string) => boolean = () => false,
): string[] | undefined {
  const guess = wholeLine(argv) ?? meaningInParts(argv, isFlagOfCommand);
  return guess.join('\0') === argv.join('\0') ? undefined : guess;
}

/** A line with its flags. */
function wholeLine(argv: readonly string[]): string[] | undefined {
  return firstMeaning(
    LINES.filter(([typed]) => typed.includes(' -')),
    argv,
  );
}

/** The words in front of the flags, then each flag by itself. */
function meaningInParts(argv: readonly string[], isFlagOfCommand: (word: string) => boolean): string[] {
  const first = argv.findIndex((word) => word.startsWith('-') && word !== '-');
  const end = first === -1 ? argv.length : first;
  const words = argv.slice(0, end);
  const flags: string[] = [];
  for (let at = end; at < argv.length; at++) {
    const word = argv[at] ?? '';
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    const name = equals === -1 ? word : word.slice(0, equals);
    const value = equals === -1 ? argv[at + 1] : word.slice(equals + 1);
    const row = flagFor(name, value, isFlagOfCommand(word));
    const { meant } = row;
    if (meant === undefined) flags.push(word);
    else if (meant.includes('$')) {
      flags.push(...meant.split(' ').map((part) => part.replace('$', () => value ?? '')));
      if (equals === -1) at += 1;
    } else {
      const [own = '', ...more] = meant.split(' ').filter(Boolean);
      const takesValue = more.length === 0 && equals !== -1;
      if (own !== '') flags.push(takesValue ? `${own}=${value}` : own, ...more);
      // The value was named in the table, and is part of the pattern.
      if (row.values !== undefined && row.values !== '#' && equals === -1) at += 1;
    }
  }
  return [...(firstMeaning(LINES, words) ?? words), ...flags];
}

function flagFor(name: string, value: string | undefined, isOwn: boolean): { meant?: string; values?: string } {
  const fits = ([typed, meant, values]: (typeof FLAGS)[number]) =>
    typed.split('|').includes(name) &&
    (values === undefined || isOneOf(value, values)) &&
    // A flag of the command's own is typed wrong only where its value is; a time is a good value of --since.
    !(isOwn && (values === undefined || meant.startsWith('--where')));
  const [, meant, values] = FLAGS.find(fits) ?? [];
  return { ...(meant === undefined ? {} : { meant }), ...(values === undefined ? {} : { values }) };
}

function isOneOf(value: string | undefined, values: string): boolean {
  if (value === undefined) return false;
  return values.split('|').some((one) => {
    if (one === '#') return Number.isInteger(Number(value));
    if (one === '@') return /^[a-z]/i.test(value);
    if (one.startsWith('*')) return value.endsWith(one.slice(1));
    return one.endsWith('*') ? value.startsWith(one.slice(0, -1)) : one === value;
  });
}

/** The meaning of the first pattern that fits. */
function firstMeaning(lines: typeof LINES, words: readonly string[]): string[] | undefined {
  for (const [typed, meant] of lines) {
    const groups = match(typed, words);
    if (groups === undefined) continue;
    const fill = (word: string) => word.replace(/\$(\d)$/, (_, number) => groups[number - 1]?.join(' ') ?? '');
    return meant
      .split(' ')
      .flatMap((word) => (word.startsWith('$') ? (groups[Number(word[1]) - 1] ?? []) : fill(word)));
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
