// What `fleet alerts` takes: its verbs, their flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { ALERT_ACTIONS, ALERT_STATES, ALERT_TYPES, type AlertAction } from '../../api/alert.js';
import { examples } from '../../cli/examples.js';
import { anyText, BICYCLES, type Complete, collectWith, NOTHING } from '../../cli/offers.js';
import { collect, someOf } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { BICYCLE_ARGUMENT } from '../bicycles/choices.js';
import { addBulkFlags } from '../bulk/flags.js';
import { addListFlags } from '../list/flags.js';
import { ALERT_VOCABULARY } from '../list/vocabulary.js';
import { addListen, addWatch } from './flags.js';

export function addAlerts(program: Command, run: Run): void {
  const alerts = program
    .command('alerts')
    .alias('alert')
    .summary('list, watch and act on alerts')
    .description('List alerts, watch them, receive them as webhooks, and act on them.');
  examples(
    alerts,
    ['list new alerts', 'fleet alerts list --state new'],
    ['count them', 'fleet alerts list --state new --count'],
    ['print new alerts as they come', 'fleet alerts watch --state new'],
  );
  addList(alerts, run);
  addAct(alerts, run);
  addWatch(alerts, run);
  addListen(alerts, run);
}

function addList(alerts: Command, run: Run): void {
  const list = alerts
    .command('list')
    .summary('list alerts')
    .description('List alerts: one page unless --limit or --all is given.')
    .option(
      '--state <state,…>',
      `in these states: ${ALERT_STATES.join(', ')} (repeatable)`,
      someOf('state', ALERT_STATES),
    )
    .option('--type <type,…>', `of these types: ${ALERT_TYPES.join(', ')} (repeatable)`, someOf('type', ALERT_TYPES))
    .option('--bicycle <bicycle>', `of this bicycle: ${BICYCLE_ARGUMENT}`, anyText(BICYCLES));
  addListFlags(list, ALERT_VOCABULARY, '-created').action(run(async () => (await import('./list.js')).listAlerts));
  examples(
    list,
    ['new alerts about low batteries', 'fleet alerts list --state new --type lock.bat.low'],
    ['new alerts older than a day', "fleet alerts list --state new --where 'created<-1d' --all"],
    ['the latest 100, one JSON object per line', 'fleet alerts list --ordering -created --limit 100 -o jsonl'],
  );
}

const ACTION_MEANINGS: { readonly [action in AlertAction]: string } = {
  resolve: 'mark it as dealt with',
  silence: 'hide it while it lasts; afterwards only stop is possible',
  escalate: 'turn it into a task: --field severity=high --field description=…',
  stop: 'its cause is gone',
};

function addAct(alerts: Command, run: Run): void {
  const act = alerts
    .command('act')
    .summary('resolve, silence, escalate or stop alerts')
    .description(
      [
        'Run an action on one alert or many. An alert is a UUID or its first digits. - reads UUIDs from stdin: one per line,',
        'JSON lines, a JSON array, or CSV with a uuid column. Each request is sent at most once, as with "fleet bicycles act".',
        'Not every service supports this; one that does not changes nothing.',
        '',
        'Actions:',
        ...ALERT_ACTIONS.map((name) => `  ${name.padEnd(8)}  ${ACTION_MEANINGS[name]}`),
      ].join('\n'),
    )
    .usage('<alert>... <action>')
    .argument('<alert...>', 'the alerts, or - for stdin, then the action', collectWith(offerAction))
    .option('-y, --yes', 'do not ask before acting on more than one')
    .option('--field <name=value>', 'add a text field to the request body (repeatable)', collect)
    .option('--allow-unknown', 'send an action that is not in the list above');
  addBulkFlags(act).action(run(async () => (await import('./act.js')).actOnAlerts));
  examples(
    act,
    ['preview resolving one', 'fleet alerts act 3cbf2500-27cf-4651-a3e0-130b9c9b2b9d resolve --dry-run'],
    [
      'preview resolving every new alert older than a week',
      "fleet alerts list --all --state new --where 'created<-7d' -o uuid | fleet alerts act - resolve --yes --dry-run",
    ],
  );
}

const offerAction: Complete = ({ operands }) =>
  operands.length === 0 || operands.some((word) => ALERT_ACTIONS.some((name) => name === word))
    ? NOTHING
    : { words: ALERT_ACTIONS.map((value) => ({ value, description: ACTION_MEANINGS[value] })) };
