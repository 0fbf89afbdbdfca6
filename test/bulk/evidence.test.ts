// Decision table for actions without an answer (cli.md, bicycles act).

import { describe, expect, test } from 'vitest';
import { BICYCLE } from '../../src/api/bicycle.js';
import {
  decideAction,
  decideCreations,
  type Evidence,
  type HistoryEntry,
  isCertainlyNotLater,
  lookUpActions,
  lookUpCreations,
  personOf,
} from '../../src/bulk/evidence.js';
import type { Before, Start } from '../../src/bulk/journal-records.js';
import { FleetError } from '../../src/errors.js';
import type { Client } from '../../src/http/client.js';

const ME = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const NOON = '2026-01-01T12:00:00Z';
const START: Start = {
  newest: '2026-01-01T11:59:00Z',
  isEmpty: false,
  date: NOON,
  user: [{ email: 'me@x.org' }],
};
/** Sent 1.5 s after the run began. */
const AFTER_MS = 1500;

function bicycle(
  state: string | null,
  modified: string | null,
  version: string | null = null,
): Evidence['now'] {
  return { state, modified, version };
}

function step(
  timestamp: string | null,
  transition = 'take_over',
  by: unknown = 'me@x.org',
): HistoryEntry {
  return { timestamp, transition, by: personOf(by) };
}

interface Case {
  name: string;
  now?: Evidence['now'];
  history?: readonly HistoryEntry[];
  start?: Start;
  before?: Before;
  afterMs?: number;
  targets?: readonly string[];
  decision: string;
}

const LATER = '2026-01-01T12:00:30Z';
const BEFORE = { state: 'available', version: '7' };

const SHOWN = "done: the service's history shows it";
const NOT_SHOWN = "unknown: the service's history does not show it";
const NOT_MINE = "unknown: the service's history does not show that this user did it";
const IN_FIRST_SECOND =
  "unknown: the service's history shows it in the second in which the run began, and its state before is not known";

