// `fleet alerts act`: resolves, silences, escalates or stops one alert or many, each at most once.

import { ALERT, ALERT_ACTIONS, type AlertAction } from '../../api/alert.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { withHint } from '../../http/failure.js';
import { type ActOptions, readFields, readWords, runAction } from '../bulk/act.js';
import type { Task } from '../bulk/plan.js';
import { findAlert } from './find.js';

/** Assumed: the state that each action leads to, as it was observed. */
const TARGETS: { readonly [action in AlertAction]: string } = {
  resolve: 'resolved',
  silence: 'silenced',
  escalate: 'escalated',
  stop: 'stopped',
};

/** Runs an action on each of the alerts. Assumed: the endpoint and its actions, as they were observed. `words` end in the action. */
export async function actOnAlerts(context: Context, words: readonly string[], options: ActOptions): Promise<void> {
  const verbs = { kind: 'action', known: ALERT_ACTIONS, mayBeUnknown: options.allowUnknown === true };
  const { texts, name: verb } = readWords(words, ALERT, verbs);
  const fields = readFields(options.field);
  if (Object.hasOwn(fields, 'dry_run')) {
    throw usageError(
      'no dry run is known of actions on alerts: a service that ignores dry_run would carry them out',
      '--dry-run prints the requests and sends nothing',
    );
  }
  const action = {
    resource: ALERT,
    verb,
    fields,
    texts,
    find: (text: string) => findAlert(context, text),
    isGrave: false,
    target: Object.entries(TARGETS).find(([known]) => known === verb)?.[1],
    explain: explainMissing,
  };
  await runAction(context, action, options);
}

/** Observed: a service with such actions says "No Alert matches …" of an alert that it does not show. */
function explainMissing(error: FleetError, { key: uuid }: Task): FleetError {
  const { status, message } = error;
  if (status !== 404 && status !== 405 && status !== 410 && status !== 501) return error;
  const reason = /: (.*)$/s.exec(message)?.[1] ?? '';
  if (/No Alert matches/i.test(message)) {
    return withHint(
      error,
      'look for it: fleet alerts list',
      `alert ${uuid} is unknown, or not yours to see: ${reason}`,
    );
  }
  return withHint(
    error,
    'the interface names no such operation; change the alert in the fleet management system',
    `this service has no actions on alerts: ${reason}`,
  );
}
