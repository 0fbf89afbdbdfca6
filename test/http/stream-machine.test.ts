// The machine of a connection alone: its steps as a table, and random lives of it against what must always hold.

import { describe, expect, test } from 'vitest';
import { FleetError, lastingError } from '../../src/errors.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../src/http/retry.js';
import type { ConnectionEnd } from '../../src/http/stream/connection.js';
import type { StreamEvent } from '../../src/http/stream/events.js';
import { type ConnectionEffect, type ConnectionEvent, type Now, TopicMachine } from '../../src/http/stream/machine.js';
import { isLong } from '../support/often.js';

const SETTINGS = {
  topic: 't',
  origin: 'https://push.example',
  giveUpAfterMs: Number.POSITIVE_INFINITY,
};
const START_WALL_MS = Date.UTC(2026, 10, 21);

const ended: ConnectionEnd = { cause: 'ended', error: new FleetError('network', 'closed') };
const refused = (status: number, headers = {}): ConnectionEnd => ({
  cause: 'status',
  error: new FleetError('service', `HTTP ${status}`, { status }),
  answer: { status, headers },
});
const late: ConnectionEnd = { cause: 'timeout', error: new FleetError('network', 'no answer') };
const noToken: ConnectionEnd = { cause: 'token', error: lastingError('no token') };
const NOTHING = { messages: [], tooBigBytes: [], lastEventId: '', firstId: undefined, retryMs: undefined };

/** The present run, so that a table need not count. */
type Line = [ms: number, event: Record<string, unknown> & { type: string }, effects: string];

function describeEffect(effect: ConnectionEffect): string {
  if (effect.type === 'try') return `try${effect.lastEventId === '' ? '' : ` after ${effect.lastEventId}`}`;
  const event = effect;
  if (event.type === 'lost') return `lost ${event.cause} ${event.retryInMs}`;
  if (event.type === 'gap')
    return `gap ${event.cause} ${event.durationMs}${event.replayed ? ' replayed' : ''} -${event.droppedEvents}`;
  if (event.type === 'resync') return `resync ${event.atMs - (event.sinceWallMs ?? event.atMs)}`;
  return event.type;
}

function run(lines: readonly Line[], settings = SETTINGS): { got: string[]; wanted: string[] } {
  const effects: string[] = [];
  const machine = new TopicMachine(settings, (effect) => effects.push(describeEffect(effect)));
  const got: string[] = [];
  for (const [ms, event] of lines) {
    const whole = { run: machine.run, ...event } as ConnectionEvent;
    machine.take(whole, { wallMs: START_WALL_MS + ms, monotonicMs: ms, random: 0.5 });
    got.push(`${ms} ${event.type}: ${effects.splice(0).join(', ')}`);
  }
  return { got, wanted: lines.map(([ms, event, effects]) => `${ms} ${event.type}: ${effects}`) };
}

const STANDING: Line[] = [
  [0, { type: 'start' }, 'try'],
  [2, { type: 'opened', headers: {} }, 'open, resync 0'],
];
const received = (more: Record<string, unknown> = {}) => ({
  type: 'received',
  received: { ...NOTHING, partialBytes: 0, ...more },
});

const TABLE: [string, Line[]][] = [
  [
    'a loss, a pause, a return with the last id, what is replayed, and the resync',
    [
      ...STANDING,
      [500, received({ messages: ['x'], lastEventId: '7' }), 'message'],
      [600, { type: 'ended', ending: ended }, 'lost ended 250'],
      [700, { type: 'tick' }, ''],
      [850, { type: 'tick' }, 'try after 7'],
      [900, { type: 'opened', headers: {} }, 'open'],
      [910, received({ firstId: '8', lastEventId: '8' }), 'gap ended 400 replayed -0'],
      [1_900, { type: 'tick' }, 'resync 1400'],
      [1_901, { type: 'tick' }, ''],
    ],
  ],
  [
    'lost again before it is known whether it was replayed: two gaps that do not overlap',
    [
      ...STANDING,
      [500, received({ lastEventId: '7', partialBytes: 9 }), ''],
      [600, { type: 'ended', ending: ended }, 'lost cut-off 250'],
      [850, { type: 'tick' }, 'try after 7'],
      [900, { type: 'opened', headers: {} }, 'open'],
      [950, { type: 'ended', ending: ended }, 'gap cut-off 400 -1, lost ended 500'],
      [1_450, { type: 'tick' }, 'try after 7'],
      [1_500, { type: 'opened', headers: {} }, 'open'],
      [2_500, { type: 'tick' }, 'gap ended 600 -0, resync 2000'],
    ],
  ],
  [
    'a try is over: what it says later counts for nothing',
    [
      [0, { type: 'start' }, 'try'],
      [30_000, { type: 'ended', ending: late }, 'lost timeout 250'],
      [30_001, { type: 'opened', headers: {}, run: 1 }, ''],
      [30_001, { type: 'ended', ending: ended, run: 1 }, ''],
      [30_250, { type: 'tick' }, 'try'],
      [30_251, { type: 'ended', ending: ended, run: 1 }, ''],
    ],
  ],
];

