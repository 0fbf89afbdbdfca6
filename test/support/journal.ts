// A folder for the journals of one test, gone afterwards.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs `use` with the path of a journal that is not there yet. */
export async function withJournal<T>(use: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-journal-'));
  try {
    return await use(join(folder, 'j.jsonl'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
