// What the keys of `--live` do to the board.

import { describe, expect, test } from 'vitest';
import { type BoardState, boardState, startBoard } from '../../src/commands/watch/board.js';
import { readKeys } from '../../src/terminal/keys.js';

const UUIDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const ROWS = 3;

/** Presses keys as a terminal sends them; three bicycles of eight can be seen. */
function press(input: string, before: BoardState = startBoard(['t'], { monotonicMs: 0, wallMs: 0 })): BoardState {
  let state = before;
  for (const key of readKeys(input)) {
    const first = state.view.scroll;
    const uuids = UUIDS.slice(first, first + ROWS);
    state = boardState(state, { type: 'key', key, uuids, first, rows: ROWS, matching: UUIDS.length });
  }
  return state;
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
])('%j', (input, state) => {
  expect(press(input)).toMatchObject(state);
});

describe('what arrives', () => {
  test('the connection is lost since nothing comes, whatever was tried since', () => {
    const at = { topic: 't', atMs: 0, monotonicMs: 10_000 };
    const event = { type: 'lost', ...at, cause: 'network', error: { message: 'refused' }, retryInMs: 500 } as never;
    const state = boardState(press(''), { type: 'effect', effect: { type: 'stream', event } });
    expect(state.connections.get('t')).toMatchObject({ state: 'lost', message: 'refused', retryAtMs: 10_500 });
  });
});
