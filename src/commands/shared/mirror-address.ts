// Resolves the database of a mirror: `--to`, else that of the profile, else the default file.

import { join } from 'node:path';
import type { Context } from '../../context.js';
import { configError, usageError } from '../../errors.js';
import { type MirrorAddress, parseMirrorAddress } from '../../mirror/address.js';
import { findStateFolder } from '../../settings/folder.js';

/** The flag that names the database, wherever a mirror answers; `readTo` reads it. */
export const TO = [
  '--to <address>',
  'database of the mirror: sqlite:PATH or postgres://… (default: from the profile)',
] as const;

/** The flag of what a mirror can answer; `--to` goes with it. */
export const OFFLINE = ['--offline', 'answer from the mirror; nothing is sent'] as const;

/** Parses `--to`; a relative path is below the current directory. Throws a usage error. */
export function readTo(text: string): MirrorAddress {
  const parsed = parseMirrorAddress(text, process.cwd());
  if ('reason' in parsed) throw usageError(`--to: ${parsed.reason}`, parsed.hint);
  return parsed.value;
}

/** The database of this run's mirror. Throws a FleetError of kind `config` where there is no folder for one. */
export async function chosenDatabase(
  { settings, io }: Pick<Context, 'settings' | 'io'>,
  to: MirrorAddress | undefined,
): Promise<MirrorAddress> {
  if (to !== undefined) return to;
  const { mirror, profile } = await settings();
  if (mirror.value !== undefined) return mirror.value;
  const folder = findStateFolder(io.env);
  if (folder === undefined)
    throw configError('there is no folder for the mirror', 'set HOME, or name a database: --to sqlite:PATH');
  return { kind: 'sqlite', path: join(folder, `${profile.value}.db`) };
}
