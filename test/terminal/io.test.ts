// Tests terminals without a size or redrawing, and pipes with colors.

import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runFleet } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const UUID = '00000001-0000-4000-8000-000000000000';
const LONG_NAME =
  'a name that is long enough to be cut at eighty columns of a terminal, and longer';
const BICYCLE = { uuid: UUID, name: LONG_NAME, state: 'lost', state_of_charge: 5 };

async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  terminal?: { columns: number; rows?: number },
) {
  const server = await openServer((response, { path }) => {
    if (path.startsWith('/alerts/')) return sendJson(response, 200, []);
    if (path === `/bicycles/${UUID}/`) return sendJson(response, 200, BICYCLE);
    return sendJson(response, 200, { count: 1, next: null, results: [BICYCLE] });
  });
  const all = { ...server.env, FLEET_SSE_URL: server.url, FLEET_ORGANIZATION: UUID, ...env };
  const now = () => Date.UTC(2026, 10, 28, 12);
  return runFleet(args, { env: all, now, ...(terminal === undefined ? {} : { terminal }) });
}

describe('a terminal that reports a width of 0 columns', () => {
  test.each([
    ['list', ['bicycles', 'list']],
    ['get', ['bicycles', 'get', UUID]],
    ['map', ['map']],
    ['help', ['bicycles', 'list', '--help']],
  ])('uses 80 columns for %s', async (_name, args) => {
    const none = await run(args, { NO_COLOR: '1' }, { columns: 0, rows: 0 });
    const usual = await run(args, { NO_COLOR: '1' }, { columns: 80, rows: 24 });
    expect(none).toEqual(usual);
    expect(none.code).toBe(0);
  });

  test('takes the terminal width from COLUMNS', async () => {
    const env = { NO_COLOR: '1', COLUMNS: '40' };
    const { stdout } = await run(['bicycles', 'list'], env, { columns: 0 });
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40);
  });
});

describe('TERM=dumb', () => {
  test.each([[['watch', '--live']], [['map', '--live']]])('rejects %j', async (args) => {
    const { code, stdout, stderr } = await run(args, { TERM: 'dumb' }, { columns: 80 });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(
      '--live redraws the whole terminal, which this terminal does not support (TERM=dumb)',
    );
    expect(stderr).toContain('remove --live to print lines');
  });

  test('lists contain no escape sequences when TERM is dumb', async () => {
    const { stdout, stderr } = await run(['bicycles', 'list'], { TERM: 'dumb' }, { columns: 80 });
    expect(stdout + stderr).not.toContain('\u001b');
  });
});

describe('FORCE_COLOR=1 in a pipe', () => {
  const COMMANDS: [string, string[], string][] = [
    ['list', ['bicycles', 'list'], '\u001b[31mlost\u001b[39m'],
    ['get', ['bicycles', 'get', UUID], '\u001b[31mlost\u001b[39m'],
    ['stats', ['bicycles', 'stats', '--by', 'state'], '\u001b[31mlost\u001b[39m'],
    ['doctor', ['doctor'], '\u001b[32mok\u001b[39m'],
  ];

  test.each(COMMANDS)('colors %s', async (_name, args, painted) => {
    const { stdout } = await run(args, { FORCE_COLOR: '1' });
    expect(stdout).toContain(painted);
  });

  test.each(COMMANDS)('FORCE_COLOR=1 adds only colors to the output of %s', async (name, args) => {
    if (name === 'doctor') return;
    const plain = await run(args, {});
    const painted = await run(args, { FORCE_COLOR: '1' });
    expect(stripVTControlCharacters(painted.stdout)).toBe(plain.stdout);
  });

  test.each(COMMANDS)('NO_COLOR and --no-color override FORCE_COLOR in %s', async (_name, args) => {
    const both = await run(args, { FORCE_COLOR: '1', NO_COLOR: '1' });
    const flag = await run([...args, '--no-color'], { FORCE_COLOR: '1' });
    expect(both.stdout + flag.stdout).not.toContain('\u001b');
  });

  test.each(['json', 'jsonl', 'csv', 'tsv', 'yaml', 'uuid'])(
    'does not color %s',
    async (format) => {
      const { stdout } = await run(['bicycles', 'list', '-o', format], { FORCE_COLOR: '1' });
      expect(stdout).not.toContain('\u001b');
    },
  );
});
