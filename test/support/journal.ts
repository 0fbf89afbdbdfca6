// Creates journals for tests, such as those of a killed run.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyJournal, lineOf, readOn } from '../../src/bulk/journal-records.js';
import { newFolder } from './folder.js';

/** Returns the path of a journal file that does not exist yet. */
export const newJournal = (): string => join(newFolder(), 'j.jsonl');

/** Runs `use` with the path of a journal that does not exist yet. */
export function withJournal<T>(use: (path: string) => Promise<T>): Promise<T> {
  return use(newJournal());
}

/** The data that binds a journal to its run. */
export const BINDING = {
  command: 'bicycles act',
  profile: 'default',
  base_url: 'http://x',
  transition: 'rent',
  fields: '[]',
};

/** The run that wrote the remaining journal. */
export const DEAD_RUN = 'dead';

export interface LeftJournal {
  binding: { [name: string]: string };
  /** The state of the service at the start of the run. */
  start: {
    newest: string | null;
    date: string | null;
    isEmpty?: boolean;
    user?: readonly object[];
  };
  /** The keys of the announced requests, with the bicycle as in the input. */
  sending: readonly (
    | string
    | { key: string; before: { state: string | null; version: string | null } }
  )[];
}

/** Writes the journal of a killed run: locked, with unanswered requests. */
export async function leaveJournal(
  path: string,
  { binding, start, sending }: LeftJournal,
): Promise<void> {
  const records: object[] = [
    { claim: DEAD_RUN, over: null, pid: 1, host: 'gone', beat_ms: 1500 },
    { run: DEAD_RUN, start: { isEmpty: false, ...start }, at: 1 },
    ...sending.map((one) => ({
      ...(typeof one === 'string' ? { sending: one } : { sending: one.key, before: one.before }),
      run: DEAD_RUN,
      after_ms: 0,
    })),
  ];
  const header = lineOf({ fleet_journal: 3, ...BINDING, ...binding });
  await writeFile(path, [header, ...numbered(records)].join(''));
}

/** Reads a complete journal from memory. Throws the same errors as readOn. */
export function readJournal(bytes: Buffer, path: string) {
  const journal = emptyJournal();
  readOn(journal, bytes, path);
  return journal;
}

/** Returns the lines of a run's records with the numbers that the run gives them. */
export function numbered(records: readonly object[], from = 1): string[] {
  return records.map((one, index) => lineOf({ ...one, n: from + index }));
}
