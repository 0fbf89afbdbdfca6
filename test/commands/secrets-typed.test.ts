// Tests that fleet does not repeat secrets that the user typed in the wrong place.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWFubg';
const KEY = '9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b';

const run = (line: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runFleet(line, { env: { FLEET_CONFIG_DIR: newFolder(), ...env } });

describe.each([
  ['a JWT', JWT],
  ['a key', KEY],
])('when a variable contains %s', (_name, token) => {
  test.each([
    'FLEET_TOKEN_FILE',
    'FLEET_TOKEN_COMMAND',
    'FLEET_ORGANIZATION',
    'FLEET_PROFILE',
    'FLEET_API_VERSION',
    'FLEET_OUTPUT',
    'FLEET_READ_ONLY',
  ])('no command repeats %s', async (variable) => {
    for (const line of [['config', 'list'], ['auth', 'status'], ['doctor'], ['bicycles', 'list']]) {
      const { stdout, stderr } = await run(line, {
        FLEET_BASE_URL: 'http://127.0.0.1:1',
        [variable]: token,
      });
      const shown = stdout + stderr;
      expect([line, shown]).toEqual([line, expect.not.stringContaining(token.slice(0, 20))]);
      expect(shown).toMatch(/\w/);
    }
  });
});

test('errors name a token file in a folder with a long name', async () => {
  const path = join(newFolder(), KEY);
  const { code, stderr } = await run(['auth', 'token'], { FLEET_TOKEN_FILE: path });
  expect([code, stderr]).toEqual([3, expect.stringContaining(path)]);
  writeFileSync(path, KEY);
  const listed = await run(['config', 'list'], { FLEET_TOKEN_FILE: path });
  expect(listed.stdout).toContain(path);
});

test.each([JWT, KEY])('refuses a new profile with the name %s', async (token) => {
  const { code, stderr } = await run(['config', 'set', 'retries', '2', '--profile', token]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('looks like a token')]);
  expect(stderr).not.toContain(token);
});
