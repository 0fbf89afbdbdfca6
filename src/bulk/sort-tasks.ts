// Sorts the tasks of a plan by the journal of earlier runs: to send, finished, or unresolved.

import { FleetError } from '../errors.js';
import { kindOfStatus } from '../http/failure.js';
import type { ChangeResult } from '../views/action.js';
import { resultOf } from './answer.js';
import { type JournalEntry, judgeEntry } from './journal-records.js';
import type { BulkPlan, Doubt, TaskEnd, Turn } from './plan.js';

/** Sorts the tasks and keeps the order of the input. Finished tasks, and those without a change, have their end. */
export function sortTasks(
  { change, tasks }: BulkPlan,
  entries: ReadonlyMap<string, JournalEntry> = new Map(),
): { turns: Turn[]; doubts: Doubt[] } {
  const turns: Turn[] = [];
  const doubts: Doubt[] = [];
  for (const task of tasks) {
    const entry = entries.get(task.key);
    const known = judgeEntry(entry);
    if (entry !== undefined && known === 'doubt') doubts.push({ task, entry });
    else if (entry?.result !== undefined && known !== 'open')
      turns.push({ ...task, end: endBefore(entry, entry.result) });
    else turns.push(change.isUnchanged?.(task) === true ? { ...task, end: UNCHANGED } : task);
  }
  return { turns, doubts };
}

const UNCHANGED: TaskEnd = {
  result: resultOf('unchanged', { message: 'it already has these values' }),
};

/** Returns the end of a task that an earlier run finished. It took no time in this run. */
function endBefore({ uuid }: JournalEntry, before: ChangeResult): TaskEnd {
  if (before.outcome !== 'refused')
    return { result: { ...before, outcome: 'skipped', milliseconds: null }, uuid };
  const result = { ...before, milliseconds: null };
  return { result, uuid, error: failureOf(result) };
}

/** Returns the failure of a task that an earlier run recorded. */
export function failureOf({ outcome, status, message, request_id }: ChangeResult): FleetError {
  const kind = outcome === 'refused' && status !== null ? kindOfStatus(status) : 'network';
  return new FleetError(kind, message ?? `the journal says ${outcome}`, {
    ...(status === null ? {} : { status }),
    ...(request_id === null ? {} : { trace: { requestId: request_id } }),
    hint: 'this is from the journal; check the bicycle, and send it again without this journal',
  });
}
