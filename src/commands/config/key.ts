// The key that the operator wrote, for `config get`, `set` and `unset`.

import { nearest } from '../../cli/nearest.js';
import { usageError } from '../../errors.js';
import { findKey, KEY_NAMES, type KeyName } from '../../settings/keys.js';

/** The key of that name, `-` or `_` between its words. Throws a FleetError of kind `usage` that names the nearest. */
export function readKey(written: string): KeyName {
  const key = findKey(written);
  if (key !== undefined) return key;
  const name = written.toLowerCase().replaceAll('-', '_');
  const instead =
    name === 'token'
      ? 'tokens are not settings: see "fleet auth login" and "fleet auth token"'
      : name === 'profile'
        ? 'the profile in use is chosen with: fleet profile use NAME'
        : undefined;
  if (instead !== undefined) throw usageError(`"${written}" is not a key of a profile`, instead);
  const meant = nearest(name, KEY_NAMES);
  throw usageError(
    `unknown key "${written}"`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}keys: ${KEY_NAMES.join(', ')}`,
  );
}
