// Declares `fleet alerts`: its verbs, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { ALERT_ACTIONS, type AlertAction } from '../../api/alert.js';
import { addActFlags } from '../../bulk/flags.js';
import { type Complete, collectWith, NOTHING } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { showPairs } from '../../cli/help.js';
import type { Run } from '../../context.js';
import { addAlertListFlags, addAlertWatchFlags, addListenFlags } from './flags.js';

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
  );
  addAlertListFlags(list).action(run(async () => (await import('./list.js')).listAlerts));
}

const ACTION_MEANINGS: { readonly [action in AlertAction]: string } = {
  resolve: 'mark it as dealt with',
  silence: 'mute it until it ends; afterwards only stop is possible',
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
  );
  addAlertWatchFlags(watch).action(run(async () => (await import('./watch.js')).watchAlerts));
}

const LISTEN_DESCRIPTION = `Receive alerts as webhooks and print each once, until Ctrl-C, also across restarts. A webhook
is a POST of JSON: an alert, an array of alerts, or an envelope with a message. It is
answered with 204 once it has been printed. Alerts that no webhook delivered are read from the
list and printed too. Signatures, forwarding and answers: fleet help alerts`;

function addListen(alerts: Command, run: Run): void {
  const listen = addVerb(
    alerts,
    ['listen', 'receive alerts as webhooks', LISTEN_DESCRIPTION],
    [
      'in another terminal, run: fleet sandbox --webhook http://127.0.0.1:4020/',
      'fleet alerts listen',
    ],
    ['signed, as JSON lines', 'fleet alerts listen --secret-env WEBHOOK_SECRET --json'],
    [
      'forward to a program on this machine',
      'fleet alerts listen --path /alerts --forward http://127.0.0.1:8080/hooks/alerts',
    ],
  );
  addListenFlags(listen).action(run(async () => (await import('./listen.js')).listenAlerts));
}
