// Tests `fleet map` over sockets: the same numbers as `bicycles stats`, atomic files and
// conflicting flags.

import {
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { openLiveMap } from '../../src/commands/map/live-map.js';
import { Board } from '../../src/commands/watch/board.js';
import { canvasLines } from '../../src/terminal/canvas.js';
import { NO_PAINT } from '../../src/terminal/colour.js';
import { readKeys } from '../../src/terminal/keys.js';
import type { MapSeen } from '../../src/views/map/keys.js';
import type { StatsRow } from '../../src/views/stats.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const sandbox = useSandbox({ bicycles: 300 });
const folder = newFolder();

async function fleet(line: string, options: RunOptions = {}) {
  const env = { ...(await environmentOf(sandbox())), ...options.env };
  return runFleet(
    line.split(' ').filter((word) => word !== ''),
    { ...options, env },
  );
}

/** Reads the states and numbers from the legend of a drawing without colors. */
function legendOf(text: string, states: readonly string[]): { [state: string]: number } {
  const last = (state: string) =>
    [...text.matchAll(new RegExp(`${state}\\s+(\\d+)`, 'g'))].at(-1)?.[1];
  return Object.fromEntries(states.map((state) => [state, Number(last(state))]));
}

test('uses the name of the organization or the text of --title as the title', async () => {
  const [organization] = sandbox().organizations;
  const env = { FLEET_ORGANIZATION: organization?.uuid };
  for (const line of ['map', 'map -o svg', 'map -o html']) {
    expect((await fleet(line, { env })).stdout).toContain(organization?.name);
    const named = (await fleet(`${line} --title Night&Shift`, { env })).stdout.replaceAll(
      '&amp;',
      '&',
    );
    expect(named).toContain('Night&Shift');
    expect(named).not.toContain(organization?.name);
  }
});

test.each(['svg', 'html'])(
  '-o %s writes to a file or a pipe but not to a terminal',
  async (form) => {
    const { code, stdout, stderr } = await fleet(`map -o ${form}`, {
      terminal: { columns: 80, rows: 24 },
    });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('is not printed on a terminal');
    expect(stderr).toContain(`pass --file fleet.${form}`);
  },
);

describe('`map` and `bicycles stats` show the same numbers', () => {
  test.each([
    ['', ''],
    ['--state lost,rented', ''],
    ['--near 52.52,13.405 --radius 4km', ''],
    ['--where state_of_charge<50', ''],
  ])('for %s', async (filters) => {
    const rows = JSON.parse(
      (await fleet(`bicycles stats --by state --json ${filters}`)).stdout,
    ) as StatsRow[];
    const counts = Object.fromEntries(rows.map(({ value, count }) => [value, count]));
    const total = rows.reduce((sum, { count }) => sum + count, 0);
    for (const [line, options] of [
      [`map ${filters}`, {}],
      [`map ${filters}`, { terminal: { columns: 140, rows: 41 }, env: { NO_COLOR: '1' } }],
      [`map ${filters} -o svg`, {}],
    ] as const) {
      const { code, stdout, stderr } = await fleet(line, options);
      expect([code, stderr.replaceAll(/\r[^\n]*/g, '')]).toEqual([0, '']);
      expect(legendOf(stdout, Object.keys(counts))).toEqual(counts);
      expect(stdout).toContain(`${total} bicycle`);
    }
  });
});

describe('the output of `map`', () => {
  test('draws 80 by 24 ASCII characters to a pipe or a dumb terminal, and Braille or symbols to a terminal', async () => {
    const pipe = (await fleet('map')).stdout;
    expect(pipe).toMatch(/^[\x20-\x7E\n]*$/);
    expect(pipe.split('\n')).toHaveLength(25);
    const terminal = (await fleet('map', { terminal: { columns: 100, rows: 30 } })).stdout;
    expect(terminal).toMatch(/[\u2800-\u28ff]/);
    expect(terminal).toContain('\u001b[');
    expect(terminal.split('\n')).toHaveLength(30);
    const dumb = (
      await fleet('map', { terminal: { columns: 60, rows: 20 }, env: { TERM: 'dumb' } })
    ).stdout;
    expect(dumb).toMatch(/^[\x20-\x7E\n]*$/);
  });

  test('draws in the size of --size', async () => {
    const { stdout } = await fleet('map --size 120x40');
    expect(stdout.split('\n')).toHaveLength(41);
    expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(120);
    expect((await fleet('map --size 640,480 -o svg')).stdout).toContain('viewBox="0 0 640 480"');
  });

  test('--file writes atomically, chooses the format from the extension, follows symlinks and leaves nothing on failure', async () => {
    const [svg, link] = [join(folder, 'fleet.svg'), join(folder, 'link.svg')];
    writeFileSync(svg, 'before');
    symlinkSync(svg, link);
    expect(await fleet(`map --file ${link}`)).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(svg, 'utf8')).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect((await fleet(`map --file ${join(folder, 'fleet.txt')}`)).code).toBe(0);
    expect(readFileSync(join(folder, 'fleet.txt'), 'utf8')).toMatch(/^300 bicycles|^\d+ bicycles/);
    const { code, stderr } = await fleet(`map --file ${join(folder, 'nowhere', 'fleet.svg')}`);
    expect([code, stderr]).toEqual([10, expect.stringContaining('could not be written')]);
    expect(readdirSync(folder).sort()).toEqual(['fleet.svg', 'fleet.txt', 'link.svg']);
    expect(await fleet('map -o svg --file /dev/null')).toMatchObject({ code: 0 });
  });

  test('--file keeps the permissions of a file and creates the target of a dangling symlink', async () => {
    const [own, link, target] = ['own.svg', 'dangling.svg', 'target.svg'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    writeFileSync(own, 'before', { mode: 0o600 });
    symlinkSync('target.svg', link);
    for (const file of [own, link]) expect((await fleet(`map --file ${file}`)).code).toBe(0);
    expect([statSync(own).mode & 0o777, readFileSync(own, 'utf8').slice(0, 4)]).toEqual([
      0o600,
      '<svg',
    ]);
    expect([readlinkSync(link), readFileSync(target, 'utf8').slice(0, 4)]).toEqual([
      'target.svg',
      '<svg',
    ]);
  });
});

test.each([
  ['map --json', 'a map is text, -o svg or -o html'],
  ['map -o csv', 'other formats, --json'],
  ['map --jq .', '--jq'],
  ['map --columns name', '--columns'],
  ['map --file fleet.png', '.svg, .html or .txt'],
  ['map --live', 'stdout is not one'],
  ['map --live --serve', '--live and --serve'],
  ['map --live --file a.svg', '--live and --file'],
  ['map --size 0,4', '--size'],
  ['map --size wide', '--size'],
  ['map --size 10000,10000', 'too large'],
  ['map --size 80,24 -o html', '--size'],
  ['map --serve 70000', '65535'],
  ['map --tiles https://tiles.example/{z}/{x}/{y}.png', '--tiles'],
  ['map -o html --tiles https://tiles.example/{z}/{x}/{y}.pbf', 'needs a raster tile URL'],
  ['map -o html --tiles javascript:alert(1)//{z}{x}{y}', '--tiles needs a raster tile URL'],
  [
    'map -o html --tiles https://tiles.example;sandbox/{z}/{x}/{y}.png',
    '--tiles needs a raster tile URL',
  ],
  [
    'map -o html --tiles https://tiles"onload.example/{z}/{x}/{y}.png',
    '--tiles needs a raster tile URL',
  ],
  ['map -o html --tiles https://*/{z}/{x}/{y}.png', '--tiles needs a raster tile URL'],
  [
    'map -o html --tiles https://{s}.tiles.example/{z}/{x}/{y}.png',
    '--tiles needs a raster tile URL',
  ],
  ['map -o html --tiles https://{z}.tiles.example/{x}/{y}.png', '{z}'],
  ['map -o html --tiles https://tiles.example/{x}/{y}.png#{z}', '{z}'],
  ['bicycles list -o svg', 'fleet map -o svg'],
  ['map -o png', 'png'],
])('rejects %s and sends nothing', async (line, reason) => {
  const before = sandbox().requests.length;
  const { code, stdout, stderr } = await fleet(line);
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(reason)]);
  expect(sandbox().requests.length).toBe(before);
});

