// The profile of `fleet sandbox`. No other command logs in to this profile, and the sandbox does
// not change other profiles.

import { configError } from '../errors.js';
import { isLoopback } from '../http/loopback.js';
import type { SettingsFolder } from './config-folder.js';
import { loadProfiles, type ProfileValues, saveProfile, saveToken } from './store.js';

/** The name of the sandbox's profile. */
export const SANDBOX_PROFILE = 'sandbox';

/**
 * Whether `fleet sandbox` may change the profile. This is the case when the profile has this name
 * and its address is on this machine.
 */
export function isSandboxProfile(
  name: string,
  values: Readonly<Record<string, unknown>> | undefined,
): boolean {
  const address = String(values?.['base_url'] ?? 'http://localhost');
  return name === SANDBOX_PROFILE && URL.canParse(address) && isLoopback(new URL(address));
}

/**
 * Saves the addresses, the organization and the token of a running sandbox. When the operator has
 * created another profile with this name, throws a FleetError of kind `config` and changes nothing.
 */
export async function saveSandboxProfile(
  place: SettingsFolder,
  values: ProfileValues,
  token: string,
): Promise<void> {
  const found = (await loadProfiles(place)).get(SANDBOX_PROFILE);
  if (!isSandboxProfile(SANDBOX_PROFILE, found))
    throw configError(
      `it holds another service, ${String(found?.['base_url'])}, and is left as it is`,
    );
  await saveProfile(place, SANDBOX_PROFILE, values);
  await saveToken(place, SANDBOX_PROFILE, token);
}

/**
 * Saves a newer token of a running sandbox, unless the address of the profile has changed. Returns
 * whether the token was saved.
 */
export async function renewSandboxToken(
  place: SettingsFolder,
  baseUrl: string,
  token: string,
): Promise<boolean> {
  const found = (await loadProfiles(place)).get(SANDBOX_PROFILE);
  if (found?.['base_url'] !== baseUrl) return false;
  await saveToken(place, SANDBOX_PROFILE, token);
  return true;
}