test.each(TABLE)('%s', (_name, lines) => {
  const { got, wanted } = run(lines);
  expect(got).toEqual(wanted);
});

// --- random lives

/** A generator of its own for each seed: the same seed, the same life. */
function luck(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state = (state * 48_271 + 11) % 2_147_483_647;
    return (state < 0 ? state + 2_147_483_647 : state) / 2_147_483_647;
  };
}

interface Life {
  machine: TopicMachine;
  /** The wall clock's distance from the monotonic one; it is set back, never forward. */
  offsetMs: number;
  monotonicMs: number;
  events: { event: StreamEvent; ms: number }[];
  /** Until when the world does nothing at all. */
  stalledToMs: number;
  /** The run of the connection that is made or stands, as the world sees it. */
  connection: { run: number; isOpen: boolean } | undefined;
  id: number;
  faults: string[];
}

/** What the world may do next, in the phase it is in; undefined where that is impossible. */
function happening(life: Life, random: () => number): ConnectionEvent {
  const { connection } = life;
  if (life.monotonicMs < life.stalledToMs) return { type: 'tick' };
  if (random() < 0.02) life.stalledToMs = life.monotonicMs + random() * 150_000;
  const dice = random();
  // A report that comes too late, of something that was given up.
  if (dice < 0.03) return { type: 'ended', run: Math.floor(random() * (life.machine.run + 1)) - 1, ending: ended };
  if (connection !== undefined && !connection.isOpen && dice < 0.7) {
    if (random() < 0.6) {
      connection.isOpen = true;
      return { type: 'opened', run: connection.run, headers: {} };
    }
    life.connection = undefined;
    const statuses = [503, 503, 429, 500, 401, 403, 404, 400];
    const headers: Record<string, string> =
      random() < 0.2 ? { 'retry-after': String(Math.floor(random() * 4_000)) } : {};
    const status = statuses[Math.floor(random() * statuses.length)] ?? 503;
    // Refusals would end most lives early.
    const ending = status < 500 && random() < 0.7 ? (random() < 0.5 ? late : ended) : refused(status, headers);
    if (random() < 0.1 && connection.run > 1) return { type: 'ended', run: connection.run, ending: noToken };
    return { type: 'ended', run: connection.run, ending };
  }
  if (connection?.isOpen === true && dice < 0.8) {
    const { run } = connection;
    if (random() < 0.12) {
      life.connection = undefined;
      return { type: 'ended', run, ending: ended };
    }
    const messages = Array.from({ length: Math.floor(random() * 3) }, () => String(++life.id));
    const firstId = messages.length === 0 ? undefined : String(life.id);
    const tooBigBytes = random() < 0.05 ? [2_000_000] : [];
    const partialBytes = random() < 0.3 ? 10 : 0;
    const retryMs = random() < 0.02 ? Math.floor(random() * 1e9) : undefined;
    const lastEventId = random() < 0.5 ? String(life.id) : '';
    return { type: 'received', run, received: { messages, tooBigBytes, firstId, lastEventId, retryMs, partialBytes } };
  }
  return { type: 'tick' };
}

/** How far the clocks go before the next thing happens: mostly no further than the machine asked for. */
function passTime(life: Life, random: () => number): void {
  const wantedMs = Math.min(1_000, life.machine.nextTickInMs(life.monotonicMs));
  life.monotonicMs += random() < 0.02 ? random() * 100_000 : random() < 0.5 ? wantedMs : random() * wantedMs;
  if (random() < 0.01) life.offsetMs -= random() * 7_200_000;
}

function takeEffect(life: Life, effect: ConnectionEffect): void {
  if (effect.type !== 'try') {
    life.events.push({ event: effect, ms: life.monotonicMs });
    if (effect.type === 'closed') life.connection = undefined;
    return;
  }
  if (life.connection !== undefined) life.faults.push('two tries at once');
  life.connection = { run: effect.run, isOpen: false };
}

function live(seed: number, steps: number): Life {
  const random = luck(seed);
  const giveUpAfterMs = random() < 0.3 ? 600_000 : Number.POSITIVE_INFINITY;
  const settings = { ...SETTINGS, giveUpAfterMs };
  const life: Life = {
    machine: new TopicMachine(settings, (effect) => takeEffect(life, effect)),
    offsetMs: START_WALL_MS,
    monotonicMs: 1_000,
    events: [],
    stalledToMs: 0,
    connection: undefined,
    id: 0,
    faults: [],
  };
  const step = (event: ConnectionEvent) => {
    const { monotonicMs } = life;
    const now: Now = { monotonicMs, wallMs: monotonicMs + life.offsetMs, random: random() };
    life.machine.take(event, now);
  };
  step({ type: 'start' });
  for (let count = 0; count < steps && !life.machine.isClosed; count++) {
    passTime(life, random);
    const event = happening(life, random);
    step(event);
  }
  return life;
}

