// `fleet bicycles act`: runs a transition on one or many bicycles. The transition runs at most once
// on each bicycle.

import { BICYCLE } from '../../api/bicycle.js';
import { GRAVE_TRANSITIONS } from '../../api/transition-rules.js';
import { TRANSITIONS } from '../../api/transitions.js';
import { type Action, runAction } from '../../bulk/actions.js';
import type { ActOptions } from '../../bulk/flags.js';
import { refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import type { FleetError } from '../../errors.js';
import { isGone, reasonIn } from '../../http/failure.js';
import { readFields, readWords } from '../../input/act-words.js';
import { pointOf, textOf } from '../../terminal/values.js';
import { findBicycleToChange } from './find.js';
import { fetchBicycle } from './get.js';
import { TRANSITION_WARNINGS } from './transition-warnings.js';

const VERBS = { kind: 'transition', known: TRANSITIONS, grave: GRAVE_TRANSITIONS };

/**
 * Assumed: the name of a transition suggests its target state (section 3: "target states … not
 * shown"). fleet uses this guess only when the response for a bicycle was lost. It replaces the
 * guess as soon as another response shows the real target state.
 */
const NAMED_TARGETS: { readonly [transition: string]: string } = {
  declare_available: 'available',
  rent: 'rented',
  declare_lost: 'lost',
  declare_unrecoverable: 'unrecoverable',
  retire: 'retired',
};

/**
 * Runs a transition on each bicycle (interface.md section 4.3). `words` contains the bicycles, or
 * `-`, and the transition.
 */
export async function actOnBicycles(
  context: Context,
  words: readonly string[],
  options: ActOptions,
): Promise<void> {
  const mayBeUnknown = options.allowUnknown === true;
  const verbs = { ...VERBS, mayBeUnknown };
  const { targets, name: transition } = readWords(words, BICYCLE, verbs, options);
  const action: Action = {
    resource: BICYCLE,
    verb: transition,
    fields: readFields(options.field),
    targets,
    find: (text) => findBicycleToChange(context, text, options),
    lookAt: (uuid) => lookAt(context, uuid),
    isGrave: GRAVE_TRANSITIONS.includes(transition),
    warning: TRANSITION_WARNINGS[transition],
    target: NAMED_TARGETS[transition],
    explain: (error, { key }) => explainUnknown(error, key, transition),
  };
  await refuseIfReadOnly(context, options);
  await runAction(context, action, options);
}

/**
 * Explains a 404 after a transition. Assumed: the bicycle does not exist. Observed: a service that
 * does not know the transition also returns 404.
 */
function explainUnknown(error: FleetError, uuid: string, transition: string): FleetError {
  if (!isGone(error)) return error;
  const hint = `look for it: fleet bicycles get ${uuid}; it may also be "${transition}" that this service does not know`;
  const message = `bicycle ${uuid} was not found, or you have no access: ${reasonIn(error) ?? ''}`;
  return error.with({ message, hint });
}

/**
 * Returns the name, state and position of a bicycle. Throws when the service does not show the
 * bicycle or cannot be reached.
 */
async function lookAt(context: Context, uuid: string) {
  const { value } = await fetchBicycle(context, await context.client({ retries: 0 }), uuid);
  const [east, north] = pointOf(value.longitude, value.latitude) ?? [];
  const where = east === undefined ? undefined : `at ${textOf(north)},${textOf(east)}`;
  const detail = [textOf(value.state), where].filter((part) => part !== undefined).join(', ');
  return { name: textOf(value.name) || undefined, detail };
}
