// `fleet bicycles act`: runs one transition on one bicycle, after asking where there is no way back.

import { actionsPath, type Bicycle, TRANSITIONS } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import type { HttpAnswer } from '../../http/types.js';
import { unknownWord } from '../../terminal/nearest.js';
import { ACTIONS, type ActionResult } from '../../views/action.js';
import { readUuid } from '../list-words.js';
import { openResult } from '../result.js';

export interface ActOptions {
  yes?: boolean;
  allowUnknown?: boolean;
}

/** Transitions that ask first: the document shows no way back from them. */
const GRAVE_TRANSITIONS = ['retire', 'declare_unrecoverable'];

/** Runs a transition (interface.md section 4.3). Assumed: the answer, which is not shown, may be the bicycle. */
export async function actOnBicycle(
  context: Context,
  uuidText: string,
  transition: string,
  options: ActOptions,
): Promise<void> {
  const uuid = readUuid('act')(uuidText);
  if (options.allowUnknown !== true && !(TRANSITIONS as readonly string[]).includes(transition)) {
    throw unknownWord('transition', transition, TRANSITIONS);
  }
  const client = await context.client();
  if (options.yes !== true && GRAVE_TRANSITIONS.includes(transition))
    await askFirst(context, uuid, transition, client.baseUrl);

  const answer = await client.send({
    method: 'POST',
    path: actionsPath(uuid),
    body: JSON.stringify({ type: transition }),
    subject: `"${transition}"`,
  });
  const value: ActionResult = {
    uuid,
    transition,
    outcome: 'done',
    status: answer.status,
    state: readState(answer),
    request_id: answer.trace.requestId ?? null,
    milliseconds: answer.milliseconds,
  };
  const result = await openResult(context, ACTIONS);
  await result.write([{ json: JSON.stringify(value), value }]);
  await result.end();
}

async function askFirst(context: Context, uuid: string, transition: string, baseUrl: URL): Promise<void> {
  const { askYesNo } = await import('../../terminal/prompt.js');
  const profile = (await context.settings()).profile.value;
  const question = `${transition} bicycle ${uuid} at ${baseUrl.origin} (profile ${profile})?`;
  const isSure = await askYesNo(context, {
    message: question,
    instead: `say --yes to ${transition} without being asked`,
  });
  if (!isSure) throw usageError(`nothing was sent: ${transition} was not confirmed`);
}

/** The new state, when the answer tells it. */
function readState(answer: HttpAnswer): string | null {
  try {
    const body = JSON.parse(answer.text) as Bicycle | null;
    return typeof body?.state === 'string' ? body.state : null;
  } catch {
    return null;
  }
}
