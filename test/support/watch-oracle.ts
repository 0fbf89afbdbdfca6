// A service in a few lines that loses, stalls, replays and lies about the time, and an oracle that knows what a watch owes to whoever reads it.

import type { Bicycle } from '../../src/api/bicycle.js';
import type { Moment } from '../../src/clock.js';
import type { Plan } from '../../src/commands/watch/plan.js';
import { Watch, type WatchEffect, type WatchEvent } from '../../src/commands/watch/state.js';
import { FleetError } from '../../src/errors.js';
import type { Report } from '../../src/follower/events.js';

const TOPIC = '/6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11/admin/bicycles/*';
const START_MS = Date.UTC(2026, 10, 21, 12);
/** After the last trouble: longer than every pause of the catch-up, so that all has come in. */
const QUIET_END_MS = 120_000;
const FAILURE = new FleetError('service', 'HTTP 503');
const CUT = new FleetError('network', 'the connection broke');

export interface Scenario {
  seed: number;
  /** How long there are changes and trouble, in simulated milliseconds. */
  durationMs: number;
}

/** What went wrong, in words; empty when the watch owes nothing. */
export interface Verdict {
  faults: string[];
  changes: number;
  gaps: number;
  caughtUp: number;
  removed: number;
}

export interface Made {
  id: number;
  uuid: string;
  atMs: number;
}

/** One line of the watch. */
export interface Shown {
  id: number;
  uuid: string | undefined;
  how: string;
  atMs?: number;
}

/** A bicycle that left the service, without a word. */
export interface Removed {
  uuid: string;
  atMs: number;
}

/** A reading that was reported. */
export interface Reading {
  atMs: number;
  /** When its first page was asked for, where that is known. */
  startedMs?: number | undefined;
  isOfGap: boolean;
  /** It is incomplete, or counts unknown bicycles. */
  isOpen: boolean;
}

/** What happened, and what was shown of it. */
export interface History {
  made: readonly Made[];
  shown: readonly Shown[];
  gaps: readonly { fromMs: number; toMs: number }[];
  reports: readonly Reading[];
  /** What left the service, and what was said to be gone. */
  removed?: readonly Removed[];
  gone?: readonly Removed[];
  /** Not every bicycle is known, because the list is longer than the bound: one that came makes up for one that left. */
  isBounded?: boolean;
  /** How old the list may be. */
  lagMs?: number;
  hasVersions: boolean;
  /** How much later than it happened a gap may be seen. */
  lateMs: number;
  /** Messages go on as they came: one that a list had shown before is shown again. */
  isRaw: boolean;
}

/** How many readings after a change may be the one that looked for it: others were on their way, or of another topic. */
const LOOKED_AT_READINGS = 3;

/** Longer than until the count is compared, and what does not fit is read twice. */
const GONE_MS = 7 * 60_000;

/** More at once would seem to be a service in trouble. */
const MOST_REMOVED = 5;

/** The longest that a message is on its way. */
const DELIVERY_MS = 1_000;

/** The same seed, the same luck. */
export function openLuck(seed: number) {
  let state = (seed * 2_654_435_761 + 1) % 2_147_483_647;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  for (let index = 0; index < 5; index++) next();
  return { next, below: (count: number) => Math.floor(next() * count), chance: (share: number) => next() < share };
}

function planOf(mostPages: number, form: Plan['form']): Plan {
  return {
    form,
    sseUrl: new URL('http://127.0.0.1/'),
    topics: [TOPIC],
    organizations: ['6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11'],
    bicycles: undefined,
    senders: undefined,
    where: [],
    until: undefined,
    forMs: undefined,
    maxEvents: undefined,
    idleMs: 90_000,
    resyncPages: mostPages,
    giveUpAfterMs: undefined,
  };
}

