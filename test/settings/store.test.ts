// Tests the settings files after each change, their modes, and unreadable files.

import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { findPlace } from '../../src/settings/config-folder.js';
import {
  deleteProfile,
  deleteToken,
  loadStored,
  loadTokens,
  type Stored,
  saveProfile,
  saveToken,
  useProfile,
} from '../../src/settings/store.js';
import { newFolder } from '../support/folder.js';

let folder: string;
let env: NodeJS.ProcessEnv;
let stored: Stored;

beforeEach(async () => {
  folder = join(newFolder(), 'config of fleet');
  env = { FLEET_CONFIG_DIR: folder };
  stored = await loadStored(env);
});

const readJson = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8'));

describe('the settings store', () => {
  it('the settings store does not install signal handlers', async () => {
    const listeners = () =>
      (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const).map((each) => process.listeners(each));
    const before = listeners();
    await saveProfile(stored, 'default', {});
    expect(listeners()).toEqual(before);
  });

  it.each([
    ['deleteToken', deleteToken],
    ['deleteProfile', deleteProfile],
  ])('%s deletes the draft file of a killed login', async (_name, remove) => {
    await saveProfile(stored, 'default', {});
    // The killed process also left its locks.
    for (const name of ['credentials.json.new.tmp-123', 'credentials.json.lock'])
      await writeFile(join(folder, name), name.endsWith('lock') ? '' : '{"tokens":', {
        mode: 0o600,
      });
    await remove(stored, 'default');
    expect(await readdir(folder)).toEqual(['config.json']);
  });

  it('does not create a settings folder when there is no token to delete', async () => {
    expect(await deleteToken(stored, 'default')).toBe(false);
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('a write merges values and keeps unknown keys', async () => {
    await saveProfile(stored, 'default', { organization: 'o', retries: 1 });
    const before = await readJson('config.json');
    await writeFile(
      stored.configPath,
      JSON.stringify({
        ...before,
        future: [1],
        profiles: { default: { ...before.profiles.default, protected: true } },
      }),
    );
    await saveProfile(stored, 'default', { retries: undefined, api_version: '1.0' });
    expect(await readJson('config.json')).toEqual({
      future: [1],
      profiles: { default: { organization: 'o', protected: true, api_version: '1.0' } },
    });
  });

  it('writing a settings file resets its mode to 0600', async () => {
    await saveToken(stored, 'a', 'secret');
    await chmod(stored.credentialsPath, 0o644);
    await saveToken(stored, 'a', 'secret');
    expect((await stat(stored.credentialsPath)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['not JSON', '{"profiles": {"default": {"base_url": "secret'],
    ['not an object', '["secret"]'],
    ['a list of profiles', '{"profiles": ["secret"]}'],
    ['a profile that is not an object', '{"profiles": {"default": "secret"}}'],
  ])('does not change settings that cannot be parsed: %s', async (_what, text) => {
    await saveProfile(stored, 'default', {});
    await writeFile(stored.configPath, text);
    const refused = expect.objectContaining({
      kind: 'config',
      message: expect.stringContaining(`${stored.configPath} cannot be understood`),
      hint: expect.stringContaining(`mv '${stored.configPath}' '${stored.configPath}.broken'`),
    });
    await expect(loadStored(env)).rejects.toEqual(refused);
    await expect(saveProfile(stored, 'default', {})).rejects.toEqual(refused);
    await expect(useProfile(stored, 'default')).rejects.toEqual(refused);
    await expect(loadStored(env)).rejects.not.toThrow('secret');
    expect(await readFile(stored.configPath, 'utf8')).toBe(text);
  });

  it('does not change a credentials file that cannot be parsed', async () => {
    await saveToken(stored, 'a', 'secret');
    await writeFile(stored.credentialsPath, '{"tokens": {"a": "secret');
    await expect(loadTokens(stored)).rejects.toThrow(
      `${stored.credentialsPath} cannot be understood: incomplete JSON`,
    );
    await expect(saveToken(stored, 'b', 'other')).rejects.toThrow('cannot be understood');
    expect(await readFile(stored.credentialsPath, 'utf8')).toBe('{"tokens": {"a": "secret');
  });

  it('explains why the settings cannot be written', async () => {
    await writeFile(join(folder, '..', 'file'), '');
    const below = findPlace({ FLEET_CONFIG_DIR: join(folder, '..', 'file', 'below') });
    await expect(saveToken(below, 'a', 'secret')).rejects.toMatchObject({ kind: 'config' });
  });

  it.each(['', '__proto__', 'a b', '../x', '-x', 'x\u001b[31m', 'x'.repeat(65)])(
    'rejects the profile name %j',
    async (name) => {
      await expect(saveProfile(stored, name, {})).rejects.toMatchObject({ kind: 'usage' });
      await expect(saveToken(stored, name, 'secret')).rejects.toMatchObject({ kind: 'usage' });
    },
  );

  it('accepts the names of built-in object properties as keys', async () => {
    await saveProfile(stored, 'constructor', { retries: 1 });
    expect([...(await loadStored(env)).profiles]).toEqual([['constructor', { retries: 1 }]]);
    expect((await loadTokens(stored)).has('constructor')).toBe(false);
  });
});
