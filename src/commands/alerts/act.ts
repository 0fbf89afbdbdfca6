// `fleet alerts act`: resolves, silences, escalates or stops one or more alerts. Sends at most one
// action to each alert.

import { ALERT, ALERT_ACTIONS, type Alert, type AlertAction } from '../../api/alert.js';
import { wholeUuid } from '../../api/links.js';
import { refuseOtherKind } from '../../api/other-kind.js';
import { runAction } from '../../bulk/actions.js';
import type { ActOptions } from '../../bulk/flags.js';
import type { Task } from '../../bulk/plan.js';
import { refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { reasonIn } from '../../http/failure.js';
import { readFields, readWords } from '../../input/act-words.js';
import { scopeOf } from '../../list/organization.js';
import { type Meant, pickOne, shorten } from '../../list/pick-one.js';
import { findByPrefix } from '../../list/uuid-prefix.js';

/** Assumed from observation: the state of an alert after each action. */
const TARGETS: ReadonlyMap<string, string> = new Map<AlertAction, string>([
  ['resolve', 'resolved'],
  ['silence', 'silenced'],
  ['escalate', 'escalated'],
  ['stop', 'stopped'],
]);

/**
 * Runs an action on each of the alerts. The action is the last word of the command. Assumed from
 * observation: the endpoint and its actions.
 */
export async function actOnAlerts(
  context: Context,
  words: readonly string[],
  options: ActOptions,
): Promise<void> {
  const verbs = {
    kind: 'action',
    known: ALERT_ACTIONS,
    mayBeUnknown: options.allowUnknown === true,
  };
  const { targets, name: verb } = readWords(words, ALERT, verbs, options);
  const action = {
    resource: ALERT,
    verb,
    fields: readFields(options.field),
    targets,
    find: (text: string) => findAlert(context, text),
    target: TARGETS.get(verb),
    explain: explainMissing(verb),
  };
  await refuseIfReadOnly(context, options);
  await runAction(context, action, options);
}

/**
 * Explains why an alert or action is missing. Observed: the service returns "No Alert matches …"
 * for an alert that it does not show, and "Not found." for an unknown action.
 */
const explainMissing =
  (verb: string) =>
  (error: FleetError, { key: uuid }: Task) => {
    const { status = 0, message } = error;
    if (![404, 405, 410].includes(status)) return error;
    const explain = (what: string, hint: string) =>
      error.with({ message: `${what}: ${reasonIn(error) ?? ''}`, hint });
    if (/No Alert matches/i.test(message))
      return explain(
        `alert ${uuid} was not found, or you have no access`,
        'look for it: fleet alerts list',
      );
    if (!ALERT_ACTIONS.some((name) => name === verb))
      return explain(
        `the service does not know the action "${verb}"`,
        `actions that are known: ${ALERT_ACTIONS.join(', ')}`,
      );
    const what = `this service has no actions on alerts, or does not know "${verb}"`;
    return explain(what, 'change the alert in the fleet management system');
  };

/**
 * Finds one alert. Throws a FleetError of kind `usage` when several alerts match, and of kind
 * `not-found` when no alert matches.
 */
async function findAlert(context: Context, text: string): Promise<Meant<Alert>> {
  const whole = wholeUuid(text);
  if (whole !== undefined) {
    refuseOtherKind({ one: ALERT.one, path: ALERT.listPath }, text, shorten(text));
    return { uuid: whole, item: undefined };
  }
  const list = {
    path: ALERT.listPath,
    subject: 'the list of alerts',
    query: await scopeOf(context),
  };
  const matches = await findByPrefix<Alert>(await context.client(), list, text);
  const missing = new FleetError(
    'not-found',
    `no alert has a UUID that begins with "${shorten(text)}"`,
    {
      hint: 'use a UUID or at least its first four digits; "fleet alerts list" shows the UUIDs',
    },
  );
  return pickOne(text, matches, ALERT, missing);
}
