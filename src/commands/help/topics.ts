// The pages of `fleet help` about what belongs to no single command.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { embolden, fit, helpWidth, showPairs } from '../../cli/help.js';
import type { Context } from '../../context.js';
import { type ErrorKind, EXIT_CODES } from '../../errors.js';
import { KEY_NAMES, KEYS } from '../../settings/keys.js';
import { FORMATS, type Format } from '../../terminal/formats.js';
import { GBFS } from './gbfs.js';
import { MIRROR, MIRRORING } from './mirror.js';
import type { Topic } from './names.js';

export async function showTopic({ io, notice }: Context, topic: Topic, program: Command): Promise<void> {
  const screen = { width: io.stdout.width(), hasColors: io.stdout.colorLevel > 0 };
  const page = topicText(topic, program);
  const text = screen.hasColors ? page.replace(/^\S.*:$/gm, embolden) : page;
  await io.startPager(notice);
  await io.stdout.write(fit(text, helpWidth(screen)));
}

/** The page as a page of `--help` is written: paragraphs of one line, and lists below a heading; wider than any screen. */
export function topicText(topic: Topic, program: Command): string {
  return PAGES[topic](program).trimStart();
}

const PAGES: { readonly [Name in Topic]: (program: Command) => string } = {
  'exit-codes': describeExitCodes,
  environment: describeEnvironment,
  output: describeOutput,
  'push-topics': () => PUSH_TOPICS,
  conditions: () => CONDITIONS,
  mirror: () => MIRROR,
  mirroring: () => MIRRORING,
  gbfs: () => GBFS,
  flags: describeFlags,
};

const CODE_MEANINGS: { readonly [Kind in ErrorKind]: string } = {
  internal: 'a bug in fleet',
  usage: 'bad flag, argument or input file; nothing was sent',
  config: 'no token, no address, an address that is not allowed, unreadable settings',
  auth: 'HTTP 401 or 403: the token is refused, or its role may not do this',
  'not-found': 'HTTP 404 or 410',
  rejected: 'any other 4xx: validation, a transition that is not allowed, a conflict',
  service: 'HTTP 429 or 5xx after the retries, or an answer that is not what the interface says',
  network: 'DNS, connection refused or reset, TLS, timeout',
  partial: 'part of a bulk run failed, a list stayed incomplete, or the service ignored part of an edit',
  output: 'stdout could not be written (disk full), or its reader stopped reading',
  timeout: 'fleet watch: --until was not met in time',
  hangup: 'SIGHUP: the terminal was closed',
  interrupted: 'Ctrl-C',
  terminated: 'SIGTERM',
};

function describeExitCodes(): string {
  const kinds = Object.entries(EXIT_CODES) as [ErrorKind, number][];
  const done = ['0   done', 'success'] as const;
  return `
Each kind of failure has an exit code of its own. With --json the error on stderr names the kind.

Exit codes:
${showPairs([done, ...kinds.map(([kind, code]) => [`${String(code).padEnd(3)} ${kind}`, CODE_MEANINGS[kind]] as const)])}

Examples:
  # wait five seconds for a lost bicycle; 124 when there was none
  fleet watch --until state=lost --for 5s || echo "exit code $?"
  # print the kind of error
  fleet bicycles list --zone nowhere --json 2>&1 | jq -r .error.kind
`;
}

function describeEnvironment(): string {
  const settings = showPairs([
    ...KEY_NAMES.map((name) => KEYS[name]).flatMap(({ variable, summary }) =>
      variable === undefined ? [] : [[variable, summary] as const],
    ),
    ['FLEET_PROFILE', 'profile to use'],
    ['FLEET_CONFIG_DIR', 'folder of the settings, an absolute path'],
  ]);
  return `
A setting comes from the first of: flag, environment variable, profile, default. "fleet config list" shows each value and where it came from. An empty variable counts as not set.

The token, first one wins:
  FLEET_TOKEN          the token itself
  FLEET_TOKEN_FILE     path of a file that holds it
  FLEET_TOKEN_COMMAND  shell command that prints it; run again when the token is about to expire

Settings:
${settings}

Also used:
  HTTPS_PROXY                 proxy for https; also HTTP_PROXY, and NO_PROXY names hosts to reach directly
  NODE_EXTRA_CA_CERTS         file with the certificates of a private certificate authority
  NO_COLOR                    no colours; FORCE_COLOR turns them on
  COLUMNS                     width of the terminal
  FLEET_PAGER, PAGER          program that shows long results on a terminal, such as "less"; "cat" or an empty FLEET_PAGER turns it off
  NODE_DISABLE_COMPILE_CACHE  keep no compiled code in the cache folder (Node 22.8 and later)

Examples:
  # override settings for one command
  FLEET_PROFILE=sandbox FLEET_OUTPUT=csv fleet bicycles list
  # show where each value comes from
  fleet config list
`;
}

