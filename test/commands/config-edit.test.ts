// Tests which settings `fleet config edit` refuses, and how signals end it. The transcript
// test/transcripts/config/edit.md shows the command.

import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const BEFORE = {
  profile: 'berlin',
  profiles: { berlin: { base_url: 'https://a.example.com', timeout: 30 } },
  other: 1,
};

/** Runs `config edit` with an editor that writes this text. */
async function edit(text: string) {
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify(BEFORE), { mode: 0o600 });
  await writeFile(join(folder, 'text'), text);
  const run = await runFleet(['config', 'edit'], {
    env: {
      FLEET_CONFIG_DIR: folder,
      VISUAL: `cp ${join(folder, 'text')}`,
      PATH: process.env['PATH'],
    },
  });
  return { ...run, config: await readFile(config, 'utf8') };
}

test.each([
  [
    '{"profiles":',
    'error: what you wrote cannot be used: incomplete JSON; the settings are unchanged\n',
  ],
  ['[]', 'is not a JSON object'],
  ['{"profiles":{"a":1}}', 'the profile "a" is not a JSON object'],
  ['{"profiles":{"a b":{}}}', 'cannot be the name of a profile'],
  ['{"profiles":{"a":{"base_url":"ftp://x"}}}', 'base_url of profile "a": '],
  ['{"profiles":{"a":{"base_url":"http://x"}}}', 'would send the token unencrypted'],
  ['{"profiles":{"a":{"timeout":"soon","retries":-1}}}', '; retries of profile "a": '],
  ['{"profiles":{"a":{"output":{}}}}', 'output of profile "a" is neither text'],
  ['{"profile":"b","profiles":{}}', 'there is no profile "b"'],
])('`config edit` rejects %s and saves the typed text in a file', async (text, message) => {
  const { code, config, stderr } = await edit(text);
  expect([code, config]).toEqual([3, JSON.stringify(BEFORE)]);
  expect(stderr).toContain(message);
  const [, draft = ''] = /what you wrote is in (.*)\n/.exec(stderr) ?? [];
  expect(await readFile(draft, 'utf8')).toBe(text);
  await rm(draft);
});

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])('%s ends `config edit` and its editor without leaving a draft', async (signal, code) => {
  await writeFile(join(folder, 'config.json'), '{}', { mode: 0o600 });
  const editor = join(folder, 'editor');
  await writeFile(editor, `#!/bin/sh\necho $$ > ${folder}/on\nexec sleep 20\n`, { mode: 0o700 });
  const signals = new EventEmitter();
  const env = { FLEET_CONFIG_DIR: folder, PATH: process.env['PATH'], VISUAL: `${editor} --wait` };
  const run = runFleet(['config', 'edit'], { env, signals });
  const pid = () => readFile(join(folder, 'on'), 'utf8').catch(() => '');
  while ((await pid()) === '') await new Promise((go) => setTimeout(go, 10));
  // Only the editor reacts to Ctrl-C.
  signals.emit('SIGINT');
  signals.emit(signal);
  expect(await run).toEqual({ code, stdout: '', stderr: '' });
  expect((await readdir(folder)).sort()).toEqual(['config.json', 'editor', 'on']);
  await expect.poll(async () => spawnSync('kill', ['-0', (await pid()).trim()]).status).toBe(1);
});
