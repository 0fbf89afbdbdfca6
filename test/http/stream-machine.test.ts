// Checks invariants of the connection's state machine in random runs. stream-rules.test.ts tests
// its single steps.

import { expect, test } from 'vitest';
import { FleetError, lastingError } from '../../src/errors.js';
import { LONGEST_ASKED_PAUSE_MS } from '../../src/http/retry.js';
import type { ConnectionEnd } from '../../src/http/stream/connection.js';
import type { StreamEvent } from '../../src/http/stream/events.js';
import { type NextTry, TopicMachine } from '../../src/http/stream/machine.js';
import type { Clock } from '../../src/system/clock.js';
import { openLuck } from '../support/luck.js';
import { isLong } from '../support/often.js';

const START_WALL_MS = Date.UTC(2026, 10, 21);

const ended: ConnectionEnd = { cause: 'ended', error: new FleetError('network', 'closed') };
const refused = (status: number, headers = {}): ConnectionEnd => ({
  cause: 'status',
  error: new FleetError('service', `HTTP ${status}`, { status }),
  answer: { status, headers },
});
const late: ConnectionEnd = { cause: 'timeout', error: new FleetError('network', 'no answer') };
const noToken: ConnectionEnd = { cause: 'token', error: lastingError('no token') };

/** A clock that the test sets; timers run when they are due. */
function openSteeredClock(random: () => number) {
  const timers = new Set<{ dueMs: number; action: () => void }>();
  let ms = 0;
  let offsetMs = START_WALL_MS;
  const clock: Clock = {
    monotonicMs: () => ms,
    wallMs: () => ms + offsetMs,
    random,
    after(inMs, action) {
      const timer = { dueMs: ms + inMs, action };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  };
  return {
    ...clock,
    dueMs: () => Math.min(...[...timers].map(({ dueMs }) => dueMs)),
    setBack(milliseconds: number) {
      offsetMs -= milliseconds;
    },
    goTo(toMs: number) {
      for (;;) {
        const due = [...timers]
          .filter(({ dueMs }) => dueMs <= toMs)
          .sort((one, other) => one.dueMs - other.dueMs)[0];
        if (due === undefined) break;
        ms = Math.max(ms, due.dueMs);
        timers.delete(due);
        due.action();
      }
      ms = toMs;
    },
  };
}

interface Life {
  events: { event: StreamEvent; ms: number }[];
  isClosed: boolean;
}

/** The ways in which a new or an open connection can end. */
function endingOf(isOpen: boolean, random: () => number): ConnectionEnd {
  if (isOpen) return ended;
  const statuses = [503, 503, 429, 500, 401, 403, 404, 400];
  const headers: Record<string, string> =
    random() < 0.2 ? { 'retry-after': String(Math.floor(random() * 4_000)) } : {};
  const status = statuses[Math.floor(random() * statuses.length)] ?? 503;
  if (random() < 0.1) return noToken;
  // Refusals would end most runs early.
  return status < 500 && random() < 0.7
    ? random() < 0.5
      ? late
      : ended
    : refused(status, headers);
}

function live(seed: number, steps: number): Life {
  const random = openLuck(seed).next;
  const clock = openSteeredClock(random);
  const life: Life = { events: [], isClosed: false };
  clock.goTo(1_000);
  const machine = new TopicMachine('t', clock, (event) => {
    if (life.isClosed) return;
    life.events.push({ event, ms: clock.monotonicMs() });
    life.isClosed = event.type === 'closed';
  });
  /** Usually not further than the state machine requested. */
  const passTime = () => {
    const wantedMs = Math.min(1_000, Math.max(0, clock.dueMs() - clock.monotonicMs()));
    const ms =
      random() < 0.02 ? random() * 150_000 : random() < 0.5 ? wantedMs : random() * wantedMs;
    clock.goTo(clock.monotonicMs() + ms);
    if (random() < 0.01) clock.setBack(random() * 7_200_000);
  };
  let id = 0;
  let next: NextTry | undefined = { inMs: 0, lastEventId: '' };
  for (let count = 0; count < steps && next !== undefined && !life.isClosed; ) {
    clock.goTo(clock.monotonicMs() + next.inMs);
    passTime();
    const isOpen: boolean = random() < 0.6;
    if (isOpen && !life.isClosed) machine.opened(next.lastEventId, {});
    while (isOpen && !life.isClosed && random() >= 0.12 && count++ < steps) {
      passTime();
      const messages = Array.from({ length: Math.floor(random() * 3) }, () => String(++id));
      machine.received({
        messages,
        tooBigBytes: random() < 0.05 ? [2_000_000] : [],
        firstId: messages.length === 0 ? undefined : String(id),
        lastEventId: random() < 0.5 ? String(id) : '',
        retryMs: random() < 0.02 ? Math.floor(random() * 1e9) : undefined,
        partialBytes: random() < 0.3 ? 10 : 0,
      });
    }
    passTime();
    count++;
    if (!life.isClosed) next = machine.ended(next.lastEventId, endingOf(isOpen, random));
  }
  return life;
}

/** Invariants of the events. */
function check({ events, isClosed }: Life): string[] {
  const wrong: string[] = [];
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
      if (name.endsWith('Ms') && typeof value === 'number' && !(value >= 0))
        wrong.push(`${at}: ${name} is ${value}`);
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
        if (fromMs > blindFromMs + 0.001) wrong.push(`${at}: begins after the outage`);
        if (fromMs < lifeBeforeMs - 0.001) wrong.push(`${at}: begins before the last life`);
        coveredToMs = toMs;
        break;
      }
      case 'lost':
        if (event.retryInMs > LONGEST_ASKED_PAUSE_MS)
          wrong.push(`${at}: waits for ${event.retryInMs}`);
        if (isUp && owed > 0) wrong.push(`${at}: lost before the gap was reported`);
        if (isUp) blindFromMs = ms;
        if (isUp) lifeBeforeMs = lastLifeMs;
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
  if (isClosed !== (events.at(-1)?.event.type === 'closed')) wrong.push('closed and not reported');
  return wrong;
}

/** The last connection before the gap: the return that the gap belongs to. */
function openedAt(events: Life['events'], index: number): number {
  for (let before = index - 1; before >= 0; before--) {
    const entry = events[before];
    if (entry?.event.type === 'open') return entry.ms;
  }
  return Number.NaN;
}

const SEEDS = Number(process.env['FLEET_TEST_SEEDS'] ?? (isLong ? 500 : 200));
test(`randomly generated runs report each outage as a separate gap (${SEEDS} seeds)`, () => {
  const seen = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const life = live(seed, 600);
    expect({ seed, wrong: check(life) }).toEqual({ seed, wrong: [] });
    for (const { event } of life.events) {
      const name =
        event.type === 'lost' || event.type === 'gap' ? `${event.type} ${event.cause}` : event.type;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }
  }
  // Check that the runs reach all kinds of events.
  const wanted = [
    'open',
    'message',
    'resync',
    'closed',
    'lost ended',
    'lost cut-off',
    'lost token',
    'lost timeout',
  ];
  for (const name of [...wanted, 'lost status', 'gap ended', 'gap cut-off', 'gap too-big'])
    expect({ name, isSeen: (seen.get(name) ?? 0) > 0 }).toEqual({ name, isSeen: true });
});
