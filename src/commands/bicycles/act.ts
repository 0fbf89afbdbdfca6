// `fleet bicycles act`: runs one transition on one bicycle or many, each at most once.

import { BICYCLE } from '../../api/bicycle.js';
import { TRANSITIONS } from '../../api/transitions.js';
import type { Context } from '../../context.js';
import type { FleetError } from '../../errors.js';
import { withHint } from '../../http/failure.js';
import { pointOf, textOf } from '../../terminal/values.js';
import { refuseIfReadOnly } from '../shared/allow-change.js';
import {
  type Action,
  type ActOptions,
  readFields,
  readWords,
  runAction,
} from '../shared/bulk/act.js';
import { findBicycle } from './find.js';
import { fetchBicycle } from './get.js';

/** Transitions that ask first and want a word typed, because the way back from them is long. */
const GRAVE_TRANSITIONS = ['retire', 'declare_unrecoverable'];

/** Observed: the only transition that a retired bicycle allows. */
const WARNINGS: { readonly [transition: string]: string } = {
  retire: 'Only force_put_in_maintenance brings a retired bicycle back.',
};

const VERBS = { kind: 'transition', known: TRANSITIONS, grave: GRAVE_TRANSITIONS };

/**
 * Assumed: where the name of a transition says so, its target state (section 3: "target states … not shown"). Only used for a bicycle
 * whose answer was lost, as long as no answer of the service has shown the target.
 */
const NAMED_TARGETS: { readonly [transition: string]: string } = {
  declare_available: 'available',
  rent: 'rented',
  declare_lost: 'lost',
  declare_unrecoverable: 'unrecoverable',
  retire: 'retired',
};

/** Runs a transition on each of the bicycles (interface.md section 4.3). `words` are the bicycles, or `-`, and the transition. */
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
    find: (text) => findBicycle(context, text),
    lookAt: (uuid) => lookAt(context, uuid),
    isGrave: GRAVE_TRANSITIONS.includes(transition),
    warning: WARNINGS[transition],
    target: NAMED_TARGETS[transition],
    explain: (error, { key }) => explainUnknown(error, key, transition),
  };
  await refuseIfReadOnly(context, options);
  await runAction(context, action, options);
}

/** Assumed: 404 is the bicycle. Observed: a service that does not know the transition answers 404, too, without a word of the bicycle. */
function explainUnknown(error: FleetError, uuid: string, transition: string): FleetError {
  if (error.status !== 404 && error.status !== 410) return error;
  const reason = /: (.*)$/s.exec(error.message)?.[1] ?? '';
  const hint = `look for it: fleet bicycles get ${uuid}; it may also be "${transition}" that this service does not know`;
  return withHint(error, hint, `bicycle ${uuid} was not found, or you have no access: ${reason}`);
}

/** Its name, and its state and where it is. Throws where the service does not show it, and when it is out of reach. */
async function lookAt(context: Context, uuid: string) {
  const { value } = await fetchBicycle(context, await context.client({ retries: 0 }), uuid);
  const [east, north] = pointOf(value.longitude, value.latitude) ?? [];
  const where = east === undefined ? undefined : `at ${textOf(north)},${textOf(east)}`;
  const detail = [textOf(value.state), where].filter((part) => part !== undefined).join(', ');
  return { name: textOf(value.name) || undefined, detail };
}