const CASES: readonly Case[] = [
  {
    name: 'a `modified` older than the start: nothing happened',
    now: bicycle('available', '2026-01-01T11:00:00Z'),
    decision: 'untouched',
  },
  {
    name: 'a newer `modified` and the target state prove nothing: a position moves it, and it may have been there before',
    now: bicycle('in_maintenance', LATER),
    decision: 'unknown: it was changed since',
  },
  {
    name: 'the same second as the start proves nothing',
    now: bicycle('available', '2026-01-01T11:59:00Z'),
    decision: 'unknown: it was changed since',
  },
  {
    name: 'a newest `modified` in the future: what is older than it may still be newer than the start',
    now: bicycle('in_maintenance', LATER),
    start: { ...START, newest: '2030-01-01T00:00:00Z' },
    decision: 'unknown: it was changed since',
  },
  {
    name: 'a service without a date of its own proves nothing by `modified`',
    now: bicycle('available', '2026-01-01T11:00:00Z'),
    start: { ...START, date: null },
    decision: 'unknown: it was changed since',
  },
  {
    name: 'the same version as in the input: nothing happened',
    now: bicycle('available', LATER, '7'),
    before: BEFORE,
    decision: 'untouched',
  },
  {
    name: 'the state before differs from the state now, which is the target',
    now: bicycle('in_maintenance', LATER, '8'),
    before: BEFORE,
    decision: 'done: it was available before and is in_maintenance now',
  },
  {
    name: 'it was in the target state before',
    now: bicycle('in_maintenance', LATER),
    before: { state: 'in_maintenance', version: null },
    decision: 'unknown: it was in_maintenance before',
  },
  {
    name: 'it went somewhere else',
    now: bicycle('rented', LATER),
    before: BEFORE,
    decision: 'unknown: it was available before, and changed since',
  },
  {
    name: 'the target state of the transition is unknown',
    now: bicycle('in_maintenance', LATER),
    before: BEFORE,
    targets: [],
    decision: 'unknown: it was available before, and changed since',
  },
  {
    name: 'the history shows it',
    now: bicycle('rented', LATER),
    history: [step('2026-01-01T12:00:20Z', 'rent'), step('2026-01-01T12:00:02Z')],
    decision: SHOWN,
  },
  ...(
    [
      ['shows it, in the very second of the sending', [step('2026-01-01T12:00:01Z')], SHOWN],
      ['shows the same transition by somebody else', [step(LATER, 'take_over', 'other')], NOT_MINE],
      ['shows it by both', [step(LATER, 'take_over', 'other'), step(LATER)], SHOWN],
      ['shows it without its author', [step(LATER, 'take_over', null)], NOT_MINE],
      [
        'shows it in the second in which the run began, and the state was another one before',
        [step('2026-01-01T12:00:00Z'), step('2026-01-01T11:00:00Z')],
        'done: it was available before and is in_maintenance now',
      ],
      [
        'shows it in that second, beside a transition of another user',
        [step('2026-01-01T12:00:00Z'), step('2026-01-01T12:00:00Z', 'take_over', 'other')],
        NOT_MINE,
      ],
      ['shows an earlier one alone', [step('2026-01-01T11:59:59Z')], NOT_SHOWN],
      ['is empty', [], 'done: it was available before and is in_maintenance now'],
      [
        'shows another transition: the state says nothing then',
        [step(LATER, 'force_put_in_maintenance')],
        'unknown: the service\'s history shows "force_put_in_maintenance" since the run began',
      ],
      [
        'has no times',
        [step(null)],
        "unknown: the service's history does not say when it was changed",
      ],
      ['writes the name in another way', [step(LATER, 'Take-Over_')], SHOWN],
    ] as const
  ).map(([what, history, decision]) => ({
    name: `the history ${what}`,
    now: bicycle('in_maintenance', LATER),
    history,
    before: BEFORE,
    decision,
  })),
  {
    name: 'one of ours in the second in which the run began proves nothing, though it was sent in that second',
    now: bicycle('in_maintenance', LATER),
    history: [step('2026-01-01T12:00:00Z')],
    afterMs: 0,
    decision: IN_FIRST_SECOND,
  },
  ...(
    [
      ['another e-mail address', 'other@x.org', [{ email: 'me@x.org', uuid: ME }]],
      ['a number, and only a UUID is known of us', 7, [{ uuid: ME }]],
      ['another number', { id: 8, name: 'Bea' }, [{ id: '7', username: 'ada' }]],
      ['a user name, and nothing is known of us', 'ada', []],
      ['an object that names no user', { href: 'x' }, [{ uuid: ME }]],
      [
        'the same user name with another number',
        { id: 8, username: 'ada' },
        [{ id: '7', username: 'ada' }],
      ],
    ] as const
  ).map(([who, by, user]) => ({
    name: `the history shows it by ${who}: not certainly ours`,
    now: bicycle('in_maintenance', LATER),
    history: [step(LATER, 'take_over', by)],
    start: { ...START, user },
    decision: NOT_MINE,
  })),
  ...(
    [
      ['our UUID at the end of a link', `https://x/api/users/${ME.toUpperCase()}/`, [{ uuid: ME }]],
      ['our number in an object', { id: 7 }, [{}, { id: '7', uuid: ME }]],
      ['our e-mail address', 'Me@X.org', [{ uuid: ME }, { email: 'me@x.org' }]],
    ] as const
  ).map(([who, by, user]) => ({
    name: `the history shows it by ${who}`,
    now: bicycle('in_maintenance', LATER),
    history: [step(LATER, 'take_over', by)],
    start: { ...START, user },
    decision: SHOWN,
  })),
  {
    name: 'an empty history of an unchanged bicycle',
    now: bicycle('available', '2026-01-01T11:00:00Z'),
    history: [],
    decision: 'untouched',
  },
  {
    name: 'a bicycle that the service does not show, with a history',
    history: [step(LATER)],
    decision: SHOWN,
  },
  {
    name: 'a bicycle that the service does not show',
    decision: 'unknown: the service does not show the bicycle',
  },
];

test.each(CASES)(
  '$name',
  ({
    now,
    history,
    start = START,
    before = null,
    targets = ['in_maintenance'],
    afterMs = AFTER_MS,
    decision,
  }) => {
    const sending = { start, afterMs, before };
    const decided = decideAction(
      sending,
      { now, history },
      { name: 'take_over', targets: new Set(targets) },
    );
    expect('why' in decided ? `${decided.kind}: ${decided.why}` : decided.kind).toBe(decision);
  },
);

