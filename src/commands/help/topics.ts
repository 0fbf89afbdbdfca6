// The pages of `fleet help` about what belongs to no single command.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import type { Example } from '../../cli/examples.js';
import { embolden, fit, helpWidth, wrap } from '../../cli/help.js';
import type { Context } from '../../context.js';
import { type ErrorKind, EXIT_CODES } from '../../errors.js';
import { KEY_NAMES, KEYS } from '../../settings/keys.js';
import { FORMATS, type Format } from '../../terminal/formats.js';
import { describeMirror } from './mirror.js';
import type { Topic } from './names.js';

/** A heading with lines below it: text that is wrapped, or pairs of a term and what it means. */
export interface Section {
  heading?: string;
  text?: string;
  pairs?: readonly (readonly [term: string, meaning: string])[];
  /** Command lines to paste, with what each is for. */
  examples?: readonly Example[];
}

export async function showTopic({ io }: Context, topic: Topic, program: Command): Promise<void> {
  const screen = { width: io.stdout.width(), hasColors: io.stdout.colorLevel > 0 };
  const paint = screen.hasColors ? embolden : (heading: string) => heading;
  const sections = PAGES[topic](program);
  await io.stdout.write(sections.map((section) => draw(section, helpWidth(screen), paint)).join('\n'));
}

export const PAGES: { readonly [Name in Topic]: (program: Command) => Section[] } = {
  'exit-codes': describeExitCodes,
  environment: describeEnvironment,
  output: describeOutput,
  'push-topics': describePushTopics,
  conditions: describeConditions,
  mirror: describeMirror,
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
  partial: 'part of a bulk run failed, or a list stayed incomplete',
  output: 'stdout could not be written (disk full), or its reader stopped reading',
  timeout: 'fleet watch: --until was not met in time',
  hangup: 'SIGHUP: the terminal was closed',
  interrupted: 'Ctrl-C',
  terminated: 'SIGTERM',
};

function describeExitCodes(): Section[] {
  const kinds = Object.keys(EXIT_CODES) as ErrorKind[];
  return [
    { text: 'Each kind of failure has an exit code of its own. With --json the error on stderr names the kind.' },
    {
      heading: 'Code Kind:',
      pairs: [
        ['0   done', 'success'] as const,
        ...kinds.map((kind) => [`${String(EXIT_CODES[kind]).padEnd(3)} ${kind}`, CODE_MEANINGS[kind]] as const),
      ],
    },
    {
      heading: 'Examples:',
      examples: [
        ['wait five seconds for a lost bicycle; 124 when there was none', WAIT_EXAMPLE],
        ['print the kind of error', `fleet bicycles list --zone nowhere --json 2>&1 | jq -r .error.kind`],
      ],
    },
  ];
}

const WAIT_EXAMPLE = 'fleet watch --until state=lost --for 5s || echo "exit code $?"';

function describeEnvironment(): Section[] {
  const settings = KEY_NAMES.flatMap((name) => {
    const { variable, summary } = KEYS[name];
    return variable === undefined ? [] : [[variable, summary] as const];
  });
  return [
    {
      text: 'A setting comes from the first of: flag, environment variable, profile, default. "fleet config list" shows each value and where it came from. An empty variable counts as not set.',
    },
    {
      heading: 'The token, first one wins:',
      pairs: [
        ['FLEET_TOKEN', 'the token itself'],
        ['FLEET_TOKEN_FILE', 'path of a file that holds it'],
        ['FLEET_TOKEN_COMMAND', 'shell command that prints it; run again when the token is about to expire'],
      ],
    },
    {
      heading: 'Settings:',
      pairs: [
        ...settings,
        ['FLEET_PROFILE', 'profile to use'],
        ['FLEET_CONFIG_DIR', 'folder of the settings, an absolute path'],
      ],
    },
    {
      heading: 'Also used:',
      pairs: [
        ['HTTPS_PROXY', 'proxy for https; also HTTP_PROXY, and NO_PROXY names hosts to reach directly'],
        ['NODE_EXTRA_CA_CERTS', 'file with the certificates of a private certificate authority'],
        ['NO_COLOR', 'no colours; FORCE_COLOR turns them on'],
        ['COLUMNS', 'width of the terminal'],
        ['NODE_DISABLE_COMPILE_CACHE', 'keep no compiled code in the cache folder (Node 22.8 and later)'],
      ],
    },
    {
      heading: 'Examples:',
      examples: [
        ['override settings for one command', 'FLEET_PROFILE=sandbox FLEET_OUTPUT=csv fleet bicycles list'],
        ['show where each value comes from', 'fleet config list'],
      ],
    },
  ];
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
};

function describeOutput(): Section[] {
  return [
    {
      text: 'stdout has only the result. Progress, hints, notices and errors go to stderr, with --json as one JSON object per line; --quiet prints errors only.',
    },
    { heading: 'Formats (-o, --output):', pairs: describeFormats() },
    {
      text: '--columns chooses fields for table, csv and tsv; dotted paths read nested fields. --no-truncate keeps values whole in the columns that fit, --no-headers leaves out the header. --jq filters the JSON and prints strings raw. Control characters from the service never reach the terminal.',
    },
    {
      heading: 'Examples:',
      examples: [
        [
          'three columns of all bicycles, for a spreadsheet',
          'fleet bicycles list --all -o csv --columns uuid,name,state_of_charge',
        ],
        ['where alerts were raised', 'fleet alerts list --columns alert_type,extra.location'],
        ['for a geographic tool', 'fleet bicycles list --all -o geojson > fleet.geojson'],
      ],
    },
  ];
}

