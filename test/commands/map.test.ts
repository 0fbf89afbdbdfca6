// Tests `fleet map` over sockets: the same numbers as `bicycles stats`, and --live.

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
import { type RunOptions, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';

const sandbox = useSandbox({ bicycles: 300 });

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

describe('`map` and `bicycles stats` print the same numbers', () => {
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

test('`map` draws colors on a terminal', async () => {
  const { stdout } = await fleet('map', { terminal: { columns: 100, rows: 30 } });
  expect(stdout).toContain('\u001b[');
});

test('--live follows messages and switches to the board and back with m', async () => {
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

  test('Tab selects the clusters from the largest to the smallest and then wraps around', () => {
    expect(press('\t').text).toMatch(/▸120◂/);
    expect(press('\t').text).toMatch(/120: 120 rented {2}keys/);
    expect(press('\t\t').text).toMatch(/▸40◂/);
    expect(press('\t\t\t').text).toMatch(/▸120◂/);
    expect(press('\u001b[Z').text).toMatch(/▸40◂/);
    expect(press('\t\u001b').text).not.toContain('▸');
  });

  test('Enter zooms into a cluster and 0 zooms back', () => {
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

  test('the map view moves with the arrow keys and zooms with + and -', () => {
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

  test('m switches to the board, ? shows the keys, and q quits', () => {
    expect(press('m').state.view).toMatchObject({ panel: { type: 'fleet' }, home: 'fleet' });
    expect(press('mm').state.view).toMatchObject({ panel: { type: 'map' }, home: 'map' });
    expect(press('?').state.view).toMatchObject({ panel: { type: 'help' } });
    expect(press('??').state.view).toMatchObject({ panel: { type: 'map' } });
    expect(press('q').state.isOver).toBe(true);
  });
});
