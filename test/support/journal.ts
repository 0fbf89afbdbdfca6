// Journals for tests: a folder of their own, and the file that a killed run leaves.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyJournal, lineOf, readOn } from '../../src/commands/shared/bulk/journal-records.js';
import { newFolder } from './folder.js';

/** The path of a journal that is not there yet. */
export const newJournal = (): string => join(newFolder(), 'j.jsonl');

/** Runs `use` with the path of a journal that is not there yet. */
export function withJournal<T>(use: (path: string) => Promise<T>): Promise<T> {
  return use(newJournal());
}

/** What binds a journal to its run. */
export const BINDING = {
  command: 'bicycles act',
  profile: 'default',
  base_url: 'http://x',
  transition: 'rent',
  fields: '[]',
};

/** The run that wrote a left journal. */
export const DEAD_RUN = 'dead';

export interface LeftJournal {
  binding: { [name: string]: string };
  /** What the service said as the run began. */
  start: {
    newest: string | null;
    date: string | null;
    isEmpty?: boolean;
    user?: readonly object[];
  };
  /** The keys that were about to be sent, with what the input said of the bicycle. */
  sending: readonly (
    | string
    | { key: string; before: { state: string | null; version: string | null } }
  )[];
}

/** Writes a journal as a killed run leaves it: held, with requests whose answers nobody has. */
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

/** Reads a journal that is whole in memory. Throws as readOn does. */
export function readJournal(bytes: Buffer, path: string) {
  const journal = emptyJournal();
  readOn(journal, bytes, path);
  return journal;
}

/** The lines of a run's records, numbered as it numbers them. */
export function numbered(records: readonly object[], from = 1): string[] {
  return records.map((one, index) => lineOf({ ...one, n: from + index }));
}
