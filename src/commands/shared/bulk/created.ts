// Whether a creation whose answer nobody has was carried out: looked for among the bicycles that came since.

import {
  BICYCLE,
  type Bicycle,
  NEW_BICYCLE_FIELDS,
  type NewBicycle,
} from '../../../api/bicycle.js';
import { wholeUuid } from '../../../api/links.js';
import type { Client } from '../../../http/client.js';
import { textOf } from '../../../terminal/values.js';
import { isCertainlyNotLater, lastMomentBefore } from './doubts.js';
import { readNewest } from './evidence.js';
import type { Start } from './journal-records.js';
import type { DecidedDoubt, Doubt, ShownByAnswers, TaskDecision } from './plan.js';

/** Reads the newest bicycles, and looks for those in doubt among them. Assumed: what was created is in the list. */
export async function lookUpCreations(
  client: Client,
  doubts: readonly Doubt[],
  shown: ShownByAnswers,
) {
  const starts = doubts.map(({ entry }) => entry.sending.start);
  const bicycles: Bicycle[] = [];
  const isWhole =
    // Where the service says no time, new bicycles cannot be told from old ones.
    starts.some(isDatable) &&
    (await readNewest(client, BICYCLE, 'created', (bicycle) => {
      const isOld = starts.every((start) => isBefore(bicycle, start));
      if (!isOld) bicycles.push(bicycle);
      return isOld;
    }));
  return decideCreations(doubts, { bicycles, isWhole }, shown);
}

function isDatable(start: Start): boolean {
  return start.isEmpty || lastMomentBefore(start) !== null;
}

/** Whether a bicycle was certainly there before the run began. */
function isBefore(bicycle: Bicycle, start: Start): boolean {
  return !start.isEmpty && isCertainlyNotLater(bicycle.created, lastMomentBefore(start));
}

/**
 * Decides what became of creations: done is one for which a bicycle came since that has everything that was asked for and that no other
 * task made; where every newer bicycle is known and none fits, nothing was created.
 * @param candidates bicycles of the list, the newest first, and whether every one since the earliest start is among them
 */
export function decideCreations(
  doubts: readonly Doubt[],
  candidates: { bicycles: readonly Bicycle[]; isWhole: boolean },
  { made }: Pick<ShownByAnswers, 'made'>,
): DecidedDoubt[] {
  const { bicycles, isWhole } = candidates;
  const left = bicycles.filter(({ uuid }) => !made.has(textOf(uuid) ?? ''));
  const decide = ({ task, entry }: Doubt): TaskDecision => {
    const { start } = entry.sending;
    if (!isDatable(start)) return { kind: 'unknown', state: null, why: 'the service says no time' };
    const fitting = left.filter(
      (bicycle) => !isBefore(bicycle, start) && fits(bicycle, task.creation?.body),
    );
    const found = fitting.find(({ created }) => !isCertainlyNotLater(created, start.newest));
    if (found !== undefined) {
      left.splice(left.indexOf(found), 1);
      const [uuid, state] = [textOf(found.uuid) ?? null, found.state ?? null];
      return { kind: 'done', uuid, state, how: 'list', why: 'the list shows it' };
    }
    if (isWhole && fitting.length === 0) return { kind: 'untouched' };
    const why = isWhole ? 'one like it came as the run began' : 'the list is too long';
    return { kind: 'unknown', state: null, why };
  };
  // Those that ask for the most come first: what fits them may fit others, too.
  const ordered = [...doubts].sort((one, other) => fieldCount(other) - fieldCount(one));
  return ordered.map((doubt) => ({ ...doubt, ...decide(doubt) }));
}

const fieldCount = ({ task }: Doubt) => Object.keys(task.creation?.body ?? {}).length;

/** Whether a bicycle has what was asked for, as far as the service shows it; links by what they lead to. */
function fits(bicycle: Bicycle, body: Partial<NewBicycle> = {}): boolean {
  return NEW_BICYCLE_FIELDS.every((field) => {
    const [asked, found] = [body[field], bicycle[field]];
    if (asked === undefined || found === undefined || asked === found) return true;
    return (
      typeof found === 'string' &&
      wholeUuid(found) !== undefined &&
      wholeUuid(found) === wholeUuid(asked)
    );
  });
}
