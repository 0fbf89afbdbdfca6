// Tests `fleet config edit`: the result of the editor is checked before it replaces the settings.

import { spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
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

/**
 * Runs `config edit` with an editor that writes this text, or does not change the file when
 * undefined.
 */
async function edit(text: string | undefined, before: string | undefined = JSON.stringify(BEFORE)) {
  const config = join(folder, 'config.json');
  if (before !== undefined) await writeFile(config, before, { mode: 0o600 });
  await writeFile(join(folder, 'text'), text ?? '');
  const editor = join(folder, 'editor');
  await writeFile(
    editor,
    `#!/bin/sh\nstat -c %a "$1" "$(dirname "$1")" > ${folder}/modes\n${text === undefined ? '' : `cat ${folder}/text > "$1"`}\n`,
  );
  await chmod(editor, 0o700);
  const run = await runFleet(['config', 'edit'], {
    env: { FLEET_CONFIG_DIR: folder, VISUAL: editor, PATH: process.env['PATH'] },
  });
  return { ...run, config: await readFile(config, 'utf8').catch(() => undefined) };
}

test('`config edit` saves the complete text with mode 0600 and removes deleted keys', async () => {
  const after = {
    profile: 'paris',
    profiles: { paris: { base_url: 'https://b.example.com', retries: 5 } },
  };
  const { code, config, stderr } = await edit(JSON.stringify(after));
  expect([code, stderr]).toEqual([0, `saved ${join(folder, 'config.json')}\n`]);
  expect(JSON.parse(config ?? '')).toEqual(after);
  expect((await stat(join(folder, 'config.json'))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, 'modes'), 'utf8')).toBe('600\n700\n');
});

test('`config edit` writes nothing when nothing was changed', async () => {
  const { code, config, stderr } = await edit(undefined);
  expect([code, config, stderr]).toEqual([0, JSON.stringify(BEFORE), 'nothing was changed\n']);
});

test('`config edit` keeps an unknown key and warns about it', async () => {
  const { code, config, stderr } = await edit('{"profiles":{"a":{"colour":"red"}}}');
  expect([code, stderr]).toEqual([0, expect.stringContaining('a.colour is not a known setting')]);
  expect(JSON.parse(config ?? '')).toEqual({ profiles: { a: { colour: 'red' } } });
});

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
])('`config edit` rejects %s, keeps the old settings and saves the text', async (text, message) => {
  const { code, config, stderr } = await edit(text);
  expect([code, config]).toEqual([3, JSON.stringify(BEFORE)]);
  expect(stderr).toContain(message);
  const [, draft = ''] = /what you wrote is in (.*)\n/.exec(stderr) ?? [];
  expect(await readFile(draft, 'utf8')).toBe(text);
  await rm(draft);
});

test('`config edit` can repair unreadable settings', async () => {
  const { code, config } = await edit('{"profiles":{}}', '{"profiles":');
  expect([code, JSON.parse(config ?? '')]).toEqual([0, { profiles: {} }]);
});

test('`config edit` changes nothing when the editor fails, and needs an editor and a terminal', async () => {
  await writeFile(join(folder, 'config.json'), '{}', { mode: 0o600 });
  const env = { FLEET_CONFIG_DIR: folder, PATH: process.env['PATH'] };
  const failed = await runFleet(['config', 'edit'], { env: { ...env, EDITOR: 'false' } });
  expect([failed.code, failed.stderr]).toEqual([
    3,
    expect.stringContaining('failed with exit code 1; nothing was changed'),
  ]);
  const gone = await runFleet(['config', 'edit'], { env: { ...env, EDITOR: 'rm' } });
  expect([gone.code, gone.stderr]).toEqual([
    3,
    expect.stringMatching(
      /^error: the copy to edit, .*, cannot be used: no such file or directory; nothing was/,
    ),
  ]);
  const none = await runFleet(['config', 'edit'], { env });
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining('an editor needs a terminal'),
  ]);
});

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])('%s ends the editor and `config edit` and leaves no file', async (signal, code) => {
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
