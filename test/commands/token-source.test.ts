// Tests mirrors and maps whose token source fails at the start, and a token command that fails after
// its token was refused. The transcripts test/transcripts/auth/token-sources.md and token-ends.md show
// `watch` and `alerts watch`.

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

test.concurrent.each<[string, (signals: EventEmitter) => string[], RegExp]>([
  [
    'mirror run',
    () => ['mirror', 'run', '--to', `sqlite:${join(folder, 'mirror.db')}`],
    / watching /,
  ],
  ['map --serve', () => ['map', '--serve', '0'], / watching /],
])('%s: runs a failing token command again at startup', async (name, args, stands) => {
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
});

test('after a refused token, runs the token command again until it succeeds', async () => {
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

test.concurrent.each<[string, NodeJS.ProcessEnv]>([
  ['no token', {}],
  ['a token file that is not there', { FLEET_TOKEN_FILE: '/nonexistent/token' }],
  ['an invalid token', { FLEET_TOKEN: 'two words' }],
  ['a token command that is not there', { FLEET_TOKEN_COMMAND: '/nonexistent/command' }],
])(
  '%s: `mirror run` exits with 3 when no token can be obtained',
  async (name, env) => {
    const args = ['mirror', 'run', '--to', `sqlite:${join(folder, `${name}.db`)}`];
    const { code, stderr } = await run(args, { FLEET_ORGANIZATION: organization(), ...env });
    expect({ code, stderr }).toMatchObject({ code: 3 });
  },
  60_000,
);
