// Tests `fleet alias` and the defaults of flags for single commands.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { openServer, sendPage, type TestServer } from '../support/server.js';

let folder: string;
let server: TestServer;

beforeEach(async () => {
  folder = join(newFolder(), 'settings');
  await mkdir(folder, { mode: 0o700 });
  server = await openServer((response) =>
    sendPage(response, [{ uuid: 'u1', name: 'Ada', state: 'lost' }], { count: 1 }),
  );
});

function fleet(args: readonly string[], more: { stdin?: string; env?: NodeJS.ProcessEnv } = {}) {
  const env = { FLEET_CONFIG_DIR: folder, ...server.env, ...more.env };
  return runFleet(args, { env, ...(more.stdin === undefined ? {} : { stdin: more.stdin }) });
}

const config = async () => JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));

describe('aliases', () => {
  test('an alias runs its line and appends further arguments', async () => {
    const set = await fleet(['alias', 'set', 'low', 'bicycles list --name Ada -o jsonl']);
    expect(set).toMatchObject({ code: 0, stdout: '' });
    expect(set.stderr).toContain('now runs: fleet bicycles list --name Ada -o jsonl');
    const run = await fleet(['low', '--limit', '5']);
    expect(run).toMatchObject({ code: 0, stdout: '{"uuid":"u1","name":"Ada","state":"lost"}\n' });
    expect(server.asked[0]?.path).toContain('name=Ada');
  });

  test.each([
    ['bicycles list --name $1 --model $2', ['a b', U], ['name=a+b', `model=${U}`]],
    ['bicycles list --name $@', ['x'], ['name=x']],
    ["bicycles list --name 'a $1'", ['x'], ['name=a+x']],
    ['bicycles list --name=$@', ['a', 'b'], ['name=a+b']],
    // A word such as "help" is an argument of the alias.
    ['bicycles list --name $1', ['help'], ['name=help']],
  ])('replace the placeholders of %s', async (line, args, expected) => {
    await fleet(['alias', 'set', 'find', line]);
    const { stderr } = await fleet(['find', ...args]);
    expect(stderr).not.toContain('error');
    for (const part of expected) expect(server.asked[0]?.path).toContain(part);
  });

  test('follow the flags of every command', async () => {
    await fleet(['alias', 'set', 'low', 'bicycles list --name Ada']);
    const jsonl = '{"uuid":"u1","name":"Ada","state":"lost"}\n';
    expect((await fleet(['-o', 'jsonl', 'low'])).stdout).toBe(jsonl);
    expect((await fleet(['--no-color', '--output=uuid', 'low'])).stdout).toBe('u1\n');
  });

  test('show the help of their command', async () => {
    await fleet(['alias', 'set', 'find', 'bicycles list --limit $1']);
    for (const flag of ['--help', '-h']) {
      const { code, stdout } = await fleet(['find', flag]);
      expect([code, stdout]).toEqual([0, expect.stringContaining('Usage: fleet bicycles list')]);
    }
  });

  test('report settings that cannot be read in place of an unknown command', async () => {
    await writeFile(join(folder, 'config.json'), '{"aliases": 5', { mode: 0o600 });
    const { code, stderr } = await fleet(['low']);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('config.json cannot be understood'),
    ]);
  });

  test('an alias with `$1` needs its argument', async () => {
    await fleet(['alias', 'set', 'find', 'bicycles list --name $1']);
    const { code, stderr } = await fleet(['find']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('the alias "find" needs 1 argument, not 0'),
    ]);
    expect(server.asked).toEqual([]);
  });

  test('the line of an alias sets the format of errors like a typed line', async () => {
    await fleet(['alias', 'set', 'broken', 'bicycles list --json --nonsense']);
    const { stderr } = await fleet(['broken']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { kind: 'usage' } });
  });

  test('an alias never replaces a command of fleet, even in settings that a user edited', async () => {
    const content = { aliases: { bicycles: 'alerts list', bike: 'alerts list' } };
    await writeFile(join(folder, 'config.json'), JSON.stringify(content), { mode: 0o600 });
    await fleet(['bicycles', 'list']);
    await fleet(['bike', 'list']);
    expect(server.asked.map(({ path }) => path.split('?')[0])).toEqual([
      '/bicycles/',
      '/bicycles/',
    ]);
  });

  test.each([
    ['bicycles', 'alerts list', '"bicycles" is a command of fleet'],
    ['bike', 'alerts list', '"bike" is a command of fleet'],
    ['a b', 'alerts list', 'cannot be the name of an alias'],
    ['x', 'fleet alerts list', 'begins without "fleet"'],
    ['x', 'alerts list | head', 'without pipes'],
    ['x', 'allerts list', 'did you mean "alerts"?'],
    ['x', 'bicycles list --name "a', 'a quote that is not closed'],
    ['x', "bicycles list --name 'a", 'a quote that is not closed'],
    ['x', 'bicycles list --name a\\', 'a quote that is not closed'],
  ])('cannot be %s for %s', async (name, line, message) => {
    const { code, stderr } = await fleet(['alias', 'set', name, line]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  test('with invalid names in settings that a user edited are ignored', async () => {
    const content = { aliases: { '': 'alerts list', '-x': 'alerts list', 'a b': 'alerts list' } };
    await writeFile(join(folder, 'config.json'), JSON.stringify(content), { mode: 0o600 });
    for (const word of ['', '-x', 'a b', '--nonsense']) expect((await fleet([word])).code).toBe(2);
    expect(server.asked).toEqual([]);
  });

  test('can be listed, exported, deleted and imported again', async () => {
    await fleet(['alias', 'set', 'low', 'bicycles list --where state_of_charge<20']);
    await fleet(['alias', 'set', 'in', 'bicycles list --zone $1']);
    const { stdout } = await fleet(['alias', 'list', '-o', 'yaml']);
    await fleet(['alias', 'delete', 'low']);
    await fleet(['alias', 'delete', 'in']);
    expect((await fleet(['alias', 'list', '--json'])).stdout).toBe('[]\n');
    const imported = await fleet(['alias', 'import', '-'], { stdin: stdout });
    expect(imported.stderr).toContain('added 2 aliases');
    expect((await config()).aliases).toEqual({
      low: 'bicycles list --where state_of_charge<20',
      in: 'bicycles list --zone $1',
    });
  });

  test.each([
    `api /api/bicycles/?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl`,
    `bicycles list --name ${'0a1b2c3d'.repeat(5)}`,
  ])('are refused when their line contains a token: %s', async (line) => {
    const imported = ['alias', 'import', '-'];
    for (const run of [
      await fleet(['alias', 'set', 'low', line]),
      await fleet(imported, { stdin: `low: ${line}\n` }),
    ]) {
      expect(run).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr).toContain('the line of an alias must not contain a token');
      expect(run.stderr).not.toContain(line.slice(-20));
    }
    expect((await fleet(['alias', 'list', '--json'])).stdout).not.toContain(line.slice(-20));
  });

  test('no alias is imported when one of them is invalid', async () => {
    const stdin = 'low: bicycles list\nbad: nonsense\n';
    const { code, stderr } = await fleet(['alias', 'import', '-'], { stdin });
    expect([code, stderr]).toEqual([2, expect.stringContaining('line 2 of stdin: "nonsense"')]);
    expect((await fleet(['alias', 'list', '--json'])).stdout).toBe('[]\n');
  });

  test('defaults are ignored while the settings cannot be read, so that `config edit` can repair them', async () => {
    await writeFile(join(folder, 'config.json'), '{"aliases": 5', { mode: 0o600 });
    const { code, stderr } = await fleet(['config', 'path']);
    expect([code, stderr]).toEqual([0, '']);
  });
});