const FORMAT_MEANINGS: { readonly [Name in Format]: string } = {
  table: 'for people; a pipe gets the same columns uncut, without colour, with times in ISO 8601',
  json: 'one array for a list, one object for a single result; every field as sent',
  jsonl: 'the same, one object per line',
  csv: 'header and values, quoted as in RFC 4180',
  tsv: 'the same, with tabs',
  yaml: 'every field',
  geojson: 'a FeatureCollection of points, longitude first',
  uuid: 'UUIDs only, one per line',
  xlsx: 'a workbook with types, widths and a frozen header; with --file PATH',
};

/** Every format; `wide` is the table of one run, and no setting. */
function describeOutput(): string {
  const [table, ...others] = FORMATS;
  const pairOf = (format: Format) => [format, FORMAT_MEANINGS[format]] as const;
  const formats = showPairs([
    pairOf(table),
    ['wide', 'the table with every column and whole values, wider than the screen if needed'],
    ...others.map(pairOf),
    ['svg, html', 'a picture and a page for the browser; "fleet map" alone'],
  ]);
  return `
stdout has only the result. Progress, hints, notices and errors go to stderr, with --json as one JSON object per line; --quiet prints errors only.

Formats (-o, --output):
${formats}

--columns chooses fields for table, csv and tsv; dotted paths read nested fields. --no-truncate keeps values whole in the columns that fit, --no-headers leaves out the header. --jq filters the JSON and prints strings raw. Control characters from the service never reach the terminal.

Examples:
  # three columns of all bicycles, for a spreadsheet
  fleet bicycles list --all -o csv --columns uuid,name,state_of_charge
  # where alerts were raised
  fleet alerts list --columns alert_type,extra.location
  # for a geographic tool
  fleet bicycles list --all -o geojson > fleet.geojson
`;
}

/** The organization and the bicycle are of the sandbox, so that the examples can be pasted. */
const PUSH_TOPICS = `
The push channel sends updates by topic. "fleet watch" builds the topic from an organization or --bicycle; --topic takes any topic, not encoded.

Topics:
  /ORGANIZATION/admin/bicycles/*      updates of all bicycles in the organization
  /ORGANIZATION/admin/bicycles/UUID/  updates of one bicycle

A service may have these topics for the roles fleet_operator and mechanic too. fleet takes the role that the token names, admin first, and after a 403 tries the others; -v says which one, and --role chooses.

Senders (--sender):
  bicycle                an updated bicycle
  bicycle_leaving_state  the state that a bicycle leaves
  alert, task, feedback  the updated resource; which topics carry them is not documented

Examples:
  # follow the whole fleet for ten seconds
  fleet watch --for 10s
  # follow one bicycle until it is available, for a minute at most
  fleet watch --bicycle 14c6d2ad-7236-46f1-b76f-6d356b2105d2 --until state=available --for 60s
  # any topic
  fleet watch --topic '/a087eaf3-00b3-49c9-8706-c4ebfb2627fd/admin/bicycles/*' --for 5s --json
`;

const CONDITIONS = `
A condition is FIELD OPERATOR VALUE. --where shows only what matches; --until ends a watch at the first match. Several conditions must all match. fleet applies them itself, to what the service sends.

Operators:
  = !=          equal, not equal; a missing or null field differs from every value
  =null !=null  missing or null, or not; quote the text itself: note="null"
  < <= > >=     numbers as numbers, times as times
  ~             contains, ignoring case; "FIELD~" matches every field with a value

Fields and values:
  extra.location.type   a dotted path reads a nested field
  -90s -30m -2h -1d     an age: latest_gps_timestamp<-2h is older than two hours
  2026-03-01T12:00:00Z  a time in ISO 8601
  a list                matches when any element does

Quote conditions with < or >, which shells read as redirections.

Examples:
  # low batteries
  fleet bicycles list --all --where 'state_of_charge<20'
  # silent for a day, and not retired
  fleet bicycles list --all --where 'latest_gps_timestamp<-1d' --where state!=retired
  # alerts of a bicycle by name
  fleet alerts list --where extra.bicycle_name~emmy
`;

function describeFlags(program: Command): string {
  return `
Every command takes these flags, before or after its name. The token is never a flag: it would show in the process list and the shell history.

Flags of every command:
${showPairs(program.options.map(({ flags, description }) => [flags, description]))}

Examples:
  # flags may come first
  fleet --json bicycles list --limit 3 --retries 0
  # show requests and responses
  fleet alerts list --trace --verbose
`;
}