/** Runs one scenario to its end and holds what was shown against what happened. */
export function runScenario({ seed, durationMs }: Scenario): Verdict {
  const luck = openLuck(seed);
  const hasVersions = luck.chance(0.5);
  const hasReplay = luck.chance(0.4);
  const isBounded = luck.chance(0.3);
  const isPartial = luck.chance(0.3);
  const hasFuture = luck.chance(0.3);
  const hasDeaths = luck.chance(0.6);
  const lagMs = luck.chance(0.3) ? 3_000 : 0;
  const size = 6 + luck.below(20);
  const pageSize = 4;
  const plan = planOf(isBounded ? 2 : 100, luck.chance(0.3) ? 'board' : 'lines');

  let nowMs = 0;
  let wallStepMs = 0;
  const moment = (): Moment => ({ monotonicMs: nowMs, wallMs: START_MS + nowMs + wallStepMs });
  const timers: { dueMs: number; action: () => void; order: number }[] = [];
  let order = 0;
  const after = (inMs: number, action: () => void) =>
    void timers.push({ dueMs: nowMs + Math.max(0, inMs), action, order: order++ });

  // The service: bicycles, their changes, a list and one stream.
  const fleet = new Map<string, Bicycle>();
  const uuidAt = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  let born = size;
  for (let index = 0; index < size; index++) {
    const uuid = uuidAt(index);
    const modified = hasFuture && index === 0 ? '2031-01-01T00:00:00Z' : secondOf(START_MS - 60_000 * (index + 1));
    const version = hasVersions ? { concurrency_version: index } : {};
    fleet.set(uuid, {
      uuid,
      modified,
      name: `B${index}`,
      state_of_charge: -index,
      lock: 'https://x/locks/1/',
      ...version,
    });
  }
  const made: Made[] = [];
  const removed: Removed[] = [];
  /** The fleet as a replica that lags has it. */
  let replica = new Map(fleet);
  let isOfReplica = false;
  let isUp = false;
  let isStalled = false;
  let lastLifeMs = 0;
  let lossMs: number | undefined;
  let lost: string[] = [];
  let connection = 0;
  let deliverAtMs = 0;
  const change = () => {
    if (nowMs >= durationMs) return;
    const isBorn = hasDeaths && luck.chance(0.02);
    const uuid = isBorn ? uuidAt(born++) : ([...fleet.keys()][luck.below(fleet.size)] ?? '');
    const before = isBorn ? { uuid, name: 'new' } : fleet.get(uuid);
    const id = made.length + 1;
    const ahead = hasFuture && uuid.endsWith('0'.repeat(12)) && luck.chance(0.5) ? 86_400_000 : 0;
    const modified = secondOf(START_MS + nowMs + ahead);
    const version = hasVersions ? { concurrency_version: id * 10 + luck.below(10) + 1_000 } : {};
    const bicycle: Bicycle = { ...before, modified, state_of_charge: id, ...version };
    fleet.set(uuid, bicycle);
    if (lastLifeMs > 0) made.push({ id, uuid, atMs: nowMs });
    else made.push({ id, uuid, atMs: Number.NEGATIVE_INFINITY });
    const { lock: _lock, name: _name, ...rest } = bicycle;
    const data = JSON.stringify({ topic: TOPIC, sender: 'bicycle', message: isPartial ? rest : bicycle });
    const mine = connection;
    // Half of the changes of a busy fleet fall into the same second as the one before.
    if (!isUp || isStalled) lost.push(data);
    else {
      // A connection keeps the order.
      deliverAtMs = Math.max(deliverAtMs, nowMs + luck.below(300));
      after(deliverAtMs - nowMs, () => (mine === connection && isUp && !isStalled ? deliver(data) : lost.push(data)));
    }
    after(luck.chance(0.5) ? luck.below(300) : luck.below(5_000), change);
  };
  /** A bicycle is deleted, or moved to another organization: nothing is pushed. */
  const remove = () => {
    if (nowMs >= durationMs || removed.length === MOST_REMOVED) return;
    const uuid = [...fleet.keys()][luck.below(fleet.size)] ?? '';
    fleet.delete(uuid);
    removed.push({ uuid, atMs: nowMs });
    after(luck.chance(0.3) ? luck.below(2_000) : luck.below(200_000), remove);
  };
  const replicate = () => {
    const copy = new Map(fleet);
    after(lagMs, () => {
      replica = copy;
    });
    if (nowMs < durationMs + QUIET_END_MS) after(500, replicate);
  };
  const deliver = (data: string) => {
    lastLifeMs = nowMs;
    step({ type: 'message', topic: TOPIC, atMs: moment().wallMs, monotonicMs: nowMs, data, name: 'message' });
  };
  const cut = () => {
    if (!isUp) return;
    const cause = isStalled ? 'idle' : 'network';
    isUp = false;
    isStalled = false;
    connection++;
    lossMs = lastLifeMs;
    const at = { topic: TOPIC, atMs: moment().wallMs, monotonicMs: nowMs };
    const blindMs = nowMs - lastLifeMs;
    const lastLifeWallMs = at.atMs - blindMs;
    step({ type: 'lost', ...at, cause, error: CUT, lastLifeWallMs, blindMs, downMs: 0, attempt: 1, retryInMs: 500 });
    after(200 + luck.below(30_000), open);
  };
  const open = () => {
    const isReturn = lossMs !== undefined;
    const at = () => ({ topic: TOPIC, atMs: moment().wallMs, monotonicMs: nowMs });
    const fromMs = lossMs ?? nowMs;
    isUp = true;
    lastLifeMs = nowMs;
    lossMs = undefined;
    const durationOfGap = nowMs - fromMs;
    step({ type: 'open', ...at(), isReturn, trace: {} });
    const missed = lost;
    lost = [];
    if (isReturn) {
      const fromWallMs = at().atMs - durationOfGap;
      const gap = {
        cause: 'network',
        message: 'cut',
        fromWallMs,
        durationMs: durationOfGap,
        droppedEvents: 0,
      } as const;
      step({ type: 'gap', ...at(), ...gap, replayed: hasReplay });
      if (hasReplay) for (const data of missed) deliver(data);
    }
    const mine = connection;
    after(isReturn ? 1_000 : 0, () => {
      if (mine !== connection) return;
      const sinceWallMs = isReturn ? at().atMs - (nowMs - fromMs) : undefined;
      step({ type: 'resync', ...at(), sinceWallMs });
    });
  };
  const trouble = () => {
    if (nowMs >= durationMs) return;
    const kind = luck.below(4);
    if (kind === 0) wallStepMs += (luck.chance(0.5) ? 1 : -1) * 3_600_000;
    else if (kind === 1 && isUp) {
      isStalled = true;
      after(5_000 + luck.below(60_000), cut);
    } else cut();
    after(2_000 + luck.below(60_000), trouble);
  };
  const pageOf = (page: number, isByAge = false) => {
    // A reading stays with its replica: what slips between two of them leaves no trace.
    if (page === 0) isOfReplica = lagMs > 0 && nowMs < durationMs && luck.chance(0.3);
    const listed = isOfReplica ? replica : fleet;
    const sorted = [...listed.values()];
    if (!isByAge) sorted.sort((a, b) => String(b.modified).localeCompare(String(a.modified)));
    const items = sorted.slice(page * pageSize, (page + 1) * pageSize);
    const next: [string, string][] | undefined =
      (page + 1) * pageSize < listed.size ? [['page', String(page + 1)]] : undefined;
    return { count: listed.size, items: items.map((value) => ({ json: '', value })), next, trace: {} };
  };

  // The watch, and what it shows.
  const watch = new Watch(plan, moment());
  const shown: Shown[] = [];
  const reports: Reading[] = [];
  const gaps: { fromMs: number; toMs: number }[] = [];
  const gone: Removed[] = [];
  /** When the reading that is reported next was begun. */
  let startedMs: number | undefined;
  const show = (id: unknown, uuid: string | undefined, how: string) =>
    shown.push({ id: Number(id), uuid, how, atMs: nowMs });
  const perform = (effect: WatchEffect) => {
    if (effect.type === 'show' && effect.entry.type === 'bicycle') {
      const { kind, uuid, after: known } = effect.entry;
      const said = kind === 'caught-up' ? known : JSON.parse(effect.data ?? '').message;
      show(said.state_of_charge, uuid, kind);
    } else if (effect.type === 'show' && effect.entry.type === 'gone') {
      gone.push({ uuid: effect.entry.uuid, atMs: nowMs });
    } else if (effect.type === 'stream' && effect.event.type === 'gap') {
      gaps.push({ fromMs: nowMs - effect.event.durationMs, toMs: nowMs });
    } else if (effect.type === 'read') {
      reports.push({ ...readingOf(effect.report, nowMs), startedMs });
      startedMs = undefined;
    } else if (effect.type === 'wake') after(effect.inMs, () => step({ type: 'tick' }));
    else if (effect.type === 'read-count')
      after(luck.below(500), () =>
        step({ type: 'count', id: effect.id, organization: effect.organization, total: fleet.size }),
      );
    else if (effect.type === 'read-whole') {
      const { id } = effect;
      const readOn = (page: number) => {
        const askedAt = watch.known.heard;
        after(luck.below(500), () => {
          const { items, count } = pageOf(page, true);
          const isLast = (page + 1) * pageSize >= count;
          after(luck.below(500), () => {
            const answer = { id, items, count, nextPage: isLast ? undefined : page + 2, askedAt } as const;
            step({ type: 'whole-page', ...answer });
            if (isLast) step({ type: 'whole-list', id });
            else readOn(page + 1);
          });
        });
      };
      readOn(effect.page - 1);
    } else if (effect.type === 'read-page') {
      const { id, next } = effect;
      startedMs ??= nowMs;
      const page = Number(new Map(next ?? []).get('page') ?? 0);
      // The list is looked at somewhere between the question and the answer.
      after(luck.below(500), () => {
        const isFailing = nowMs < durationMs && luck.chance(0.1);
        const answer: WatchEvent = isFailing
          ? { type: 'failed', id, error: FAILURE }
          : { type: 'page', id, page: pageOf(page) };
        after(luck.below(500), () => step(answer));
      });
    }
  };
  const step = (event: WatchEvent) => {
    for (const effect of watch.take(event, moment())) perform(effect);
  };

  after(10, open);
  after(luck.below(300), change);
  after(luck.below(luck.chance(0.3) ? 2_000 : 20_000), trouble);
  if (hasDeaths) after(luck.below(60_000), remove);
  if (lagMs > 0) replicate();
  for (const endMs = durationMs + (hasDeaths ? GONE_MS : QUIET_END_MS); timers.length > 0; ) {
    const next = timers.reduce((a, b) => (b.dueMs < a.dueMs || (b.dueMs === a.dueMs && b.order < a.order) ? b : a));
    if (next.dueMs > endMs) break;
    timers.splice(timers.indexOf(next), 1);
    nowMs = Math.max(nowMs, next.dueMs);
    next.action();
  }
  return {
    faults: [
      ...judge({ made, shown, gaps, reports, removed, gone, lagMs, isBounded, hasVersions, lateMs: 0, isRaw: false }),
      ...judgeKnown(new Set([...watch.bicycles()].map(({ uuid }) => String(uuid))), fleet, isBounded),
    ],
    changes: made.length,
    gaps: gaps.length,
    removed: gone.length,
    caughtUp: watch.counts.caughtUp,
  };
}

function secondOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}

function readingOf({ sinceWallMs, isComplete, unknown }: Report, atMs: number): Reading {
  return { atMs, isOfGap: sinceWallMs !== undefined, isOpen: !isComplete || unknown > 0 };
}

/**
 * "Every change is shown once, or lies in a reported gap and its end state is shown once as caught up, or is counted as unknown."
 * Without versions two messages of one second cannot be put in order: a change that the list showed may be shown again when an
 * older one came in between, so that the last line tells the truth.
 */
export function judge(history: History): string[] {
  return [
    ...judgeDoubles(history),
    ...judgeSwallowed(history),
    ...judgeGone(history),
    ...(history.isRaw ? [] : judgeLast(history)),
  ];
}

/** In the end what is known is what there is; of a list that was not read to its end no more than that. */
function judgeKnown(known: ReadonlySet<string>, fleet: ReadonlyMap<string, Bicycle>, isBounded: boolean): string[] {
  const ghosts = [...known].filter((uuid) => !fleet.has(uuid)).map((uuid) => `${uuid} is a ghost at the end`);
  const unknown = [...fleet.keys()].filter((uuid) => !known.has(uuid)).map((uuid) => `${uuid} is not known at the end`);
  return isBounded ? ghosts : [...ghosts, ...unknown];
}

