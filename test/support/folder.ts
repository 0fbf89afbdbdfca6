// Folders for tests: below one that the run makes, and removes when it is over.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const FOLDER_VARIABLE = 'FLEET_TEST_FOLDER';

/** Before the first test; what it returns removes every folder. */
export function announceFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-tests-'));
  process.env[FOLDER_VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/** A folder that is empty. */
export function newFolder(): string {
  return mkdtempSync(join(process.env[FOLDER_VARIABLE] ?? tmpdir(), 'f-'));
}
