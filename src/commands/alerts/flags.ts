// What `fleet alerts watch` and `fleet alerts listen` take: their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { ALERT_STATES, ALERT_TYPES } from '../../api/alert.js';
import { examples } from '../../cli/examples.js';
import { collect, someOf, wholeNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';
import { addEndFlags, readDuration } from '../follow/flags.js';
import { readCondition, readOrganization } from '../list/flags.js';
import { ALERT_VOCABULARY } from '../list/vocabulary.js';

const WATCH_DESCRIPTION = `Print each new or changed alert once, until Ctrl-C; nothing of what was there before, unless
--since says so. --state-file remembers over restarts. The list is read newest first until
it meets what is known: every --every, less often while nothing happens or when the service
asks for it. With --topic what the push channel says of alerts is shown at once.

--exec runs a command for each alert, one at a time, with the alert as JSON on its stdin. It
may take 30 s; what it prints goes to stderr, where a failure is said and counted.`;

export function addWatch(alerts: Command, run: Run): void {
  const watch = alerts
    .command('watch')
    .summary('follow alerts, and run a command for each')
    .description(WATCH_DESCRIPTION)
    .option(
      '--organization <uuid>',
      'of this organization, its UUID or name (default: the one of the settings)',
      readOrganization(),
    )
    .option('--type <type,…>', 'of these types (repeatable)', someOf('type', ALERT_TYPES))
    .option('--state <state,…>', 'only what comes into these states (repeatable)', someOf('state', ALERT_STATES))
    .option('--every <duration>', 'how often the list is read', readPause('--every'), 15_000)
    .option('--since <time>', 'show what changed since then as well: a time, or an age such as 2h')
    .option('--state-file <path>', 'remember in this file what was shown, over restarts')
    .option('--exec <command>', 'run this for each alert, the alert as JSON on its stdin')
    .option('--topic <topic>', 'follow this topic of the push channel too, not encoded (repeatable)', collect);
  addEndFlags(watch, readCondition(ALERT_VOCABULARY)).action((options, command) =>
    run(command, async (context) => (await import('./watch.js')).watchAlerts(context, options)),
  );
  for (const option of watch.options) if (option.long === '--every') option.default(15_000, '15s');
  examples(
    watch,
    ['new alerts, and each change of their state', 'fleet alerts watch'],
    ['low batteries alone, as JSON lines', 'fleet alerts watch --type lock.bat.low --state new --json'],
    [
      'a command for each, and none twice over restarts',
      "fleet alerts watch --state-file ~/alerts.state --exec 'jq -r .message >> ~/alerts.log'",
    ],
    ['wait for a theft, an hour at most', 'fleet alerts watch --until alert_type=bicycle.bike_stolen --for 1h'],
  );
}

const LISTEN_DESCRIPTION = `Receive alerts as webhooks and print each once, until Ctrl-C. Any POST of JSON is taken: an
alert, an array of alerts, or an envelope with a message; the answer is 204 when it was
printed. What comes twice is printed once, also over restarts. The list is read at the start
and every --backfill: what no webhook brought is printed too, marked as caught up.

With --secret-env the header X-Fleet-Signature: sha256=HEX must hold the HMAC-SHA256 of the
body; other hosts than this machine are listened to with a secret alone. --forward passes
the bodies on as they came, in order, with their signature; what could not be delivered yet
waits on the disk, also over restarts.`;

export function addListen(alerts: Command, run: Run): void {
  const listen = alerts
    .command('listen')
    .summary('receive alerts as webhooks')
    .description(LISTEN_DESCRIPTION)
    .option('--port <n>', 'port to listen on, 0 for any free one', readPort, 4020)
    .option('--host <address>', 'address to listen on; other than loopback only with a secret', '127.0.0.1')
    .option('--path <path>', 'path of the webhook', readPath, '/')
    .option('--secret-env <name>', 'environment variable that holds the secret of the signature')
    .option('--signature-header <name>', 'header of the signature', readHeaderName, 'X-Fleet-Signature')
    .option('--forward <url>', 'pass each webhook on to this address', readForward)
    .option(
      '--backfill <duration>',
      'how often the list is read for what no webhook brought; 0: never',
      readBackfill,
      300_000,
    );
  addEndFlags(listen, readCondition(ALERT_VOCABULARY)).action((options, command) =>
    run(command, async (context) => (await import('./listen.js')).listenAlerts(context, options)),
  );
  for (const option of listen.options) if (option.long === '--backfill') option.default(300_000, '5m');
  examples(
    listen,
    ['in another terminal: fleet sandbox --webhook http://127.0.0.1:4020/', 'fleet alerts listen'],
    ['signed, as JSON lines', 'fleet alerts listen --secret-env WEBHOOK_SECRET --json'],
    [
      'passed on to a program on this machine',
      'fleet alerts listen --path /alerts --forward http://127.0.0.1:8080/hooks/alerts',
    ],
  );
}

/** A reading each second is as fast as a list can be meant. */
const SHORTEST_PAUSE_MS = 100;

function readPause(flag: string): (text: string) => number {
  const read = readDuration(flag);
  return (text) => {
    const milliseconds = read(text);
    if (milliseconds >= SHORTEST_PAUSE_MS) return milliseconds;
    throw usageError(`${flag} takes ${SHORTEST_PAUSE_MS} ms or more, not "${text}"`);
  };
}

function readBackfill(text: string): number {
  return /^0(ms|s|m|h|d)?$/.test(text.trim()) ? 0 : readPause('--backfill')(text);
}

/** The highest port of TCP. */
const HIGHEST_PORT = 65_535;

function readPort(text: string): number {
  const port = wholeNumber('--port', 0)(text);
  if (port <= HIGHEST_PORT) return port;
  throw usageError(`--port takes a port from 0 to ${HIGHEST_PORT}, not "${text}"`);
}

function readPath(text: string): string {
  if (/^\/[!-~]*$/.test(text) && !/[?#]/.test(text)) return text;
  throw usageError(`--path takes a path such as /alerts, not "${text}"`);
}

function readHeaderName(text: string): string {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(text)) return text;
  throw usageError(`--signature-header takes the name of a header, not "${text}"`);
}

function readForward(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw usageError(`--forward takes an http or https address, not "${text}"`);
  if (url.username !== '' || url.password !== '')
    throw usageError('--forward takes an address without a user name or password');
  url.hash = '';
  return url;
}
