// `fleet alerts act`: resolves, silences, escalates or stops one alert or many, each at most once.

import { ALERT, ALERT_ACTIONS, type AlertAction } from '../../api/alert.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { withHint } from '../../http/failure.js';
import { type ActOptions, readFields, readWords, runAction } from '../shared/bulk/act.js';
import type { Task } from '../shared/bulk/plan.js';
import { findAlert } from './find.js';

/** Assumed: the state that each action leads to, as it was observed. */
const TARGETS: ReadonlyMap<string, string> = new Map<AlertAction, string>([
  ['resolve', 'resolved'],
  ['silence', 'silenced'],
  ['escalate', 'escalated'],
  ['stop', 'stopped'],
]);

/** Runs an action on each of the alerts. Assumed: the endpoint and its actions, as they were observed. `words` end in the action. */
export async function actOnAlerts(context: Context, words: readonly string[], options: ActOptions): Promise<void> {
  const verbs = { kind: 'action', known: ALERT_ACTIONS, mayBeUnknown: options.allowUnknown === true };
  const { texts, name: verb } = readWords(words, ALERT, verbs);
  const fields = readFields(options.field);
  if (Object.hasOwn(fields, 'dry_run')) {
    throw usageError(
      '--dry-run-remote does not work for alerts: a service that ignores dry_run would carry the action out',
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
    target: TARGETS.get(verb),
    explain: explainMissing(verb),
  };
  await runAction(context, action, options);
}

/** Observed: a service with such actions says "No Alert matches …" of an alert that it does not show, and "Not found." of an unknown action. */
const explainMissing =
  (verb: string) =>
  (error: FleetError, { key: uuid }: Task) => {
    const { status = 0, message } = error;
    if (![404, 405, 410, 501].includes(status)) return error;
    const explain = (what: string, hint: string) =>
      withHint(error, hint, `${what}: ${/: (.*)$/s.exec(message)?.[1] ?? ''}`);
    if (/No Alert matches/i.test(message))
      return explain(`alert ${uuid} was not found, or you have no access`, 'look for it: fleet alerts list');
    if (!ALERT_ACTIONS.some((name) => name === verb))
      return explain(
        `the service does not know the action "${verb}"`,
        `actions that are known: ${ALERT_ACTIONS.join(', ')}`,
      );
    const what = `this service has no actions on alerts, or does not know "${verb}"`;
    return explain(what, 'change the alert in the fleet management system');
  };