const U = '0b9f2c1e-0000-4000-8000-000000000001';

describe('defaults of flags', () => {
  const KEY = 'defaults.bicycles list.output';

  test('a default applies to its command, and typed flags and variables have priority', async () => {
    await fleet(['config', 'set', KEY, 'jsonl']);
    const list = ['bicycles', 'list'];
    const jsonl = '{"uuid":"u1","name":"Ada","state":"lost"}\n';
    expect((await fleet(list)).stdout).toBe(jsonl);
    expect((await fleet(['bike', 'list'])).stdout).toBe(jsonl);
    expect((await fleet([...list, '-o', 'uuid'])).stdout).toBe('u1\n');
    expect((await fleet([...list, '--json'])).stdout).toMatch(/^\[/);
    expect((await fleet([...list, '--jq', '.[].name'])).stdout).toBe('Ada\n');
    expect((await fleet(list, { env: { FLEET_OUTPUT: 'uuid' } })).stdout).toBe('u1\n');
    expect((await fleet(['alerts', 'list', '-o', 'uuid'])).stdout).toBe('u1\n');
  });

  test('defaults can be set, printed, listed and removed', async () => {
    await fleet(['config', 'set', KEY, 'jsonl']);
    expect((await fleet(['config', 'get', KEY])).stdout).toBe('jsonl\n');
    expect((await fleet(['config', 'list'])).stdout).toContain(KEY);
    await fleet(['config', 'unset', KEY]);
    expect((await config()).defaults).toEqual({});
    expect((await fleet(['config', 'get', KEY])).code).toBe(3);
  });

  test.each([
    ['defaults.bicycles act.yes', 'true', '--yes cannot have a default'],
    ['defaults.bicycles act.unknown', 'resend', '--unknown cannot have a default'],
    ['defaults.bicycles act.from', 'x.csv', '--from cannot have a default'],
    ['defaults.bicycles edit.name', 'x', '--name cannot have a default'],
    ['defaults.bicycles edit.empty', 'clear', '--empty cannot have a default'],
    ['defaults.alerts act.hidden-rows', 'take', '--hidden-rows cannot have a default'],
    ['defaults.api.method', 'DELETE', '--method cannot have a default'],
    ['defaults.api.field', 'a=b', '--field cannot have a default'],
    ['defaults.bicycles list.file', 'x.csv', '--file cannot have a default'],
    ['defaults.bicycles list.nonsense', 'x', 'unknown flag "nonsense"'],
    ['defaults.bicycles lst.output', 'wide', 'did you mean "list"?'],
    ['defaults.bicycles.output', 'wide', '"bicycles" is a group of commands'],
    ['defaults.bicycles list.limit', 'zero', '--limit must be a whole number'],
    ['defaults.bicycles list.all', 'maybe', 'its default must be true'],
  ])('cannot be %s = %s', async (key, value, message) => {
    const { code, stderr } = await fleet(['config', 'set', key, value]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  test('a default never skips a question, even in settings that a user edited', async () => {
    const content = { defaults: { 'bicycles act': { yes: true, unknown: 'resend' } } };
    await writeFile(join(folder, 'config.json'), JSON.stringify(content), { mode: 0o600 });
    const { code, stderr } = await fleet(['bicycles', 'act', U, 'Ada', 'rent']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(server.asked.some(({ method }) => method === 'POST')).toBe(false);
  });

  test('never become the value of a typed flag without a value', async () => {
    await fleet(['config', 'set', 'defaults.bicycles edit.concurrency', '4']);
    for (const end of [['--name'], ['--name', '--', '--yes']]) {
      const { stdout } = await fleet(['bicycles', 'edit', U, '--dry-run', ...end]);
      expect(stdout).not.toContain('concurrency=4');
    }
  });

  test.each([
    ['bicycles list', 'all', 'true', ['--page', '2'], 'page=2'],
    ['bicycles list', 'bbox', '14,53,13,52', ['--near', '52,13', '--radius', '500'], 'bbox='],
  ])('of %s: --%s %s is replaced by %j', async (command, flag, value, typed, part) => {
    await fleet(['config', 'set', `defaults.${command}.${flag}`, value]);
    const { stderr } = await fleet([...command.split(' '), ...typed]);
    expect(stderr).not.toContain('cannot be used');
    expect(server.asked[0]?.path).toContain(part);
  });

  test('may be numbers in settings that a user edited', async () => {
    const content = { defaults: { 'bicycles list': { name: 7 } } };
    await writeFile(join(folder, 'config.json'), JSON.stringify(content), { mode: 0o600 });
    await fleet(['bicycles', 'list']);
    expect(server.asked[0]?.path).toContain('name=7');
  });

  test('are not lost silently when another part of the settings is invalid', async () => {
    const content = { aliases: 5, defaults: { 'bicycles act': { 'dry-run': true } } };
    await writeFile(join(folder, 'config.json'), JSON.stringify(content), { mode: 0o600 });
    const { code, stderr } = await fleet(['bicycles', 'act', U, 'rent']);
    expect([code, stderr]).toEqual([3, expect.stringContaining('"aliases" is not a JSON object')]);
    expect(server.asked).toEqual([]);
    expect((await fleet(['config', 'path'])).code).toBe(0);
  });
});
