// Which profile a login goes to: the one that is named, else the one in use if it is of the same service, else one named after the host.

import { usageError } from '../../errors.js';
import { KEYS, parseAddress } from '../../settings/keys.js';
import type { Setting } from '../../settings/resolve.js';
import { isSandboxProfile } from '../../settings/sandbox-profile.js';
import type { Stored } from '../../settings/store.js';

export interface LoginTarget {
  profile: string;
  /** Why it is another profile than the one in use; undefined when it is that one. */
  reason?: string;
  /** The address that the profile held before, when it is another service's: what else it held belonged to that one. */
  replaced?: URL;
}

/** Decides for an address; undefined where none is known. Throws a FleetError of kind `usage` for the profile of the sandbox. */
export function chooseTarget(
  stored: Stored,
  { value: profile, origin }: Setting<string>,
  address: URL | undefined,
): LoginTarget {
  const isNamed = origin === 'flag' || origin === 'environment';
  const isSandbox = isSandboxProfile(profile, stored.profiles.get(profile));
  if (isNamed && isSandbox)
    throw usageError(
      `the profile "${profile}" belongs to "fleet sandbox", which overwrites it`,
      'choose another name: fleet auth login --profile NAME',
    );
  const parsed = parseAddress(String(stored.profiles.get(profile)?.['base_url'] ?? ''));
  const held = 'value' in parsed && !isSandbox ? parsed.value : undefined;
  const isOther = held !== undefined && address !== undefined && held.origin !== address.origin;
  if (!isSandbox && (isNamed || !isOther)) return isOther ? { profile, replaced: held } : { profile };
  if (address === undefined)
    throw usageError(
      `the profile in use, "${profile}", belongs to "fleet sandbox"`,
      'give the address of the service: fleet auth login --base-url URL',
    );
  const name = address.host.replace(/[^\w.-]+/g, '-').replace(/^-/, '');
  const holds = held === undefined ? 'belongs to "fleet sandbox"' : `holds ${KEYS.base_url.show(held)}`;
  return { profile: name, reason: `"${profile}" ${holds}` };
}