/** Every format; `wide` is the table of one run, and no setting. */
function describeFormats(): (readonly [string, string])[] {
  const [table, ...others] = FORMATS.map((format) => [format, FORMAT_MEANINGS[format]] as const);
  const wide = ['wide', 'the table with every column and whole values, wider than the screen if needed'] as const;
  const pictures = ['svg, html', 'a picture and a page for the browser; "fleet map" alone'] as const;
  return [...(table === undefined ? [] : [table]), wide, ...others, pictures];
}

/** The main organization of the sandbox, and a bicycle of it, so that the examples can be pasted. */
const ORGANIZATION = 'a087eaf3-00b3-49c9-8706-c4ebfb2627fd';
const BICYCLE = '14c6d2ad-7236-46f1-b76f-6d356b2105d2';

function describePushTopics(): Section[] {
  return [
    {
      text: 'The push channel sends updates by topic. "fleet watch" builds the topic from an organization or --bicycle; --topic takes any topic, not encoded.',
    },
    {
      heading: 'Topics:',
      pairs: [
        ['/ORGANIZATION/admin/bicycles/*', 'updates of all bicycles in the organization'],
        ['/ORGANIZATION/admin/bicycles/UUID/', 'updates of one bicycle'],
      ],
    },
    {
      heading: 'Senders (--sender):',
      pairs: [
        ['bicycle', 'an updated bicycle'],
        ['bicycle_leaving_state', 'the state that a bicycle leaves'],
        ['alert, task, feedback', 'the updated resource; which topics carry them is not documented'],
      ],
    },
    {
      heading: 'Examples:',
      examples: [
        ['follow the whole fleet for ten seconds', 'fleet watch --for 10s'],
        [
          'follow one bicycle until it is available, for a minute at most',
          `fleet watch --bicycle ${BICYCLE} --until state=available --for 60s`,
        ],
        ['any topic', `fleet watch --topic '/${ORGANIZATION}/admin/bicycles/*' --for 5s --json`],
      ],
    },
  ];
}

function describeConditions(): Section[] {
  return [
    {
      text: 'A condition is FIELD OPERATOR VALUE. --where shows only what matches; --until ends a watch at the first match. Several conditions must all match. fleet applies them itself, to what the service sends.',
    },
    {
      heading: 'Operators:',
      pairs: [
        ['= !=', 'equal, not equal; a missing or null field differs from every value'],
        ['=null !=null', 'missing or null, or not; quote the text itself: note="null"'],
        ['< <= > >=', 'numbers as numbers, times as times'],
        ['~', 'contains, ignoring case; "FIELD~" matches every field with a value'],
      ],
    },
    {
      heading: 'Fields and values:',
      pairs: [
        ['extra.location.type', 'a dotted path reads a nested field'],
        ['-90s -30m -2h -1d', 'an age: latest_gps_timestamp<-2h is older than two hours'],
        ['2026-03-01T12:00:00Z', 'a time in ISO 8601'],
        ['a list', 'matches when any element does'],
      ],
    },
    { text: 'Quote conditions with < or >, which shells read as redirections.' },
    {
      heading: 'Examples:',
      examples: [
        ['low batteries', "fleet bicycles list --all --where 'state_of_charge<20'"],
        [
          'silent for a day, and not retired',
          "fleet bicycles list --all --where 'latest_gps_timestamp<-1d' --where state!=retired",
        ],
        ['alerts of a bicycle by name', 'fleet alerts list --where extra.bicycle_name~emmy'],
      ],
    },
  ];
}

function describeFlags(program: Command): Section[] {
  return [
    {
      text: 'Every command takes these flags, before or after its name. The token is never a flag: it would show in the process list and the shell history.',
    },
    {
      heading: 'Flags of every command:',
      pairs: program.options.map(({ flags, description }) => [flags, description] as const),
    },
    {
      heading: 'Examples:',
      examples: [
        ['flags may come first', 'fleet --json bicycles list --limit 3 --retries 0'],
        ['show requests and responses', 'fleet alerts list --trace --verbose'],
      ],
    },
  ];
}

function draw({ heading, text, pairs, examples }: Section, width: number, paint: (heading: string) => string): string {
  const lines = heading === undefined ? [] : [paint(heading)];
  if (text !== undefined) lines.push(...wrap(text, width));
  const termWidth = Math.max(0, ...(pairs ?? []).map(([term]) => term.length));
  for (const [term, meaning] of pairs ?? []) lines.push(...wrap(`  ${term.padEnd(termWidth)}  ${meaning}`, width));
  for (const [purpose, line] of examples ?? []) lines.push(`  # ${purpose}`, `  ${line}`);
  return fit(lines.map((line) => `${line}\n`).join(''), width);
}
