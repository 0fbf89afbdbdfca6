// Tests following commands when their token source fails at the start, and warnings about expiring
// tokens.

import { EventEmitter } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, type RunResult, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 20, rate: 20 });
const folder = newFolder();

/** A command that fails the first two times it runs. */
async function failingCommand(name: string): Promise<string> {
  const file = join(folder, name);
  const tries = `${file}.tries`;
  const token = await sandbox().token();
  const script = `echo x >> "${tries}"; [ "$(wc -l < "${tries}")" -gt 2 ] || { echo "vault is down" >&2; exit 1; }; echo ${token}`;
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o700);
  return file;
}

async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  options: RunOptions = {},
): Promise<RunResult> {
  const { FLEET_TOKEN: _none, ...others } = await environmentOf(sandbox());
  return runFleet(args, { ...options, env: { ...others, ...env } });
}

const organization = () => sandbox().organizations[0]?.uuid ?? '';
const bicycle = () => sandbox().bicycles(organization())[0]?.name ?? '';

test.concurrent.each<[string, () => string[], string]>([
  [
    'watch',
    () => ['watch', organization(), '--max-events', '1'],
    'not connected: the token command',
  ],
  [
    'watch without an organization',
    () => ['watch', '--max-events', '1'],
    'not connected: the token command',
  ],
  [
    'a bicycle by name',
    () => ['watch', organization(), '--bicycle', bicycle(), '--for', '20s'],
    'not connected',
  ],
  [
    'alerts watch',
    () => ['alerts', 'watch', '--for', '20s', '--every', '1s'],
    'could not be read: the token command',
  ],
  [
    'alerts of a name',
    () => ['alerts', 'watch', '--organization', 'Nordlicht Bikes', '--for', '20s'],
    'not connected',
  ],
])('%s: runs a token command again that fails at the start', async (name, args, said) => {
  const command = await failingCommand(name.replaceAll(' ', '-'));
  const FLEET_ORGANIZATION = name === 'watch without an organization' ? '' : organization();
  const got = await run(args(), { FLEET_TOKEN_COMMAND: command, FLEET_ORGANIZATION });
  expect(got.stderr).toContain(said);
  if (FLEET_ORGANIZATION !== '') expect(got.code).toBe(0);
  // The token arrived, because the error names its two organizations.
  else expect([got.code, got.stderr]).toEqual([2, expect.stringContaining('none was chosen')]);
});

test.concurrent.each<[string, (signals: EventEmitter) => string[], RegExp]>([
  [
    'mirror run',
    () => ['mirror', 'run', '--to', `sqlite:${join(folder, 'mirror.db')}`],
    / watching /,
  ],
  ['map --serve', () => ['map', '--serve', '0'], / watching /],
])(
  '%s: runs a token command again that fails at the start, and shows its state',
  async (name, args, stands) => {
    const command = await failingCommand(name.replaceAll(' ', '-'));
    const signals = new EventEmitter();
    let told = '';
    const got = await run(
      args(signals),
      { FLEET_TOKEN_COMMAND: command, FLEET_ORGANIZATION: organization() },
      {
        signals,
        onStderr(text) {
          told += text;
          if (stands.test(told)) signals.emit('SIGINT', 'SIGINT');
        },
      },
    );
    expect([got.code, got.stderr]).toEqual([
      130,
      expect.stringContaining('not connected: the token command'),
    ]);
  },
);

test('runs a failing token command again after its token was refused', async () => {
  const tries = join(folder, 'refused.tries');
  const script = join(folder, 'refused');
  const fails = `echo x >> "${tries}"; case $(wc -l < "${tries}") in *1) echo over-and-done ;; *[23]) exit 1 ;; *) echo`;
  await writeFile(script, `#!/bin/sh\n${fails} ${await sandbox().token()} ;; esac\n`);
  await chmod(script, 0o700);
  const { code, stderr } = await run(['watch', organization(), '--max-events', '1'], {
    FLEET_TOKEN_COMMAND: script,
  });
  expect([code, stderr]).toEqual([0, expect.stringContaining('not connected: the token command')]);
});

const FOLLOWERS = (): string[][] => [
  ['watch', organization(), '--for', '20s'],
  ['alerts', 'watch', '--for', '20s'],
  ['mirror', 'run', '--to', `sqlite:${join(folder, 'none.db')}`],
];

test.concurrent.each<[string, NodeJS.ProcessEnv]>([
  ['no token', {}],
  ['a token file that is not there', { FLEET_TOKEN_FILE: '/nonexistent/token' }],
  ['an invalid token', { FLEET_TOKEN: 'two words' }],
  ['a token command that is not there', { FLEET_TOKEN_COMMAND: '/nonexistent/command' }],
])('%s: exits with 3 because waiting cannot provide a token', async (_name, env) => {
  for (const args of FOLLOWERS()) {
    const { code, stderr } = await run(args, { FLEET_ORGANIZATION: organization(), ...env });
    expect({ args, code, stderr }).toMatchObject({ args, code: 3 });
  }
});

test.concurrent.each([
  ['within the hour, without --for', 1_800, [], true],
  ['after an hour, without --for', 7_200, [], false],
  ['before --for', 7_200, ['--for', '3h'], true],
  ['after --for', 1_800, ['--for', '10m'], false],
] as const)(
  'reports at the start that the token ends %s: %j',
  async (_name, expiresInSeconds, more, isSaid) => {
    const env = { FLEET_TOKEN: await sandbox().token({ expiresInSeconds }) };
    const { stderr } = await run(['watch', organization(), '--max-events', '1', ...more], env);
    expect(
      stderr.match(
        /the token \(FLEET_TOKEN\) ends in .*, at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d, and nothing renews it/g,
      ) ?? [],
    ).toHaveLength(isSaid ? 1 : 0);
  },
);