/** Nothing that is there is said to be gone, nothing twice; and no reading is complete while what it had to miss is not said. */
function judgeGone({ removed = [], gone = [], shown, reports, lagMs = 0, isBounded = false }: History): string[] {
  const faults: string[] = [];
  for (const { uuid, atMs } of gone) {
    const left = removed.find((one) => one.uuid === uuid && one.atMs <= atMs);
    if (left === undefined) faults.push(`${uuid} was said to be gone at ${atMs}, and is there`);
    const again = gone.find((one) => one.uuid === uuid && one.atMs > atMs);
    // What was sent again after the cut brought it back, where the time at the service was not known.
    const isBack = shown.some(
      (one) => one.uuid === uuid && (one.atMs ?? 0) > atMs && (one.atMs ?? 0) < (again?.atMs ?? 0),
    );
    if (again !== undefined && !isBack) faults.push(`${uuid} was said to be gone twice`);
  }
  for (const { uuid, atMs } of removed) {
    if (isBounded || !shown.some((one) => one.uuid === uuid)) continue;
    const said = gone.find((one) => one.uuid === uuid)?.atMs ?? Number.POSITIVE_INFINITY;
    // The list itself may be that old.
    const wrong = reports.find(
      ({ isOfGap, isOpen, startedMs }) => isOfGap && !isOpen && (startedMs ?? 0) > atMs + lagMs + DELIVERY_MS,
    );
    if (wrong !== undefined && said > wrong.atMs) {
      faults.push(
        `a reading was complete at ${wrong.atMs}, and ${uuid}, gone at ${atMs}, was said to be gone at ${said}`,
      );
    }
  }
  return faults;
}

