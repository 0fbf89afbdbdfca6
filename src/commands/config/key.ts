// The key that the operator wrote, for `config get`, `set` and `unset`.

import { unknownWord } from '../../cli/nearest.js';
import { findKey, KEY_NAMES, type KeyName } from '../../settings/keys.js';

/** The key of that name, `-` or `_` between its words. Throws a FleetError of kind `usage` that names the nearest. */
export function readKey(written: string): KeyName {
  const key = findKey(written);
  if (key === undefined) throw unknownWord('key', written, KEY_NAMES);
  return key;
}
