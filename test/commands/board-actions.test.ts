// Tests the keys of the board that mark bicycles, choose a transition, and answer its question.

import { describe, expect, test } from 'vitest';
import { Board, type BoardSeen } from '../../src/commands/watch/board.js';
import type { BoardRequest } from '../../src/commands/watch/board-actions.js';
import { copyText, offerTransitions, wordQuestion } from '../../src/commands/watch/board-work.js';
import type { Context } from '../../src/context.js';
import { resolveSettings } from '../../src/settings/resolve.js';
import { loadStored } from '../../src/settings/store.js';
import { readKeys } from '../../src/terminal/keys.js';
import type { BoardDialog } from '../../src/views/board-dialog.js';

const UUIDS = ['a', 'b', 'c'];
const DOWN = '\u001b[B';
const ESCAPE = '\u001b';

const CHOOSE: BoardDialog = {
  type: 'choose',
  uuids: ['a', 'b'],
  choices: [
    { name: 'put_in_maintenance', allowedCount: 2 },
    { name: 'declare_lost', allowedCount: 1 },
  ],
  selected: 0,
};

function ask(proof?: string): BoardDialog {
  const question = 'Run retire on 2 bicycles (Ada, Bob) at http://x (profile p)?';
  return { type: 'ask', uuids: ['a', 'b'], transition: 'retire', question, proof, typed: '' };
}

/** Presses keys. Each frame is drawn before the next key, unless `isDrawn` is false. */
function press(input: string, dialog?: BoardDialog, isDrawn = true) {
  const board = new Board();
  board.show(dialog);
  const requests: BoardRequest[] = [];
  for (const key of readKeys(input)) {
    const seen: BoardSeen = { uuids: UUIDS, first: 0, rows: 3, matching: 3 };
    board.press(key, { ...seen, dialog: isDrawn ? board.view.dialog : undefined });
    requests.push(...board.takeRequests());
  }
  return { board, requests };
}

test.each<[keys: string, marked: string[], requests: BoardRequest[]]>([
  [' ', ['a'], []],
  ['  ', [], []],
  [` ${DOWN}${DOWN} `, ['a', 'c'], []],
  [` ${DOWN} ${ESCAPE}`, [], []],
  ['a', [], [{ type: 'offer', uuids: ['a'] }]],
  [`${DOWN}a`, [], [{ type: 'offer', uuids: ['b'] }]],
  [` ${DOWN} a`, ['a', 'b'], [{ type: 'offer', uuids: ['a', 'b'] }]],
  [` ${DOWN}c`, ['a'], [{ type: 'copy', uuid: 'b' }]],
  ['y', [], [{ type: 'show-list' }]],
  ['ey', [], [{ type: 'show-get', uuid: 'a' }]],
  ['ea', [], [{ type: 'offer', uuids: ['a'] }]],
  // In the filter, the keys are letters.
  ['/a c y\r', [], []],
])('the keys %j mark the bicycles %j and send the requests %j', (keys, marked, requests) => {
  const pressed = press(keys);
  expect([...pressed.board.view.marked]).toEqual(marked);
  expect(pressed.requests).toEqual(requests);
});

test('the `e` key on the board opens the details of a bicycle', () => {
  expect(press('e').board.view.panel).toEqual({ type: 'card', uuid: 'a', scroll: 0 });
});

describe('the transition dialog', () => {
  const uuids = ['a', 'b'];
  test.each<[keys: string, requests: BoardRequest[], isOpen: boolean]>([
    ['\r', [{ type: 'ask', uuids, transition: 'put_in_maintenance' }], false],
    [`${DOWN}\r`, [{ type: 'ask', uuids, transition: 'declare_lost' }], false],
    [`${DOWN}${DOWN}${DOWN}y`, [{ type: 'show-act', uuids, transition: 'declare_lost' }], false],
    [ESCAPE, [], false],
    ['q', [], false],
    ['xa ', [], true],
  ])('%j', (keys, requests, isOpen) => {
    const pressed = press(keys, CHOOSE);
    expect(pressed.requests).toEqual(requests);
    expect(pressed.board.view.dialog !== undefined).toBe(isOpen);
    expect(pressed.board.isOver).toBe(false);
  });
});

describe('the confirmation prompt before a change', () => {
  const act: BoardRequest = { type: 'act', uuids: ['a', 'b'], transition: 'retire' };
  test.each<[keys: string, proof: string | undefined, requests: BoardRequest[]]>([
    ['\r', undefined, [act]],
    ['\u001b', undefined, []],
    ['n', undefined, []],
    ['q', undefined, []],
    ['Y ', undefined, []],
    ['2\r', '2', [act]],
    ['12\u007f\u007f2\r', '2', [act]],
    ['\r', '2', []],
    ['3\r', '2', []],
    ['y\r', '2', []],
  ])('handles the keys %j in a prompt that requires the text %j', (keys, proof, requests) => {
    expect(press(keys, ask(proof)).requests).toEqual(requests);
  });

  test('ignores Enter until the board has drawn the confirmation prompt', () => {
    expect(press('\r\r\r', ask(), false).requests).toEqual([]);
  });
});

test('does not start a second change until the first one has ended', () => {
  const { board } = press(` ${DOWN} `);
  board.startAct();
  const seen: BoardSeen = { uuids: UUIDS, first: 0, rows: 3, matching: 3 };
  board.press('a', seen);
  board.press('q', seen);
  expect(board.takeRequests()).toEqual([]);
  expect(board).toMatchObject({ isOver: false, view: { message: expect.stringContaining('q') } });
  board.endAct(['a'], '✓ done');
  expect(board.view).toMatchObject({ isBusy: false, message: '✓ done' });
  expect([...board.view.marked]).toEqual(['b']);
  board.press('s', seen);
  expect(board.view.message).toBeUndefined();
});

test('offers every transition that at least one marked bicycle allows', () => {
  const states = new Map([
    ['a', { uuid: 'a', state: 'available' }],
    ['b', { uuid: 'b', state: 'retired' }],
  ]);
  const offered = new Map(
    offerTransitions(['a', 'b'], states).map(({ name, allowedCount }) => [name, allowedCount]),
  );
  expect(offered.get('put_in_maintenance')).toBe(1);
  expect(offered.get('force_put_in_maintenance')).toBe(1);
  expect(offered.has('return')).toBe(false);
  expect([...offered.keys()].some((name) => name.startsWith('expire'))).toBe(false);
});

test('copies a UUID to the clipboard with OSC 52', () => {
  expect(copyText('d238dc92')).toBe('\u001b]52;c;ZDIzOGRjOTI=\u0007');
});

test('the confirmation prompt for `retire` shows the UUID and state of a single bicycle', async () => {
  const fleet = new Map([
    ['a', { uuid: 'a', name: 'Ada', state: 'lost' }],
    ['b', { uuid: 'b', name: 'Bob', state: 'available' }],
  ]);
  const env = {
    FLEET_BASE_URL: 'https://service.test/',
    FLEET_CONFIG_DIR: '/nonexistent/fleet-tests',
  };
  const settings = resolveSettings({ flags: {}, env, stored: await loadStored(env) });
  const ask = async (uuids: string[], transition: string) => {
    const context = { settings: async () => settings } as Context;
    const dialog = await wordQuestion(context, { uuids, transition }, fleet);
    return dialog.type === 'ask' ? dialog.question : undefined;
  };
  expect(await ask(['a'], 'retire')).toContain('Ada (a; lost)');
  expect(await ask(['a', 'b'], 'retire')).toContain('(Ada, Bob)');
  expect(await ask(['b'], 'put_in_maintenance')).toContain('on bicycle Bob at');
});
