// The words of `fleet alerts`: its verb, the flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { ALERT_STATES, ALERT_TYPES } from '../../api/alert.js';
import { examples } from '../../cli/examples.js';
import { anyText, BICYCLES } from '../../cli/offers.js';
import { someOf } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { BICYCLE_ARGUMENT } from '../bicycles/choices.js';
import { addListFlags } from '../list/flags.js';
import { ALERT_VOCABULARY } from '../list/vocabulary.js';

export function addAlerts(program: Command, run: Run): void {
  const alerts = program
    .command('alerts')
    .alias('alert')
    .summary('list alerts')
    .description('List the alerts that bicycles and locks raised.');
  examples(
    alerts,
    ['what needs attention', 'fleet alerts list --state new'],
    ['how many that is', 'fleet alerts list --state new --count'],
  );

  const list = alerts
    .command('list')
    .summary('list alerts')
    .description('List alerts: one page, or as many as --limit or --all say.')
    .option(
      '--state <state,…>',
      `in these states: ${ALERT_STATES.join(', ')} (repeatable)`,
      someOf('state', ALERT_STATES),
    )
    .option('--type <type,…>', `of these types: ${ALERT_TYPES.join(', ')} (repeatable)`, someOf('type', ALERT_TYPES))
    .option('--bicycle <bicycle>', `of this bicycle: ${BICYCLE_ARGUMENT}`, anyText(BICYCLES));
  addListFlags(list, ALERT_VOCABULARY).action((options, command) =>
    run(command, async (context) => (await import('./list.js')).listAlerts(context, options)),
  );
  examples(
    list,
    ['new alerts about low batteries', 'fleet alerts list --state new --type lock.bat.low'],
    ['new ones that are older than a day', "fleet alerts list --state new --where 'created<-1d' --all"],
    ['the latest hundred, one JSON object a line', 'fleet alerts list --ordering -created --limit 100 -o jsonl'],
  );
}
