// Checks that two profiles never share a file: Windows and macOS treat different names as equal.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';

/** The same Korean syllables, composed and decomposed. The decomposed form consists of letters. */
const [COMPOSED, DECOMPOSED] = ['서울'.normalize('NFC'), '서울'.normalize('NFD')];

let folder: string;

beforeEach(() => {
  folder = join(newFolder(), 'settings');
});

const configPath = () => join(folder, 'config.json');
const env = () => ({ FLEET_CONFIG_DIR: folder, PATH: process.env['PATH'] });
const fleet = (args: readonly string[], stdin = '') => runFleet(args, { env: env(), stdin });
const setRetries = (profile: string) =>
  fleet(['config', 'set', 'retries', '5', '--profile', profile]);
const readProfiles = () => JSON.parse(readFileSync(configPath(), 'utf8')).profiles;

/** Writes settings as an older version of fleet may have left them. */
function writeProfiles(...names: string[]): void {
  const profiles = Object.fromEntries(names.map((name) => [name, { retries: 1 }]));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(configPath(), JSON.stringify({ profiles }), { mode: 0o600 });
}

/** Runs `config edit` with an editor that replaces the settings with these profiles. */
function editProfiles(...names: string[]) {
  const text = join(folder, 'text');
  const profiles = Object.fromEntries(names.map((name) => [name, { retries: 2 }]));
  writeFileSync(text, JSON.stringify({ profiles }));
  return runFleet(['config', 'edit'], { env: { ...env(), VISUAL: `cp ${text}` } });
}

describe('a new profile', () => {
  test.each([
    ['SANDBOX', 'sandbox', 'the names differ only in case'],
    ['Straße', 'STRASSE', 'Windows or macOS treat the names as equal'],
    [DECOMPOSED, COMPOSED, 'the names differ only in their Unicode normalization'],
    ['DEFAULT', 'default', 'the names differ only in case'],
  ])('a new profile named %s is rejected when %s exists', async (name, existing, difference) => {
    if (existing !== 'default') expect((await setRetries(existing)).code).toBe(0);
    const { code, stderr } = await setRetries(name);
    expect(code).toBe(2);
    expect(stderr).toBe(
      `error: cannot create profile "${name}": profile "${existing}" already exists, and ${difference}\n` +
        `hint: use --profile ${existing}, or choose a different name: on Windows and macOS both profiles would share one mirror file\n`,
    );
  });

  test.each([
    ['CON', 'Windows reserves this name for a device'],
    ['nul.berlin', 'Windows reserves this name for a device'],
    ['com¹', 'Windows reserves this name for a device'],
    ['berlin.', 'Windows removes a dot at the end of a file name'],
    ['berlin ', 'cannot be the name of a profile'],
  ])('a new profile cannot be named %j on any platform', async (name, reason) => {
    const { code, stderr } = await setRetries(name);
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });

  test.each(['console', 'com', 'berlin.con', 'Berlin', '서울'])(
    'can have the name %s',
    async (name) => {
      expect((await setRetries(name)).code).toBe(0);
      expect(Object.keys(readProfiles())).toEqual([name]);
    },
  );

  test('a login rejects an invalid name for a new profile before it reads the token', async () => {
    writeProfiles('berlin');
    const line = 'auth login --with-token --no-check --profile Berlin --base-url https://a.example';
    const { code, stderr } = await fleet(line.split(' '), 'a-token-to-keep');
    expect(code).toBe(2);
    expect(stderr).toContain('profile "berlin" already exists');
    expect(stderr).not.toContain('logging in');
    expect(readProfiles()).toEqual({ berlin: { retries: 1 } });
  });

  test('`config edit` rejects a new profile whose name collides with another profile', async () => {
    writeProfiles('berlin');
    for (const names of [
      ['berlin', 'BERLIN'],
      ['munich', 'Munich'],
    ]) {
      const { code, stderr } = await editProfiles(...names);
      expect(code).toBe(3);
      expect(stderr).toContain('the names differ only in case; the settings are unchanged');
    }
    expect(readProfiles()).toEqual({ berlin: { retries: 1 } });
  });

  test('a profile can be renamed when only the case of its name changes', async () => {
    writeProfiles('berlin');
    expect((await editProfiles('Berlin')).code).toBe(0);
    expect(readProfiles()).toEqual({ Berlin: { retries: 2 } });
  });

  test('only one process succeeds when several create colliding profiles concurrently', async () => {
    const names = ['berlin', 'Berlin', 'BERLIN', 'bERLIN'];
    const runs = await Promise.all(names.map((name) => setRetries(name)));
    expect(runs.map(({ code }) => code).sort()).toEqual([0, 2, 2, 2]);
    expect(Object.keys(readProfiles())).toHaveLength(1);
  });
});

describe('a profile name that differs only in case', () => {
  test('a read command suggests the existing spelling of a profile name', async () => {
    writeProfiles('berlin', 'munich');
    const { code, stderr } = await fleet(['config', 'get', 'retries', '--profile', 'BERLIN']);
    expect(code).toBe(3);
    expect(stderr).toContain('did you mean "berlin"?');
  });
});

describe('existing settings with colliding names', () => {
  beforeEach(() => writeProfiles('sandbox', 'SANDBOX', 'con'));

  test('existing settings with colliding names can be read and changed', async () => {
    for (const name of ['sandbox', 'SANDBOX', 'con']) {
      const read = await fleet(['config', 'get', 'retries', '--profile', name]);
      expect(read).toMatchObject({ code: 0, stdout: '1\n' });
      expect((await setRetries(name)).code).toBe(0);
    }
    expect((await editProfiles('sandbox', 'SANDBOX', 'con')).code).toBe(0);
    expect(readProfiles()).toEqual({
      sandbox: { retries: 2 },
      SANDBOX: { retries: 2 },
      con: { retries: 2 },
    });
  });

  test('existing settings with colliding names cause a warning that suggests a fix', async () => {
    const problem =
      'the profiles "sandbox" and "SANDBOX" share one mirror file on Windows and macOS';
    const list = await fleet(['profile', 'list']);
    expect(list.code).toBe(0);
    expect(list.stderr).toContain(
      `warning: ${problem}; to delete one of them, run: fleet profile delete SANDBOX\n`,
    );
    const findings = JSON.parse((await fleet(['doctor', '--json'])).stdout);
    expect(findings).toContainEqual({
      check: 'profiles',
      outcome: 'warning',
      finding: problem,
      next: 'fleet profile delete SANDBOX',
    });

    await fleet(['profile', 'use', 'SANDBOX']);
    expect((await fleet(['profile', 'list'])).stderr).toContain('fleet profile delete sandbox\n');
    expect((await fleet(['profile', 'delete', 'sandbox', '--yes'])).code).toBe(0);
    expect((await fleet(['profile', 'list'])).stderr).not.toContain('share one mirror file');
  });
});