/** What must hold whatever happened; each is a sentence about the events alone. */
function check({ events, faults, machine }: Life): string[] {
  const wrong = [...faults];
  let isUp = false;
  let hasStood = false;
  let coveredToMs = Number.NEGATIVE_INFINITY;
  let owed = 0;
  let lifeBeforeMs = 0;
  let blindFromMs = Number.POSITIVE_INFINITY;
  let lastLifeMs = 0;
  for (const [index, { event, ms }] of events.entries()) {
    const at = `${index} ${event.type}`;
    for (const [name, value] of Object.entries(event))
      if (name.endsWith('Ms') && typeof value === 'number' && !(value >= 0)) wrong.push(`${at}: ${name} is ${value}`);
    switch (event.type) {
      case 'open':
        if (isUp) wrong.push(`${at}: open twice`);
        if (event.isReturn !== hasStood) wrong.push(`${at}: isReturn is ${event.isReturn}`);
        if (hasStood) owed++;
        isUp = true;
        hasStood = true;
        lastLifeMs = ms;
        break;
      case 'message':
        if (!isUp) wrong.push(`${at}: a message without a connection`);
        if (owed > 0) wrong.push(`${at}: a message before the gap it ends`);
        lastLifeMs = ms;
        break;
      case 'gap': {
        if (event.durationMs === 0 && event.cause === 'too-big') break;
        if (owed === 0) wrong.push(`${at}: a gap that no return explains`);
        owed--;
        if (Math.abs(event.atMs - event.fromWallMs - event.durationMs) > 0.001)
          wrong.push(`${at}: its ends and its length differ`);
        const toMs = openedAt(events, index);
        const fromMs = toMs - event.durationMs;
        if (fromMs < coveredToMs - 0.001) wrong.push(`${at}: overlaps the gap before`);
        if (fromMs > blindFromMs + 0.001) wrong.push(`${at}: begins after the blindness`);
        if (fromMs < lifeBeforeMs - 0.001) wrong.push(`${at}: begins before the last life`);
        coveredToMs = toMs;
        break;
      }
      case 'lost':
        if (event.retryInMs > LONGEST_ASKED_PAUSE_MS) wrong.push(`${at}: waits for ${event.retryInMs}`);
        if (isUp && owed > 0) wrong.push(`${at}: lost before the gap was reported`);
        if (isUp) blindFromMs = ms;
        if (isUp) lifeBeforeMs = lastLifeMs;
        if (isUp && event.downMs !== 0) wrong.push(`${at}: down for ${event.downMs} at the loss itself`);
        if (hasStood !== (event.lastLifeWallMs !== undefined)) wrong.push(`${at}: last life`);
        isUp = false;
        break;
      case 'resync':
        if (!isUp) wrong.push(`${at}: a resync without a connection`);
        if (owed > 0) wrong.push(`${at}: a resync before its gap`);
        break;
      case 'closed':
        if (index !== events.length - 1) wrong.push(`${at}: something follows`);
    }
  }
  if (machine.isClosed !== (events.at(-1)?.event.type === 'closed')) wrong.push('closed and not reported');
  return wrong;
}

/** When the return was that a gap belongs to: the last opening before it. */
function openedAt(events: Life['events'], index: number): number {
  for (let before = index - 1; before >= 0; before--) {
    const entry = events[before];
    if (entry?.event.type === 'open') return entry.ms;
  }
  return Number.NaN;
}

describe('random lives', () => {
  const SEEDS = Number(process.env['FLEET_TEST_SEEDS'] ?? (isLong ? 500 : 200));
  test(`${SEEDS} seeds: every blindness is in one gap, gaps do not overlap, one connection at a time, closed is last`, () => {
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const life = live(seed, 600);
      expect({ seed, wrong: check(life) }).toEqual({ seed, wrong: [] });
      for (const { event } of life.events) {
        const name = event.type === 'lost' || event.type === 'gap' ? `${event.type} ${event.cause}` : event.type;
        seen.set(name, (seen.get(name) ?? 0) + 1);
      }
    }
    // A test that drives the machine nowhere would hold everything.
    const wanted = ['open', 'message', 'resync', 'closed', 'lost ended', 'lost cut-off', 'lost token', 'lost timeout'];
    for (const name of [...wanted, 'lost status', 'gap ended', 'gap cut-off', 'gap too-big'])
      expect({ name, isSeen: (seen.get(name) ?? 0) > 0 }).toEqual({ name, isSeen: true });
  }, 60_000);
});
