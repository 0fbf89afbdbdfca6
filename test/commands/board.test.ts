// Tests the keys of the board of `--live`.

import { expect, test } from 'vitest';
import { Board } from '../../src/commands/watch/board.js';
import { FleetError } from '../../src/errors.js';
import { readKeys } from '../../src/terminal/keys.js';

const UUIDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const ROWS = 3;

/** Presses keys like a terminal. Three of eight bicycles fit on the screen. */
function press(input: string): Board {
  const board = new Board();
  for (const key of readKeys(input)) {
    const first = board.view.scroll;
    const uuids = UUIDS.slice(first, first + ROWS);
    board.press(key, { uuids, first, rows: ROWS, matching: UUIDS.length });
  }
  return board;
}

const DOWN = '\u001b[B';
const UP = '\u001b[A';

test.each([
  ['q', { isOver: true }],
  ['?', { view: { panel: { type: 'help' } } }],
  ['??', { view: { panel: { type: 'fleet' } } }],
  ['s', { view: { sort: 'name' } }],
  ['ssss', { view: { sort: 'charge' } }],
  ['/Ada 7\u007f\r', { view: { filter: 'Ada ', isTyping: false } }],
  ['/qs?', { isOver: false, view: { filter: 'qs?', isTyping: true } }],
  ['/Ada\r\u001b', { view: { filter: '' } }],
  [DOWN, { view: { selected: 1, scroll: 0 } }],
  [UP, { view: { selected: 0, scroll: 0 } }],
  [DOWN.repeat(4), { view: { selected: 4, scroll: 2 } }],
  [DOWN.repeat(4) + UP.repeat(3), { view: { selected: 1, scroll: 1 } }],
  [DOWN.repeat(20), { view: { selected: 7, scroll: 5 } }],
  ['\u001b[6~', { view: { selected: 2 } }],
  [`${DOWN}${DOWN}\r`, { view: { panel: { type: 'card', uuid: 'c', scroll: 0 } } }],
  [`\r${DOWN}${DOWN}${UP}`, { view: { panel: { type: 'card', uuid: 'a', scroll: 1 } } }],
  [`\r\r`, { view: { panel: { type: 'fleet' } } }],
  ['\u001b[31~\u001b[1;5C', { isOver: false, view: { filter: '', selected: 0 } }],
])('the board reacts to the keys %j', (input, state) => {
  expect(press(input)).toMatchObject(state);
});

test('keeps the last known alerts on the board while their list cannot be read', () => {
  const board = new Board();
  const error = new FleetError('service', 'HTTP 503');
  board.takeAlerts({ error }, 1_000);
  expect(board.staleAlerts).toEqual({ readAtMs: undefined, reason: 'HTTP 503' });
  board.takeAlerts({ alerts: [{ uuid: 'a' }] }, 2_000);
  expect([board.alerts, board.staleAlerts]).toEqual([[{ uuid: 'a' }], undefined]);
  board.takeAlerts({ error }, 3_000);
  expect(board.alerts).toEqual([{ uuid: 'a' }]);
  expect(board.staleAlerts).toEqual({ readAtMs: 2_000, reason: 'HTTP 503' });
});