test('draws valid positions and counts and names bicycles with invalid ones', async () => {
  const bicycles = [
    { uuid: '1', name: 'Text', latitude: '52.5', longitude: ' 13.4 ', state: 'lost' },
    { uuid: '2', name: 'Words', latitude: 'NaN', longitude: '13.4', state: 'lost' },
    { uuid: '3', name: 'Far', latitude: 52, longitude: 400, state: 'lost' },
    { uuid: '4', name: 'Pole', latitude: -89.9, longitude: 0, state: 'lost' },
    { uuid: '5', name: 'Nowhere', latitude: null, longitude: null, state: null },
  ];
  const answer = (response: Parameters<typeof sendJson>[0], { path }: { path: string }) =>
    sendJson(response, 200, path.startsWith('/alerts') ? [] : bicycles);
  const { url } = await openServer(answer);
  const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't', NO_COLOR: '1' };
  const { code, stdout } = await runFleet(['map'], { env, terminal: { columns: 120, rows: 30 } });
  expect(code).toBe(0);
  for (const part of [
    '5 bicycles',
    'Text',
    'Words, Far',
    'Pole',
    'Nowhere',
    '(none) +1',
    '2 with an impossible position',
  ]) {
    expect(stdout).toMatch(new RegExp(part.replace(/[()]/g, '\\$&')));
  }
});

test('draws an incomplete list and exits with 9', async () => {
  const answer = (response: Parameters<typeof sendJson>[0], { path }: { path: string }) =>
    sendJson(response, 200, {
      count: path.startsWith('/alerts') ? 0 : 3,
      next: null,
      results: path.startsWith('/alerts')
        ? []
        : [{ uuid: 'u', state: 'lost', latitude: 1, longitude: 2 }],
    });
  const { env } = await openServer(answer);
  const { code, stdout } = await runFleet(['map', '-q'], { env });
  expect([code, stdout]).toEqual([9, expect.stringContaining('1 bicycle')]);
});