test('reports an outcome as unknown when the token cannot list bicycles', async () => {
  const refuse = async () => Promise.reject(new FleetError('auth', 'HTTP 403', { status: 403 }));
  const client = {
    send: refuse,
    pages: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
  };
  const entry = { ...NO_ENTRY, sending: { start: START, afterMs: 0, before: null } };
  const doubt = { task: { key: 'u', uuid: 'u', name: null }, entry };
  const action = { resource: BICYCLE, verb: 'rent', target: 'rented' };
  const [decided] = await lookUpActions(client as unknown as Client, [doubt], action, {
    reached: new Set(),
  });
  expect(decided?.kind).toBe('unknown');
});

const NO_ENTRY = {
  result: undefined,
  uuid: null,
  name: null,
  how: 'answered',
  run: '',
  atMs: null,
} as const;

describe('unknown outcomes of create requests', () => {
  const body = { name: 'Ada', organization: 'o', serial_number: '7' };
  const empty: Start = { newest: null, isEmpty: true, date: NOON, user: [] };
  const silent: Start = { newest: null, isEmpty: false, date: NOON, user: [] };
  const BUSY: Start = { newest: '2026-01-01T12:00:00.200Z', isEmpty: false, date: NOON, user: [] };
  const found = { uuid: 'u', name: 'Ada', serial_number: '7', created: LATER };
  test.each([
    ['one that came since and fits', START, [found], true, [], 'done u'],
    [
      'one that was there before',
      START,
      [{ ...found, created: '2026-01-01T11:00:00Z' }],
      true,
      [],
      'untouched',
    ],
    ['one that another row made', START, [found], true, ['u'], 'untouched'],
    ['another serial number', START, [{ ...found, serial_number: '8' }], true, [], 'unknown'],
    ['not all of the newer ones are known', START, [], false, [], 'unknown'],
    [
      'one like it within the second of the start',
      BUSY,
      [{ ...found, created: BUSY.newest }],
      true,
      [],
      'unknown',
    ],
    ['a fleet that was empty, and is', empty, [], true, [], 'untouched'],
    ['a fleet that was empty, and has it', empty, [found], true, [], 'done u'],
    ['a service that told no time', silent, [found], true, [], 'unknown'],
  ] as const)('%s', (_case, start, bicycles, isWhole, made, expected) => {
    const entry = { ...NO_ENTRY, sending: { start, afterMs: 0, before: null } };
    const task = { key: '1', uuid: null, name: 'Ada', creation: { row: 1, body } };
    const [decided] = decideCreations(
      [{ task, entry }],
      { bicycles, isWhole },
      { made: new Set(made) },
    );
    expect(decided?.kind === 'done' ? `done ${decided.uuid}` : decided?.kind).toBe(expected);
  });

  test('reports outcomes as unknown when the list is too long to be read completely', async () => {
    const client = {
      async *pages() {
        for (let page = 0; ; page++)
          yield { items: [{ value: { uuid: `u${page}`, name: 'Bea', created: LATER } }] };
      },
    };
    const entry = { ...NO_ENTRY, sending: { start: START, afterMs: 0, before: null } };
    const task = { key: '1', uuid: null, name: 'Ada', creation: { row: 1, body } };
    const shown = { made: new Set<string>(), reached: new Set<string>() };
    const [decided] = await lookUpCreations(client as unknown as Client, [{ task, entry }], shown);
    expect(decided).toMatchObject({ kind: 'unknown', why: 'the list is too long' });
  });
});

test('compares two timestamps only when their precision allows it', () => {
  const cases = [
    ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.123457Z', true],
    ['2026-01-01T00:00:00.124Z', '2026-01-01T00:00:00.123456Z', false],
    // No request can be sent and answered within a millisecond.
    ['2026-01-01T00:00:00.123457Z', '2026-01-01T00:00:00.123456Z', true],
    ['2026-01-01T00:00:00.1Z', '2026-01-01T00:00:00.1Z', false],
    ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.123456Z', true],
    ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.123Z', true],
    // Times within one second cannot be compared when one of them lacks decimals.
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', false],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.900Z', false],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z', true],
    ['2026-01-01T00:00:01Z', '2026-01-01T00:00:00.999Z', false],
    ['2026-01-01T01:00:00+02:00', '2026-01-01T00:00:00Z', true],
    ['2026-01-01T00:00:00Z', null, false],
    [null, '2026-01-01T00:00:00Z', false],
    ['yesterday', '2026-01-01T00:00:00Z', false],
  ] as const;
  for (const [moment, other, expected] of cases)
    expect(isCertainlyNotLater(moment, other)).toBe(expected);
});
