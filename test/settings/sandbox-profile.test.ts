// Tests that `fleet sandbox` writes only to its own profile.

import { EventEmitter } from 'node:events';
import { beforeEach, expect, it } from 'vitest';
import { findPlace, type SettingsFolder } from '../../src/settings/config-folder.js';
import {
  isSandboxProfile,
  renewSandboxToken,
  saveSandboxProfile,
} from '../../src/settings/sandbox-profile.js';
import { loadProfiles, loadTokens, saveProfile, saveToken } from '../../src/settings/store.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';

const HERE = 'http://127.0.0.1:4010';
const REAL = 'https://sandbox.vendor.example.com';

let folder: string;
let place: SettingsFolder;

beforeEach(() => {
  folder = newFolder();
  place = findPlace({ FLEET_CONFIG_DIR: folder });
});

it.each<[string, object | undefined, boolean]>([
  ['sandbox', undefined, true],
  ['sandbox', {}, true],
  ['sandbox', { base_url: HERE }, true],
  ['sandbox', { base_url: 'http://[::1]:4010/api' }, true],
  ['sandbox', { base_url: REAL }, false],
  ['sandbox', { base_url: 'no address' }, false],
  ['default', { base_url: HERE }, false],
])('checks whether profile %s with settings %j belongs to the sandbox', (name, values, isOwn) => {
  expect(isSandboxProfile(name, values as Record<string, unknown> | undefined)).toBe(isOwn);
});

it('does not change the user profile named "sandbox"', async () => {
  await saveProfile(place, 'sandbox', { base_url: REAL });
  await saveToken(place, 'sandbox', 'the-real-token');
  const signals = new EventEmitter();
  const run = await runFleet(['sandbox', '--port', '0', '--sse-port', '0', '--json'], {
    env: { FLEET_CONFIG_DIR: folder },
    signals,
    onStdout: () => signals.emit('SIGINT'),
  });
  expect(run.code).toBe(130);
  const notices = run.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).notice);
  expect(notices[0]).toBe(
    `the profile "sandbox" was not saved: it holds another service, ${REAL}, and is left as it is`,
  );
  expect(notices[1]).toMatch(/^in another terminal, run: export FLEET_BASE_URL=http:/);
  expect(JSON.parse(run.stdout).profile).toBeNull();
  expect((await loadTokens(place)).get('sandbox')?.token).toBe('the-real-token');
  expect((await loadProfiles(place)).get('sandbox')).toEqual({ base_url: REAL });
});

it('a running sandbox renews only its own token', async () => {
  await saveSandboxProfile(place, { base_url: HERE }, 'first-token');
  expect(await renewSandboxToken(place, HERE, 'second-token')).toBe(true);
  await saveSandboxProfile(place, { base_url: 'http://127.0.0.1:4020' }, 'token-of-another');
  expect(await renewSandboxToken(place, HERE, 'third-token')).toBe(false);
  expect((await loadTokens(place)).get('sandbox')?.token).toBe('token-of-another');
});
