// Decides whether creations without an answer were carried out, by the bicycles that appeared since
// they were sent.

import { BICYCLE, type Bicycle, NEW_BICYCLE_FIELDS, type NewBicycle } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import type { Client } from '../http/client.js';
import { clean } from '../terminal/clean.js';
import { textOf } from '../terminal/values.js';
import { isCertainlyLater, isCertainlyNotLater, lastMomentBefore } from './doubts.js';
import { readNewest } from './evidence.js';
import type { Start } from './journal-records.js';
import type { DecidedDoubt, Doubt, ShownByAnswers, TaskDecision } from './plan.js';
import { isSimilarName } from './stored-text.js';

/** Reads the newest bicycles and decides the creations. Assumed: the list contains each new bicycle. */
export async function lookUpCreations(
  client: Client,
  doubts: readonly Doubt[],
  shown: ShownByAnswers,
): Promise<DecidedDoubt[]> {
  const starts = doubts.map(({ entry }) => entry.sending.start);
  const bicycles: Bicycle[] = [];
  const isWhole =
    // Without the service's time, new and old bicycles cannot be distinguished.
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

/** Whether a bicycle certainly existed before the run began. */
function isBefore(bicycle: Bicycle, start: Start): boolean {
  return !start.isEmpty && isCertainlyNotLater(bicycle.created, lastMomentBefore(start));
}

/** The longest name that a reason quotes. */
const LONGEST_NAME_CHARACTERS = 60;

/**
 * Decides creations. `done`: exactly one new bicycle has all requested values, and no other
 * creation without an answer can have made it. `untouched`: no new bicycle has a similar name.
 * Everything else is `unknown`, because a service can change the texts that it stores.
 * @param candidates the newest bicycles, and whether they include all since the earliest start
 */
export function decideCreations(
  doubts: readonly Doubt[],
  candidates: { bicycles: readonly Bicycle[]; isWhole: boolean },
  { made }: Pick<ShownByAnswers, 'made'>,
): DecidedDoubt[] {
  const { isWhole } = candidates;
  // Answers prove which tasks created these.
  const bicycles = candidates.bicycles.filter(({ uuid }) => !made.has(textOf(uuid) ?? ''));

  function decide(doubt: Doubt): TaskDecision {
    const { start } = doubt.entry.sending;
    const unknown = (why: string): TaskDecision => ({ kind: 'unknown', state: null, why });
    if (!isDatable(start)) return unknown('the service says no time');
    if (!isWhole) return unknown('the list is too long');
    const similar = bicycles.filter((bicycle) => isSimilarCreation(bicycle, doubt));
    const [first] = similar;
    if (first === undefined) return { kind: 'untouched' };
    const exact = similar.filter((bicycle) => fits(bicycle, doubt.task.creation?.body));
    const [found, ...others] = exact;
    if (found === undefined) {
      const asked = doubt.task.creation?.body.name?.trim();
      const closest = similar.find(({ name }) => textOf(name)?.trim() === asked) ?? first;
      const name = clean((textOf(closest.name) ?? '').slice(0, LONGEST_NAME_CHARACTERS));
      return unknown(`"${name}" was created since, and may be this bicycle`);
    }
    if (start.newest !== null && !isCertainlyLater(found.created, start.newest))
      return unknown('a bicycle with these values was created as the run began');
    const rivals = doubts.filter((other) => other !== doubt && couldHaveMade(other, found));
    if (others.length > 0 || rivals.length > 0)
      return unknown('several bicycles or requests have these values');
    const [uuid, state] = [textOf(found.uuid) ?? null, found.state ?? null];
    return { kind: 'done', uuid, state, how: 'list', why: 'the list shows it' };
  }

  return doubts.map((doubt) => ({ ...doubt, ...decide(doubt) }));
}

/** Whether a bicycle appeared since the request, in its organization and with a similar name. */
function isSimilarCreation(bicycle: Bicycle, { task, entry }: Doubt): boolean {
  if (isBefore(bicycle, entry.sending.start)) return false;
  const { name = '', organization } = task.creation?.body ?? {};
  const asked = wholeUuid(organization ?? '');
  const found = wholeUuid(textOf(bicycle['organization']) ?? '');
  if (asked !== undefined && found !== undefined && asked !== found) return false;
  return isSimilarName(name, bicycle.name);
}

/** Whether a request can have created the bicycle: no value that both have contradicts it. */
function couldHaveMade(doubt: Doubt, bicycle: Bicycle): boolean {
  const { serial_number: asked = '' } = doubt.task.creation?.body ?? {};
  const found = bicycle.serial_number;
  if (!isSimilarCreation(bicycle, doubt)) return false;
  return asked === '' || !found || isSimilarName(asked, found);
}

/** Whether a bicycle has the requested values, as far as the service shows them. */
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