test('--live follows messages, switches to the board and back with m, and exits with 0 on q', async () => {
  const stdin = new Readable({ read() {} });
  const [moved] = sandbox()
    .bicycles()
    .filter(({ state }) => state === 'available');
  // Each step runs once, when the text before it appeared.
  const steps: [when: RegExp, then: () => unknown][] = [
    [/available \d+[\s\S]*connected/, () => sandbox().act(moved?.uuid ?? '', 'rent')],
    [/available +\d+/, () => stdin.push('m')],
    [/BICYCLES .*by charge/, () => stdin.push('m')],
    [/available \d+/, () => stdin.push('?')],
    [/zoom in, zoom out/, () => stdin.push('q')],
  ];
  let text = '';
  const { code } = await fleet(`map --live --organization ${sandbox().organizations[0]?.uuid}`, {
    terminal: { columns: 120, rows: 30 },
    env: { NO_COLOR: '1' },
    stdin,
    onStdout(piece) {
      text += piece;
      const [step] = steps;
      if (step === undefined || !step[0].test(text)) return;
      steps.shift();
      text = '';
      step[1]();
    },
  });
  expect([code, steps]).toEqual([0, []]);
});

describe('the keys of `map --live`', () => {
  const BICYCLES = [
    ...Array.from({ length: 40 }, (_, index) => ({
      uuid: `a${index}`,
      latitude: 52.5 + index / 1e4,
      longitude: 13.4,
      state: 'lost',
    })),
    ...Array.from({ length: 120 }, (_, index) => ({
      uuid: `b${index}`,
      latitude: 38.7,
      longitude: -9.1,
      state: 'rented',
      name: `B ${index}`,
    })),
  ];
  const look = { width: 100, height: 30, hasColor: true, hasUnicode: true };

  /** Presses keys; each one acts on the previous frame. */
  function press(input: string) {
    const map = openLiveMap();
    const state = new Board('map');
    const draw = () =>
      map.frame({
        state: state.map,
        bicycles: BICYCLES,
        isWhole: true,
        title: 'x',
        moment: '',
        footer: [{ text: 'keys' }],
        look,
      });
    for (const key of readKeys(input)) {
      const seen: MapSeen = draw().seen;
      state.press(key, { uuids: [], first: 0, rows: 0, matching: 0, map: seen });
    }
    const { canvas, seen } = draw();
    return { state, seen, text: canvasLines(canvas, NO_PAINT).join('\n') };
  }

  test('selects clusters with Tab from the largest to the smallest and starts again', () => {
    expect(press('\t').text).toMatch(/▸120◂/);
    expect(press('\t').text).toMatch(/120: 120 rented {2}keys/);
    expect(press('\t\t').text).toMatch(/▸40◂/);
    expect(press('\t\t\t').text).toMatch(/▸120◂/);
    expect(press('\u001b[Z').text).toMatch(/▸40◂/);
    expect(press('\t\u001b').text).not.toContain('▸');
  });

  test('zooms into a cluster with Enter and back with 0', () => {
    const inside = press('\t\t\r');
    expect(inside.text).toMatch(/120 outside the view/);
    expect(inside.seen.view.worldDots).toBeGreaterThan(press('').seen.view.worldDots * 100);
    expect(press('\t\t\r0').text).toBe(press('').text);
  });

  test('opens a card for bicycles that share one position', () => {
    const heap = '\t\r\r';
    expect(press(heap).state.view.panel).toMatchObject({ type: 'card', uuid: 'b0' });
    expect(press(`${heap}\u001b`).state.view.panel).toEqual({ type: 'map' });
  });

  test('moves by a quarter with arrow keys, zooms by two with + and -, and stays within the world', () => {
    const start = press('').seen.view;
    const right = press('\u001b[C').seen.view;
    expect((right.x - start.x) * start.worldDots).toBeCloseTo(press('').seen.extent.width / 4, 3);
    expect(press('+').seen.view.worldDots).toBeCloseTo(start.worldDots * 2, 3);
    expect(press('++-').seen.view.worldDots).toBeCloseTo(start.worldDots * 2, 3);
    const far = press(`${'-'.repeat(20)}${'\u001b[A'.repeat(9)}`).seen;
    expect([far.view.y, far.view.worldDots]).toEqual([
      0,
      Math.min(far.extent.width, far.extent.height),
    ]);
    expect(press('+'.repeat(60)).seen.view.worldDots).toBeLessThan(1e9);
  });

  test('switches to the board with m, shows the keys with ?, and quits with q', () => {
    expect(press('m').state.view).toMatchObject({ panel: { type: 'fleet' }, home: 'fleet' });
    expect(press('mm').state.view).toMatchObject({ panel: { type: 'map' }, home: 'map' });
    expect(press('?').state.view).toMatchObject({ panel: { type: 'help' } });
    expect(press('??').state.view).toMatchObject({ panel: { type: 'map' } });
    expect(press('q').state.isOver).toBe(true);
  });
});
