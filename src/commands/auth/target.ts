// Which profile a login goes to: the one that is named, else the one in use if it is of the same service, else one named after the host.

import { prefixVariants } from '../../api/prefix.js';
import { usageError } from '../../errors.js';
import { KEYS, parseAddress } from '../../settings/keys.js';
import type { Setting } from '../../settings/resolve.js';
import { isSandboxProfile } from '../../settings/sandbox-profile.js';
import type { Stored } from '../../settings/store.js';

export interface LoginTarget {
  profile: string;
  /** Why it is another profile than the one in use; undefined when it is that one, or was named. */
  reason: string | undefined;
  /** The address that the profile held before, when it is another service's: what else it held belonged to that one. */
  replaced: URL | undefined;
}

/** The profile in use, whether the operator named it for this run (`--profile`, FLEET_PROFILE), and whether it is the sandbox's own. */
export interface Chosen {
  profile: string;
  isNamed: boolean;
  isSandbox: boolean;
}

/** Throws a FleetError of kind `usage` when the operator named the sandbox's profile. */
export function chooseNamed(stored: Stored, { value: profile, origin }: Setting<string>): Chosen {
  const isNamed = origin === 'flag' || origin === 'environment';
  const isSandbox = isSandboxProfile(profile, stored.profiles.get(profile));
  if (!isNamed || !isSandbox) return { profile, isNamed, isSandbox };
  throw usageError(
    `the profile "${profile}" belongs to "fleet sandbox", which overwrites it`,
    'choose another name: fleet auth login --profile NAME',
  );
}

/** The address that a profile holds. */
export function addressText(stored: Stored, profile: string): URL | undefined {
  const parsed = parseAddress(String(stored.profiles.get(profile)?.['base_url'] ?? ''));
  return 'value' in parsed ? parsed.value : undefined;
}

/** Decides for an address; undefined where none is known. */
export function chooseTarget(stored: Stored, chosen: Chosen, address: URL | undefined): LoginTarget {
  const { profile, isNamed, isSandbox } = chosen;
  const held = addressText(stored, profile);
  const isSame = address === undefined || held === undefined || isSameService(held, address);
  if (isNamed || (isSame && !isSandbox)) return { profile, reason: undefined, replaced: isSame ? undefined : held };
  if (address === undefined) throw new Error('an address is needed: that of the sandbox changes with each start');
  const reason = isSandbox
    ? `"${profile}" belongs to "fleet sandbox"`
    : `"${profile}" holds ${held === undefined ? 'no address' : KEYS.base_url.show(held)}`;
  return { profile: nameFor(stored, address), reason, replaced: undefined };
}

/** Whether two addresses are of one service: the same, or different in the prefix that is easily forgotten. */
function isSameService(one: URL, other: URL): boolean {
  const href = ({ origin, pathname }: URL) => origin + pathname.replace(/\/+$/, '');
  return [one, ...prefixVariants(one)].some((variant) => href(variant) === href(other));
}

/** The profile that holds the address already, else a free name made of its host: `bikes.example.com`. */
function nameFor(stored: Stored, address: URL): string {
  for (const [name, values] of stored.profiles) {
    const held = addressText(stored, name);
    if (held !== undefined && isSameService(held, address) && !isSandboxProfile(name, values)) return name;
  }
  const host = address.host
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/^[^\p{L}\p{N}]+|-+$/gu, '')
    .slice(0, 60);
  const base = host === '' ? 'service' : host;
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!stored.profiles.has(name) && !isSandboxProfile(name, undefined)) return name;
  }
}
