// Tests that fleet does not repeat secrets that the user typed in the wrong place.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWFubg';
const KEY = '9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b';
const URL_SAFE = 'kQ9x_Vb-7TzLm2-RwY8pA_cD3eFgH-iJ4kLm5NoPqRs';

const run = (line: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runFleet(line, { env: { FLEET_CONFIG_DIR: newFolder(), ...env } });

describe.each([
  ['a JWT', JWT],
  ['a key', KEY],
  ['a URL-safe token', URL_SAFE],
])('an environment variable that contains %s', (_name, token) => {
  test.each([
    'FLEET_TOKEN_FILE',
    'FLEET_TOKEN_COMMAND',
    'FLEET_ORGANIZATION',
    'FLEET_PROFILE',
    'FLEET_API_VERSION',
    'FLEET_OUTPUT',
    'FLEET_READ_ONLY',
  ])('no command shows the value of %s', async (variable) => {
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

test('an error shows a token file path that looks like a token', async () => {
  const path = join(newFolder(), KEY);
  const { code, stderr } = await run(['auth', 'token'], { FLEET_TOKEN_FILE: path });
  expect([code, stderr]).toEqual([3, expect.stringContaining(path)]);
  writeFileSync(path, KEY);
  const listed = await run(['config', 'list'], { FLEET_TOKEN_FILE: path });
  expect(listed.stdout).toContain(path);
});

test.each([JWT, KEY, URL_SAFE])(
  'refuses a new profile when its name looks like a token: %s',
  async (token) => {
    const { code, stderr } = await run(['config', 'set', 'retries', '2', '--profile', token]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('looks like a token')]);
    expect(stderr).not.toContain(token);
  },
);

describe.each([
  ['a JWT', JWT],
  ['a key', KEY],
  ['a URL-safe token', URL_SAFE],
])('errors do not repeat %s', (_name, token) => {
  test.each([
    ['bicycles', 'list', '--profile', token],
    ['bicycles', 'list', '--param', token],
    ['bicycles', 'list', '--where', token],
    ['bicycles', 'list', '--timezone', token],
    ['bicycles', 'list', '--page-size', token],
    ['bicycles', 'list', token],
    ['auth', 'login', '--email', token, '--base-url', 'http://127.0.0.1:1'],
    ['auth', 'login', '--profile', token, '--base-url', 'http://127.0.0.1:1'],
    ['config', 'set', `token=${token}`],
    ['alias', 'delete', token],
    ['alerts', 'listen', '--secret-env', token],
    ['api', '/x/', '-H', token],
    ['api', '/x/', '-F', token],
    ['rounds', '--router', token, '--from', '52,13'],
    ['sandbox', '--fault', token],
  ])('%s %s %s %s', async (...line) => {
    for (const more of [[], ['--json']]) {
      const { code, stderr } = await run([...line, ...more], {
        FLEET_BASE_URL: 'http://127.0.0.1:1',
      });
      expect([code, stderr]).toEqual([expect.any(Number), expect.stringMatching(/\w/)]);
      expect(code).toBeGreaterThan(0);
      expect(stderr).not.toContain(token.slice(0, 20));
    }
  });
});

const PASSWORD = 'hV7kq9Zt';

test.each([
  ['rounds', '--from', '52,13', '--router', `u:${PASSWORD}@router.invalid`],
  ['rounds', '--from', '52,13', '--router', `htps://u:${PASSWORD}@router.invalid`],
  ['map', '--tiles', `//u:${PASSWORD}@tiles.invalid/`],
  ['map', '--tiles', `https://tiles.invalid/?api_key=${PASSWORD}`],
  ['sandbox', '--webhook', `https://u:${PASSWORD}@127.0.0.1/`],
  ['bicycles', 'list', '--offline', '--to', `sqlite:u:${PASSWORD}@db.invalid`],
  ['bicycles', 'list', '--offline', '--to', `sqlite:postgres://u:${PASSWORD}@db.invalid/fleet`],
  ['bicycles', 'list', '--timezone', `{"password": "${PASSWORD}"}`],
  ['bicycles', 'list', '--timezone', `Authorization: Basic ${PASSWORD}`],
])('errors do not repeat the password in %s %s %s %s', async (...line) => {
  const { code, stderr } = await run(line);
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('error')]);
  expect(code).toBeGreaterThan(0);
  expect(stderr).not.toContain(PASSWORD);
});

describe.each(['Summer#2026', 'a,b&cdefgh9', 'Sum mer;2026', `it's"4\\me9x`])(
  'errors do not repeat the password %s',
  (password) => {
    test.each([
      ['auth', 'login', '--email', 'a@b.example', `--password=${password}`],
      ['config', 'set', `token=${password}`],
      ['bicycles', 'list', '--timezone', `X-Api-Key: ${password}`],
    ])('in the command fleet %s %s %s %s %s', async (...line) => {
      for (const more of [[], ['--json']]) {
        const { code, stderr } = await run([...line.filter(Boolean), ...more]);
        expect([code, stderr]).toEqual([
          2,
          expect.stringMatching(/\[hidden\]|option '--password'/),
        ]);
        expect(stderr).not.toContain(password.slice(-4));
      }
    });
  },
);

test.each([
  ['auth', 'login', '--email', `ann:${PASSWORD}`],
  ['auth', 'login', '--email', `ann@example.org:${PASSWORD}`, '--no-input'],
  ['auth', 'login', '--user', `ann:${PASSWORD}`],
  ['auth', 'login', '--email', 'ann@example.org', `--pass=${PASSWORD}`],
  ['auth', 'login', '--email', 'ann@example.org', `--password-stdin=${PASSWORD}`],
  ['auth', 'login', '--email', 'ann@example.org', `--code=${PASSWORD}`],
  ['auth', 'login', '--email', 'ann@example.org', `-p${PASSWORD}`],
  ['api', '-u', `ann:${PASSWORD}`, '/bicycles/'],
  ['api', '/login/', '--input', `{"pass":"${PASSWORD}"}`],
  ['bicycles', 'list', '--param', `key ${PASSWORD}`],
  ['bicycles', 'act', 'B1', 'rent', '--field', `key ${PASSWORD}`],
  ['gbfs', '--set', `key ${PASSWORD}`],
  ['sandbox', '--webhook', `hooks.example.com/services/${PASSWORD}`],
])('errors do not repeat a password typed in a wrong syntax: %s %s %s %s %s', async (...line) => {
  const env = { FLEET_TOKEN: JWT, FLEET_BASE_URL: 'http://127.0.0.1:1' };
  const { code, stderr } = await run(line, env);
  expect([code, stderr]).toEqual([2, expect.stringContaining('error')]);
  expect(stderr).not.toContain(PASSWORD);
});

test('an error shows an unknown flag but not its value', async () => {
  const { stderr } = await run(['bicycles', 'list', '--colour=red']);
  expect(stderr).toContain("unknown option '--colour'");
});

test('-v hides the password in a field or parameter named `pass`', async () => {
  const env = { FLEET_TOKEN: JWT, FLEET_BASE_URL: 'http://127.0.0.1:1' };
  for (const line of [
    ['api', '/login/', '-f', `pass=${PASSWORD}`],
    ['api', `/login/?pass=${PASSWORD}`, '--retries', '0'],
  ]) {
    const { stderr } = await run([...line, '-v'], env);
    expect(stderr).toContain('/login/');
    expect(stderr).not.toContain(PASSWORD);
  }
});

test('errors do not repeat a secret typed instead of a variable name', async () => {
  const { code, stderr } = await run(['alerts', 'listen', '--secret-env', PASSWORD]);
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining('pass the name of an environment variable'),
  ]);
  expect(stderr).not.toContain(PASSWORD);
});