function judgeDoubles({ shown, hasVersions, isRaw }: History): string[] {
  const faults: string[] = [];
  for (const [id, lines] of timesOf(shown)) {
    const [first, second] = lines;
    if (id <= 0 && !lines.some(({ how }) => how === 'caught-up')) faults.push(`nothing happened, and ${id} was shown`);
    if (id <= 0 || first === undefined || second === undefined) continue;
    const between = shown.slice(shown.indexOf(first) + 1, shown.indexOf(second));
    const isCorrection = !hasVersions && lines.length === 2 && between.some(({ uuid }) => uuid === first.uuid);
    const isListed = isRaw && lines.length === 2 && lines.filter(({ how }) => how === 'caught-up').length === 1;
    if (!isCorrection && !isListed)
      faults.push(`change ${id} was shown ${lines.length} times: ${lines.map(({ how }) => how).join(', ')}`);
  }
  return faults;
}

function judgeSwallowed({ made, shown, gaps, reports, lateMs, removed = [], lagMs = 0 }: History): string[] {
  const faults: string[] = [];
  const times = timesOf(shown);
  for (const { id, uuid, atMs } of made) {
    if (times.has(id) || atMs === Number.NEGATIVE_INFINITY) continue;
    if (!gaps.some(({ fromMs, toMs }) => atMs >= fromMs - DELIVERY_MS - lateMs && atMs <= toMs)) {
      faults.push(`change ${id} of ${uuid} at ${Math.round(atMs) % 1e8} was not shown, and lies in no gap`);
    }
    const isOvertaken = made.some((later) => later.uuid === uuid && later.id > id && times.has(later.id));
    // Nobody can say any more what became of it; and a list that is older than the change cannot know of it.
    if (removed.some((one) => one.uuid === uuid)) continue;
    const isLagging = lagMs > 0 && reports.some(({ atMs: readMs }) => readMs >= atMs && readMs <= atMs + 4 * lagMs);
    if (isLagging) continue;
    const looked = reports.filter((report) => report.isOfGap && report.atMs >= atMs).slice(0, LOOKED_AT_READINGS);
    if (!isOvertaken && !looked.some(({ isOpen }) => isOpen)) {
      faults.push(
        `change ${id} of ${uuid} at ${Math.round(atMs) % 1e8} was swallowed, and ${looked.length === 0 ? 'no reading' : 'every reading'} was complete`,
      );
    }
  }
  return faults;
}

function judgeLast({ shown, gone = [] }: History): string[] {
  const left = new Set(gone.map(({ uuid }) => uuid));
  const last = new Map(
    shown.filter(({ how, uuid = '' }) => how !== 'late' && !left.has(uuid)).map(({ uuid, id }) => [uuid, id]),
  );
  return [...last].flatMap(([uuid, id]) => {
    const newest = Math.max(...shown.filter((one) => one.uuid === uuid).map((one) => one.id));
    return newest === id ? [] : [`the last line of ${uuid} says ${id}, and ${newest} had been shown`];
  });
}

function timesOf(shown: readonly Shown[]): Map<number, Shown[]> {
  const times = new Map<number, Shown[]>();
  for (const one of shown) times.set(one.id, [...(times.get(one.id) ?? []), one]);
  return times;
}
