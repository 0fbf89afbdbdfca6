// The flags of commands that can read a mirror: `--offline`, and `--to`, which selects the
// database.

import { usageError } from '../errors.js';
import { type MirrorAddress, parseMirrorAddress } from '../mirror/address.js';

/** The flag that selects the database. `readTo` parses it. */
export const TO = [
  '--to <address>',
  'database of the mirror: sqlite:PATH or postgres://… (default: from the profile)',
] as const;

/**
 * The flag that makes a command read from the mirror. Commands with this flag also have the flag
 * `TO`.
 */
export const OFFLINE = ['--offline', 'answer from the mirror; nothing is sent'] as const;

/** Parses `--to`. A relative path is relative to the current directory. Throws a usage error. */
export function readTo(text: string): MirrorAddress {
  const parsed = parseMirrorAddress(text, process.cwd());
  if ('reason' in parsed) throw usageError(`--to: ${parsed.reason}`, parsed.hint);
  return parsed.value;
}