test.each([
  ['-H', `X-Api-Key ${PASSWORD}`],
  ['-H', PASSWORD],
  ['-f', `password ${PASSWORD}`],
  ['-F', PASSWORD],
])('an error does not repeat the key in `api %s %s`', async (...flags) => {
  const { code, stderr } = await run(['api', '/x/', ...flags], {
    FLEET_TOKEN: JWT,
    FLEET_BASE_URL: 'http://127.0.0.1:1',
  });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/a (?:field|header) must/)]);
  expect(stderr).not.toContain(PASSWORD);
});

test('an error does not repeat the key in an address without a scheme', async () => {
  const address = 'router.invalid/route?key=S3-cret';
  const { code, stderr } = await run(['rounds', '--from', '52,13', '--router', address]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--router must be')]);
  expect(stderr).not.toContain('S3-cret');
});

test('errors still repeat values that are not secrets', async () => {
  for (const value of [
    'Report-2026-11-29-Nordlicht-Bikes-Berlin-Mitte',
    'a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d',
    'ann@example.org',
    'password_set=true',
    'token',
    '2026-11-29T01:02',
    'a:b',
  ]) {
    const { stderr } = await run(['bicycles', 'list', '--timezone', value]);
    expect(stderr).toContain(`"${value}"`);
  }
});

const SECRET_COMMANDS = [
  ['curl -d client_secret=S3-cret https://id.example/', 'client_secret=[hidden]'],
  ['vault login --password S3-cret', '--password [hidden]'],
  ['curl https://ann:S3-cret@id.example/', 'ann:[hidden]@'],
  ['curl -s -u ann:S3-cret https://id.example/', '-u ann:[hidden] https'],
  ['curl -su ann:S3-cret https://id.example/', '-su ann:[hidden] https'],
  ["curl --user 'ann:S3-cret #2' https://id.example/", "'ann:[hidden]'"],
  ['http -a ann:S3-cret https://id.example/', '-a ann:[hidden] https'],
  ['curl -d user=ann -d pass=S3-cret https://id.example/', 'pass=[hidden]'],
  ['DB_PASS=S3-cret get-token', 'DB_PASS=[hidden]'],
  ["sshpass -p 'S3-cret' ssh id.example token", 'sshpass -p'],
  ['docker run -u 1000:1000 -e USER=ann:S3 id', '-u 1000:1000 -e USER=ann:S3 id'],
] as const;

test.each(SECRET_COMMANDS)(
  '`config set token_command` prints a notice without the secret in %s',
  async (value, shown) => {
    const env = { FLEET_CONFIG_DIR: newFolder() };
    const { code, stderr } = await run(['config', 'set', 'token_command', value], env);
    expect([code, stderr]).toEqual([0, expect.stringContaining(shown)]);
    expect(stderr).not.toContain('S3-cret');
  },
);

const COMMANDS = [...SECRET_COMMANDS.map(([value]) => value), 'echo S3-cret'];

test.each<[key: string, value: string]>([
  ...COMMANDS.map((value): [string, string] => ['token_command', value]),
  ['defaults.alerts watch.exec', "curl -H 'X-Api-Key: S3-cret' https://a.example/"],
  ['defaults.alerts watch.exec', 'notify S3-cret'],
  ['defaults.alerts watch.post', 'https://hooks.example/T0/S3-cret-of-the-hook'],
])('`config list` hides %s = %s, but `config get` prints it', async (key, value) => {
  const env = { FLEET_CONFIG_DIR: newFolder() };
  expect((await runFleet(['config', 'set', key, value], { env })).code).toBe(0);
  const list = await runFleet(['config', 'list', '--json'], { env });
  const rows: { key: string; value: unknown }[] = JSON.parse(list.stdout);
  expect(rows.find((row) => row.key === key)?.value).toBe('(hidden)');
  const table = await runFleet(['config', 'list'], { env });
  expect(table.stdout).not.toContain('S3-cret');
  expect((await runFleet(['config', 'get', key], { env })).stdout).toBe(`${value}\n`);
});

test('`config list` hides the query string in a default URL', async () => {
  const env = { FLEET_CONFIG_DIR: newFolder() };
  const address = 'https://router.example/route?key=S3-cret';
  const set = ['config', 'set', 'defaults.rounds.router', address];
  expect((await runFleet(set, { env })).code).toBe(0);
  const { stdout } = await runFleet(['config', 'list'], { env });
  expect(stdout).toContain('https://router.example/route?[hidden]');
});

describe('an alias with secrets in its line', () => {
  const HOOK = 'https://hooks.example/services/T012/S3-cret-of-the-webhook';
  const LINE = `api /bicycles/$1/ -H 'X-Api-Key: S3-cret' --post ${HOOK}`;
  const settings = () => {
    const folder = newFolder();
    const path = join(folder, 'config.json');
    writeFileSync(path, JSON.stringify({ aliases: { ring: LINE } }), { mode: 0o600 });
    return { FLEET_CONFIG_DIR: folder };
  };
  const hidden = `api /bicycles/$1/ -H 'X-Api-Key: [hidden]' --post https://hooks.example/services/T012/[hidden]`;

  test.each([['text'], ['JSON']])(
    'the error for a missing argument hides them (%s)',
    async (form) => {
      const line = form === 'JSON' ? ['--json', 'ring'] : ['ring'];
      const { code, stderr } = await runFleet(line, { env: settings() });
      expect(code).toBe(2);
      expect(stderr).toContain(`the alias expands to: fleet ${hidden}`);
    },
  );

  test('`alias set` hides them when it shows the replaced line', async () => {
    const line = ['alias', 'set', 'ring', 'alerts list'];
    const { stderr } = await runFleet(line, { env: settings() });
    expect(stderr).toContain(`now runs: fleet alerts list (before: fleet ${hidden})`);
  });

  test('the hint of `alias import` hides them', async () => {
    const file = join(newFolder(), 'aliases.yaml');
    writeFileSync(file, JSON.stringify({ ring: `fleet ${LINE}` }));
    const { code, stderr } = await runFleet(['alias', 'import', file], { env: settings() });
    expect(code).toBe(2);
    expect(stderr).toContain("did you mean: fleet alias set ring 'api /bicycles/$1/");
    expect(stderr).not.toContain('S3-cret');
  });

  test('`alias list` does not hide the secrets in the line of an alias', async () => {
    const { stdout } = await runFleet(['alias', 'list', '--json'], { env: settings() });
    expect(JSON.parse(stdout)).toEqual([{ name: 'ring', line: LINE }]);
  });
});
