// Creates temporary folders for tests and deletes them at the end of the run.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const FOLDER_VARIABLE = 'FLEET_TEST_FOLDER';

/** Vitest calls this function before the first test; its result deletes all folders. */
export function announceFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-tests-'));
  process.env[FOLDER_VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/** Returns a new, empty folder. */
export function newFolder(): string {
  return mkdtempSync(join(process.env[FOLDER_VARIABLE] ?? tmpdir(), 'f-'));
}
