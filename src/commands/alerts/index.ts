// Declares `fleet alerts`: its verbs, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import {
  ALERT,
  ALERT_ACTIONS,
  ALERT_STATES,
  ALERT_TYPES,
  type AlertAction,
} from '../../api/alert.js';
import { addActFlags } from '../../bulk/flags.js';
import { anyText, BICYCLES, type Complete, collectWith, NOTHING } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { showPairs } from '../../cli/help.js';
import { collect, portNumber, someOf } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';
import { addDeliveryFlags } from '../../follow/delivery-flags.js';
import { addEndFlags, readDuration } from '../../follow/flags.js';
import { addListFlags, ORGANIZATION_FLAG, readCondition } from '../../list/flags.js';
import { BICYCLE_ARGUMENT } from '../bicycles/methods-and-groups.js';

export function addAlerts(program: Command, run: Run): void {
  const alerts = addVerb(
    program,
    [
      'alerts',
      'list, watch and act on alerts',
      'List alerts, watch them, receive them as webhooks, and act on them.',
    ],
    ['list new alerts', 'fleet alerts list --state new'],
    ['count them', 'fleet alerts list --state new --count'],
    ['print new alerts as they arrive', 'fleet alerts watch --state new'],
  ).alias('alert');
  addList(alerts, run);
  addAct(alerts, run);
  addWatch(alerts, run);
  addListen(alerts, run);
}

function addList(alerts: Command, run: Run): void {
  const list = addVerb(
    alerts,
    ['list', 'list alerts', 'List alerts: one page unless --limit or --all is given.'],
    ['new alerts about low batteries', 'fleet alerts list --state new --type lock.bat.low'],
    ['new alerts older than a day', "fleet alerts list --state new --where 'created<-1d' --all"],
    [
      'the latest 100, one JSON object per line',
      'fleet alerts list --ordering -created --limit 100 -o jsonl',
    ],
  )
    .option(
      '--state <state,…>',
      `filter by state: ${ALERT_STATES.join(', ')} (repeatable)`,
      someOf('state', ALERT_STATES, OTHER_STATES),
    )
    .option(
      '--type <type,…>',
      `filter by type: ${ALERT_TYPES.join(', ')} (repeatable)`,
      someOf('type', ALERT_TYPES, OTHER_TYPES),
    )
    .option('--bicycle <bicycle>', `filter by bicycle: ${BICYCLE_ARGUMENT}`, anyText(BICYCLES));
  addListFlags(list, ALERT, '-created').action(
    run(async () => (await import('./list.js')).listAlerts),
  );
}

const ACTION_MEANINGS: { readonly [action in AlertAction]: string } = {
  resolve: 'mark it as dealt with',
  silence: 'hide it while it lasts; afterwards only stop is possible',
  escalate: 'turn it into a task: --field severity=high --field description=…',
  stop: 'mark that its cause is gone',
};

const ACT_DESCRIPTION = `Run an action on one alert or many. An alert is a UUID or its first digits. - reads UUIDs from stdin: one per line,
JSON lines, a JSON array, or CSV with a uuid column. Each request is sent at most once, as with "fleet bicycles act".
Not every service supports this; one that does not changes nothing.

Actions:
${showPairs(ALERT_ACTIONS.map((name) => [name, ACTION_MEANINGS[name]]))}`;

function addAct(alerts: Command, run: Run): void {
  const act = addVerb(
    alerts,
    ['act', 'resolve, silence, escalate or stop alerts', ACT_DESCRIPTION],
    [
      'preview resolving one',
      'fleet alerts act 3cbf2500-27cf-4651-a3e0-130b9c9b2b9d resolve --dry-run',
    ],
    [
      'preview resolving every new alert older than a week',
      "fleet alerts list --all --state new --where 'created<-7d' -o uuid | fleet alerts act - resolve --yes --dry-run",
    ],
  )
    .usage('<alert>... <action>')
    .argument(
      '<alert...>',
      'the alerts, or - for stdin, then the action',
      collectWith(offerAction),
    );
  addActFlags(act, {
    many: 'alerts',
    yes: 'do not ask before acting on more than one',
    unknown: 'send an action that is not in the list above',
  }).action(run(async () => (await import('./act.js')).actOnAlerts));
}

const offerAction: Complete = ({ operands }) =>
  operands.length === 0 || operands.some((word) => ALERT_ACTIONS.some((name) => name === word))
    ? NOTHING
    : { words: ALERT_ACTIONS.map((value) => ({ value, description: ACTION_MEANINGS[value] })) };

const WATCH_DESCRIPTION = `Print each new or changed alert once, until Ctrl-C. Earlier alerts are shown only with
--since. --exec runs a command for each alert, one at a time, for 30 s at most; its output
goes to stderr. --post sends each alert to an address. A failed delivery is tried again after 1 s,
then after growing pauses of at most 60 s. How the list is read, and restarts: fleet help alerts`;

