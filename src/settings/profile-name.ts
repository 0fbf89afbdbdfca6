// Checks profile names. A profile's mirror file has the profile's name, and Windows and macOS treat
// some different names as the same file.

import { usageError } from '../errors.js';
import { isDeviceName } from '../system/folder.js';
import { hideLikelyTokens, looksLikeToken } from '../system/secrets.js';
import { quoteForShell } from '../system/shell-words.js';
import { lazyPattern } from '../terminal/lazy-pattern.js';

/** The default profile. It exists even when no settings are stored in it. */
export const DEFAULT_PROFILE = 'default';

/**
 * A name must not need quotes, because users paste it into commands. The name `__proto__` is not
 * allowed.
 */
const PROFILE_NAME = lazyPattern(String.raw`^[\p{L}\p{N}][\p{L}\p{N}_.@-]{0,63}$`);

const ALLOWED = 'use up to 64 letters, digits and _ . @ -, a letter or digit first';

/**
 * Throws a FleetError of kind `usage` when a profile cannot have this name. The names of existing
 * profiles stay valid: older versions of fleet allowed two names that differ only in case.
 */
export function checkProfileName(name: string, existingNames: Iterable<string>): void {
  if (!PROFILE_NAME().test(name))
    throw usageError(`"${hideLikelyTokens(name)}" cannot be the name of a profile`, ALLOWED);
  const existing = new Set([DEFAULT_PROFILE, ...existingNames]);
  if (!existing.has(name)) checkNewName(name, existing);
}

function checkNewName(name: string, existing: ReadonlySet<string>): void {
  if (looksLikeToken(name))
    throw usageError(
      'the name of the new profile looks like a token, so it is not shown here',
      'choose a different name; to store a token, run "fleet auth login"',
    );
  const failure = `cannot create profile "${name}"`;
  if (isDeviceName(name, 'win32'))
    throw usageError(
      `${failure}: Windows reserves this name for a device`,
      'choose a different name',
    );
  if (name.endsWith('.'))
    throw usageError(
      `${failure}: Windows removes a dot at the end of a file name`,
      'remove the dot',
    );
  const folded = foldFileName(name);
  for (const other of existing) {
    if (foldFileName(other) !== folded) continue;
    throw usageError(
      `${failure}: profile "${other}" already exists, and ${describeDifference(name, other)}`,
      `use --profile ${other}, or choose a different name: on Windows and macOS both profiles would share one mirror file`,
    );
  }
}

/** Two or more stored profiles that would share one mirror file on Windows and macOS. */
export interface NameCollision {
  readonly problem: string;
  /** The command that deletes one of these profiles. */
  readonly command: string;
}

/**
 * Finds stored profiles whose names map to the same file name on Windows or macOS. Older versions
 * of fleet could create them. The suggested command avoids deleting the profile in use.
 */
export function describeCollisions(
  storedNames: Iterable<string>,
  active: string = DEFAULT_PROFILE,
): NameCollision[] {
  const stored = new Set(storedNames);
  const groups = groupByFile(new Set([DEFAULT_PROFILE, ...stored]));
  return groups.flatMap((names) => {
    if (names.length === 1) return [];
    const quoted = names.map((name) => `"${name}"`).join(' and ');
    const superfluous = names.findLast((name) => stored.has(name) && name !== active);
    return {
      problem: `the profiles ${quoted} share one mirror file on Windows and macOS`,
      command: `fleet profile delete ${quoteForShell(superfluous ?? active)}`,
    };
  });
}

function groupByFile(names: Iterable<string>): string[][] {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const folded = foldFileName(name);
    groups.set(folded, [...(groups.get(folded) ?? []), name]);
  }
  return [...groups.values()];
}

/**
 * Returns the same text for all names that Windows or macOS treat as the same file. Both ignore
 * case, macOS also ignores Unicode normalization, and Windows ignores dots and spaces at the end.
 */
function foldFileName(name: string): string {
  const composed = name.normalize('NFC').replace(/[. ]+$/, '');
  // The upper case of "ß" is "SS", but that of "ẞ" is "ẞ". Converting to lower case first makes
  // both equal.
  return composed.toLowerCase().toUpperCase().normalize('NFC');
}

function describeDifference(name: string, other: string): string {
  const [first, second] = [name.normalize('NFC'), other.normalize('NFC')];
  if (first === second) return 'the names differ only in their Unicode normalization';
  if (first.toLowerCase() === second.toLowerCase()) return 'the names differ only in case';
  return 'Windows or macOS treat the names as equal';
}