function addWatch(alerts: Command, run: Run): void {
  const watch = addVerb(
    alerts,
    ['watch', 'print new and changed alerts, and run a command for each', WATCH_DESCRIPTION],
    ['print new and changed alerts', 'fleet alerts watch'],
    [
      'only low batteries, as JSON lines',
      'fleet alerts watch --type lock.bat.low --state new --json',
    ],
    [
      'run a command once for each, also across restarts',
      "fleet alerts watch --state-file ~/alerts.state --exec 'jq -r .message >> ~/alerts.log'",
    ],
    [
      'post each alert to a channel of Slack',
      'fleet alerts watch --state-file ~/alerts.state --post https://hooks.example.com/services/T0/B0 --template slack',
    ],
    [
      'wait for a theft, an hour at most',
      'fleet alerts watch --until alert_type=bicycle.bike_stolen --for 1h',
    ],
  )
    .option(...ORGANIZATION_FLAG)
    .option(
      '--type <type,…>',
      'filter by type (repeatable)',
      someOf('type', ALERT_TYPES, OTHER_TYPES),
    )
    .option(
      '--state <state,…>',
      'only alerts that enter these states (repeatable)',
      someOf('state', ALERT_STATES, OTHER_STATES),
    )
    .option(
      '--every <duration>',
      'how often to read the list',
      readDuration('--every', SHORTEST_PAUSE_MS),
      15_000,
    )
    .option(
      '--since <time>',
      'also show what changed since this time: 2h, yesterday, "2026-11-23 08:00"',
    )
    .option('--state-file <path>', 'remember the printed alerts in this file, across restarts')
    .option(
      '--topic <topic>',
      'also follow this topic of the push channel, not encoded (repeatable)',
      collect,
    );
  addEndFlags(addDeliveryFlags(watch, 'alert'), 'alerts', readCondition(ALERT)).action(
    run(async () => (await import('./watch.js')).watchAlerts),
  );
  for (const option of watch.options) if (option.long === '--every') option.default(15_000, '15s');
}

const LISTEN_DESCRIPTION = `Receive alerts as webhooks and print each once, until Ctrl-C, also across restarts. A webhook
is a POST of JSON: an alert, an array of alerts, or an envelope with a message. It is
answered with 204 once it has been printed. Alerts that no webhook delivered are read from the
list and printed too. Signatures, forwarding and answers: fleet help alerts`;

function addListen(alerts: Command, run: Run): void {
  const listen = addVerb(
    alerts,
    ['listen', 'receive alerts as webhooks', LISTEN_DESCRIPTION],
    ['in another terminal: fleet sandbox --webhook http://127.0.0.1:4020/', 'fleet alerts listen'],
    ['signed, as JSON lines', 'fleet alerts listen --secret-env WEBHOOK_SECRET --json'],
    [
      'forward to a program on this machine',
      'fleet alerts listen --path /alerts --forward http://127.0.0.1:8080/hooks/alerts',
    ],
  )
    .option('--port <n>', 'port to listen on, 0 for any free one', portNumber('--port'), 4020)
    .option(
      '--host <address>',
      'address to listen on; a secret is required beyond loopback',
      '127.0.0.1',
    )
    .option('--path <path>', 'path of the webhook', readPath, '/')
    .option('--secret-env <name>', 'environment variable with the secret for signatures')
    .option('--signature-header <name>', 'header with the signature', 'X-Fleet-Signature')
    .option('--forward <url>', 'pass each webhook on to this address', readForward)
    .option(
      '--backfill <duration>',
      'how often to read the list for missed alerts; 0: never',
      readBackfill,
      300_000,
    );
  addEndFlags(listen, 'alerts', readCondition(ALERT)).action(
    run(async () => (await import('./listen.js')).listenAlerts),
  );
  for (const option of listen.options)
    if (option.long === '--backfill') option.default(300_000, '5m');
}

/** Words that users type for states and types of alerts, by the words of the service. */
const OTHER_STATES = { open: 'new,escalated', closed: 'resolved,stopped' };
const OTHER_TYPES = {
  battery: 'lock.bat.low',
  low_battery: 'lock.bat.low',
  stolen: 'bicycle.bike_stolen',
};

/** The shortest pause between two reads of the list. */
const SHORTEST_PAUSE_MS = 100;

function readBackfill(text: string): number {
  return /^0(ms|s|m|h|d)?$/.test(text.trim())
    ? 0
    : readDuration('--backfill', SHORTEST_PAUSE_MS)(text);
}

function readPath(text: string): string {
  if (/^\/[!-~]*$/.test(text) && !/[?#]/.test(text)) return text;
  throw usageError(`--path must be a path such as /alerts, not "${text}"`);
}

function readForward(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    // The text is not repeated, because the path of a webhook is often its secret.
    throw usageError(
      '--forward must be an http or https address',
      'for example: --forward https://hooks.example.com/alerts',
    );
  if (url.username !== '' || url.password !== '')
    throw usageError('--forward must be an address without a user name or password');
  url.hash = '';
  return url;
}
