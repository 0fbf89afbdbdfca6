// A service in a few lines that loses, stalls, replays and lies about the time, and an oracle that knows what a watch owes to whoever reads it.

import type { Bicycle } from '../../src/api/bicycle.js';
import type { WatchPlan } from '../../src/commands/watch/plan.js';
import { Watch, type WatchEffect, type WatchEvent } from '../../src/commands/watch/state.js';
import { FleetError } from '../../src/errors.js';
import type { Report } from '../../src/follower/events.js';
import type { Moment } from '../../src/system/clock.js';

const ORGANIZATIONS = [
  '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
  '7e2d1c6f-3a1f-4d67-8e4b-1e7a4b2a8d22',
] as const;
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
  /** After it the list does not show the bicycle. */
  isHidden?: boolean;
  /** The bicycle came by it. */
  isBorn?: boolean;
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
  /** The list did not show it, and nobody had said so. */
  isHidden?: boolean;
}

/** A reading that was reported. */
export interface Reading {
  atMs: number;
  /** When its first page was asked for, where that is known. */
  startedMs?: number | undefined;
  isOfGap: boolean;
  /** It is incomplete, or counts unknown bicycles. */
  isOpen: boolean;
  /** While it read, a message told of a bicycle that a list of available bicycles alone shows or hides by that: the counts cannot be compared. */
  isRaced?: boolean;
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
  hasModified?: boolean;
  /** The first bicycle says now and then that it was changed tomorrow. */
  hasFuture?: boolean;
  /** The list shows more than what its count can be compared with. */
  hasOwn?: boolean;
  hasTwo?: boolean;
  /** The service does not order its list, or orders it otherwise and counts nothing: pages of four may look right, and may shift unseen. */
  hasNoOrder?: boolean;
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

/** Two readings that miss a bicycle may have begun so long ago. */
const LONGEST_LOOK_MS = 15_000;

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
  const below = (count: number) => Math.floor(next() * count);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  return { next, below, pick, chance: (share: number) => next() < share };
}

/** What a service is like that the seeds of the first year did not know. */
export interface Traits {
  /** Two organizations are followed, and bicycles move between them. */
  hasTwo: boolean;
  /** So many bicycles are followed by name; 0: all. */
  named: number;
  /** Bicycles have addresses of their own. */
  hasAddresses: boolean;
  /** The list shows available bicycles alone; all are pushed. */
  isFiltered: boolean;
  /** Bicycles of its own are listed whatever their state. */
  hasOwn: boolean;
  count: 'right' | 'none' | 'bare';
  hasModified: boolean;
  hasOpaqueVersions: boolean;
  order: 'right' | 'created' | 'oldest';
  /** Readings of the whole list fail now and then. */
  failsWhole: boolean;
}

const PLAIN: Traits = {
  ...{
    hasTwo: false,
    named: 0,
    hasAddresses: true,
    isFiltered: false,
    hasOwn: false,
    count: 'right',
  },
  ...{ hasModified: true, hasOpaqueVersions: false, order: 'right', failsWhole: false },
};

/** A service of the wilder kind, by the seed. */
export function wildTraits(seed: number): Traits {
  const luck = openLuck(seed + 7_000_000);
  const count = luck.chance(0.25) ? (luck.chance(0.5) ? 'none' : 'bare') : 'right';
  const order = luck.chance(0.2) ? (luck.chance(0.5) ? 'created' : 'oldest') : 'right';
  const isFiltered = luck.chance(0.2);
  return {
    ...{
      hasTwo: luck.chance(0.4),
      named: luck.chance(0.3) ? 1 + luck.below(4) : 0,
      hasAddresses: luck.chance(0.7),
    },
    ...{ isFiltered, hasOwn: isFiltered && luck.chance(0.3), count, order },
    // What hides bicycles and has no times leaves nothing to go by.
    ...{
      hasModified: !luck.chance(0.15) || isFiltered,
      hasOpaqueVersions: luck.chance(0.15),
      failsWhole: luck.chance(0.4),
    },
  };
}

function planOf(
  mostPages: number,
  form: WatchPlan['form'],
  topics: readonly string[],
  named: ReadonlySet<string> | undefined,
): WatchPlan {
  return {
    form,
    sseUrl: new URL('http://127.0.0.1/'),
    topics,
    organizations: ORGANIZATIONS.filter((organization) =>
      topics.some((topic) => topic.includes(organization)),
    ),
    bicycles: named,
    where: [],
    idle: 90_000,
    resyncPages: mostPages,
  };
}

/** Runs one scenario to its end and holds what was shown against what happened. */
export function runScenario({ seed, durationMs }: Scenario, traits: Traits = PLAIN): Verdict {
  const luck = openLuck(seed);
  const hasVersions = luck.chance(0.5) && traits.hasModified;
  const hasReplay = luck.chance(0.4);
  const isBounded = luck.chance(0.3);
  const isPartial = luck.chance(0.3);
  // The middle of few is moved by one that lies.
  const hasFuture = luck.chance(0.3) && traits.named === 0 && !traits.isFiltered;
  const hasDeaths = luck.chance(0.6);
  const lagMs = luck.chance(0.3) ? 3_000 : 0;
  const size = 6 + luck.below(20);
  const pageSize = 4;
  const uuidAt = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const more = openLuck(seed + 9_000_000);
  const named =
    traits.named === 0
      ? undefined
      : new Set(Array.from({ length: traits.named }, (_, index) => uuidAt(index)));
  const followed = ORGANIZATIONS.slice(0, traits.hasTwo ? 2 : 1);
  const topics = followed.flatMap((organization) =>
    (named === undefined ? ['*'] : [...named]).map(
      (name) => `/${organization}/admin/bicycles/${name}${name === '*' ? '' : '/'}`,
    ),
  );
  const seesAll = !traits.isFiltered;
  const plan = planOf(isBounded ? 2 : 100, luck.chance(0.3) ? 'board' : 'lines', topics, named);

  let nowMs = 0;
  let wallStepMs = 0;
  const moment = (): Moment => ({ monotonicMs: nowMs, wallMs: START_MS + nowMs + wallStepMs });
  const timers: { dueMs: number; action: () => void; order: number }[] = [];
  let order = 0;
  const after = (inMs: number, action: () => void) =>
    void timers.push({ dueMs: nowMs + Math.max(0, inMs), action, order: order++ });

  // The service: bicycles, their changes, a list and one stream.
  const fleet = new Map<string, Bicycle>();
  const ownerOf = new Map<string, string>();
  const isOwn = (uuid: unknown) => traits.hasOwn && Number(String(uuid).slice(-12)) % 5 === 0;
  let born = size;
  for (let index = 0; index < size; index++) {
    const uuid = uuidAt(index);
    const modified =
      hasFuture && index === 0 ? '2031-01-01T00:00:00Z' : secondOf(START_MS - 60_000 * (index + 1));
    const version = hasVersions
      ? { concurrency_version: traits.hasOpaqueVersions ? `v${index}` : index }
      : {};
    ownerOf.set(uuid, more.pick(followed));
    fleet.set(uuid, {
      uuid,
      ...(traits.hasModified ? { modified } : {}),
      state: traits.isFiltered && more.chance(0.4) ? 'rented' : 'available',
      name: `B${index}`,
      state_of_charge: -index,
      lock: 'https://x/locks/1/',
      ...version,
    });
  }
  const made: Made[] = [];
  let changes = 0;
  /** The last change that was delivered of each bicycle. */
  const told = new Map<string, unknown>();
  const toldState = new Map<string, unknown>();
  /** When a message told of another state last. */
  let toldAtMs = Number.NEGATIVE_INFINITY;
  const versionAt = (number: number) => (traits.hasOpaqueVersions ? `v${number}` : number);
  const removed: Removed[] = [];
  /** The fleet as a replica that lags has it. */
  let replica = new Map(fleet);
  let isOfReplica = false;
  const links = new Map(topics.map((topic) => [topic, newLink()]));
  const topicOf = (uuid: string) =>
    topics.find(
      (topic) =>
        topic.includes(ownerOf.get(uuid) ?? '') && (topic.endsWith('*') || topic.includes(uuid)),
    );
  const change = () => {
    if (nowMs >= durationMs) return;
    const isBorn = hasDeaths && luck.chance(0.02);
    const uuid = isBorn ? uuidAt(born++) : ([...fleet.keys()][luck.below(fleet.size)] ?? '');
    const before = isBorn ? { uuid, name: 'new', state: 'available' } : fleet.get(uuid);
    if (isBorn || (traits.hasTwo && more.chance(0.03))) ownerOf.set(uuid, more.pick(followed));
    const id = ++changes;
    const ahead = hasFuture && uuid.endsWith('0'.repeat(12)) && luck.chance(0.5) ? 86_400_000 : 0;
    const modified = secondOf(START_MS + nowMs + ahead);
    const version = hasVersions
      ? { concurrency_version: versionAt(id * 10 + luck.below(10) + 1_000) }
      : {};
    const state =
      traits.isFiltered && more.chance(0.2)
        ? { state: more.chance(0.5) ? 'available' : 'rented' }
        : {};
    const bicycle: Bicycle = {
      ...before,
      ...(traits.hasModified ? { modified } : {}),
      ...state,
      state_of_charge: id,
      ...version,
    };
    fleet.set(uuid, bicycle);
    const topic = topicOf(uuid);
    const link = topic === undefined ? undefined : links.get(topic);
    if (topic === undefined || link === undefined) return void after(luck.below(500), change);
    const isEarly = link.lastLifeMs === 0;
    made.push({
      id,
      uuid,
      atMs: isEarly ? Number.NEGATIVE_INFINITY : nowMs,
      isHidden: !isListed(bicycle),
      isBorn,
    });
    const { lock: _lock, name: _name, ...rest } = bicycle;
    const data = JSON.stringify({ topic, sender: 'bicycle', message: isPartial ? rest : bicycle });
    const mine = link.connection;
    // Half of the changes of a busy fleet fall into the same second as the one before.
    if (!link.isUp || link.isStalled) link.lost.push({ id, data });
    else {
      // A connection keeps the order.
      link.deliverAtMs = Math.max(link.deliverAtMs, nowMs + luck.below(300));
      after(link.deliverAtMs - nowMs, () =>
        mine === link.connection && link.isUp && !link.isStalled
          ? deliver(topic, link, data)
          : link.lost.push({ id, data }),
      );
    }
    after(luck.chance(0.5) ? luck.below(300) : luck.below(5_000), change);
  };
  /** A bicycle is deleted, or moved to another organization: nothing is pushed. */
  const remove = () => {
    if (nowMs >= durationMs || removed.length === MOST_REMOVED) return;
    const uuid = [...fleet.keys()][luck.below(fleet.size)] ?? '';
    // Of one that was pushed in another state nobody can say whose it is.
    const isHidden =
      traits.isFiltered &&
      !(fleet.get(uuid)?.state === 'available' && toldState.get(uuid) !== 'rented');
    fleet.delete(uuid);
    removed.push({ uuid, atMs: nowMs, isHidden });
    after(luck.chance(0.3) ? luck.below(2_000) : luck.below(200_000), remove);
  };
  const replicate = () => {
    const copy = new Map(fleet);
    after(lagMs, () => {
      replica = copy;
    });
    if (nowMs < durationMs + QUIET_END_MS) after(500, replicate);
  };
  const deliver = (topic: string, link: Link, data: string) => {
    link.lastLifeMs = nowMs;
    const { message } = JSON.parse(data);
    if (traits.isFiltered && toldState.get(message.uuid) !== message.state) toldAtMs = nowMs;
    told.set(message.uuid, message.state_of_charge);
    toldState.set(message.uuid, message.state);
    step({ type: 'message', topic, atMs: moment().wallMs, monotonicMs: nowMs, data });
  };
  const cut = (topic: string, link: Link) => {
    if (!link.isUp) return;
    const cause = link.isStalled ? 'idle' : 'network';
    link.isUp = false;
    link.isStalled = false;
    link.connection++;
    link.lossMs = link.lastLifeMs;
    const at = { topic, atMs: moment().wallMs, monotonicMs: nowMs };
    const downMs = nowMs - link.lastLifeMs;
    const lastLifeWallMs = at.atMs - downMs;
    step({
      type: 'lost',
      ...at,
      cause,
      error: CUT,
      lastLifeWallMs,
      downMs,
      attempt: 1,
      retryInMs: 500,
    });
    after(200 + luck.below(30_000), () => open(topic, link));
  };
  const open = (topic: string, link: Link) => {
    const isReturn = link.lossMs !== undefined;
    const at = () => ({ topic, atMs: moment().wallMs, monotonicMs: nowMs });
    const fromMs = link.lossMs ?? nowMs;
    link.isUp = true;
    link.lastLifeMs = nowMs;
    link.lossMs = undefined;
    const durationOfGap = nowMs - fromMs;
    step({ type: 'open', ...at(), isReturn, trace: {} });
    // Sent again in the order in which it happened.
    const missed = [...link.lost.sort((a, b) => a.id - b.id)].map(({ data }) => data);
    link.lost = [];
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
      if (hasReplay) for (const data of missed) deliver(topic, link, data);
    }
    const mine = link.connection;
    after(isReturn ? 1_000 : 0, () => {
      if (mine !== link.connection) return;
      const sinceWallMs = isReturn ? at().atMs - (nowMs - fromMs) : undefined;
      step({ type: 'resync', ...at(), sinceWallMs });
    });
  };
  const trouble = () => {
    if (nowMs >= durationMs) return;
    const kind = luck.below(4);
    const topic = more.pick(topics);
    const link = links.get(topic) ?? newLink();
    if (kind === 0) wallStepMs += (luck.chance(0.5) ? 1 : -1) * 3_600_000;
    else if (kind === 1 && link.isUp) {
      link.isStalled = true;
      after(5_000 + luck.below(60_000), () => cut(topic, link));
    } else cut(topic, link);
    after(2_000 + luck.below(60_000), trouble);
  };
  const isListed = (bicycle: Bicycle) =>
    !traits.isFiltered || bicycle.state === 'available' || isOwn(bicycle.uuid);
  const pageOf = (organization: string, page: number, isByAge = false) => {
    // A reading stays with its replica: what slips between two of them leaves no trace.
    if (page === 0) isOfReplica = lagMs > 0 && nowMs < durationMs && luck.chance(0.3);
    const listed = isOfReplica ? replica : fleet;
    const sorted = [...listed.values()].filter(
      (one) => isListed(one) && ownerOf.get(String(one.uuid)) === organization,
    );
    if (!isByAge && traits.order === 'oldest')
      sorted.sort((a, b) => String(a.modified).localeCompare(String(b.modified)));
    else if (!isByAge && traits.order === 'right' && traits.hasModified)
      sorted.sort((a, b) => String(b.modified).localeCompare(String(a.modified)));
    const count = traits.count === 'right' ? sorted.length : undefined;
    const isWhole = traits.count === 'bare';
    const items = isWhole ? sorted : sorted.slice(page * pageSize, (page + 1) * pageSize);
    const next: [string, string][] | undefined =
      !isWhole && (page + 1) * pageSize < sorted.length ? [['page', String(page + 1)]] : undefined;
    return { count, items: items.map((value) => ({ json: '', value })), next, trace: {} };
  };

  // The watch, and what it shows.
  const watch = new Watch(plan, moment());
  watch.seesAll = seesAll;
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
      const { uuid } = effect.entry;
      const there = fleet.get(uuid);
      // What was never pushed in the state that hides it cannot be told from what was deleted.
      const before = made.findLast(
        (one) => one.uuid === uuid && one.atMs <= nowMs - LONGEST_LOOK_MS,
      );
      const isLate = (one: Made) => one.uuid === uuid && one.atMs > nowMs - LONGEST_LOOK_MS;
      const wasHidden = made.some((one) => one.isHidden && (one === before || isLate(one)));
      const isUntold = there !== undefined && told.get(uuid) !== there.state_of_charge;
      gone.push({ uuid, atMs: nowMs, isHidden: isUntold && (wasHidden || !isListed(there)) });
    } else if (effect.type === 'stream' && effect.event.type === 'gap') {
      gaps.push({ fromMs: nowMs - effect.event.durationMs, toMs: nowMs });
    } else if (effect.type === 'read') {
      reports.push({
        ...readingOf(effect.report, nowMs),
        startedMs,
        isRaced: toldAtMs >= (startedMs ?? nowMs),
      });
      startedMs = undefined;
    } else if (effect.type === 'read-whole') {
      const { id, organization } = effect;
      const readOn = (page: number) => {
        const askedAt = watch.known.merged;
        after(luck.below(500), () => {
          const { items, count, next } = pageOf(organization, page, true);
          const isLast = next === undefined;
          const isFailing = traits.failsWhole && nowMs < durationMs && more.chance(0.15);
          after(luck.below(500), () => {
            if (isFailing) return step({ type: 'whole-failed', id, error: FAILURE });
            const answer = { id, items, count, isLast, askedAt } as const;
            step({ type: 'whole-page', ...answer });
            if (!isLast) readOn(page + 1);
          });
        });
      };
      readOn(0);
    } else if (effect.type === 'read-page') {
      const { id, next, organization, isCount } = effect;
      if (!isCount) startedMs ??= nowMs;
      const page = Number(new Map(next ?? []).get('page') ?? 0);
      // The list is looked at somewhere between the question and the answer.
      after(luck.below(500), () => {
        const isFailing = nowMs < durationMs && luck.chance(0.1);
        const answer: WatchEvent = isFailing
          ? { type: 'failed', id, error: FAILURE }
          : { type: 'page', id, page: pageOf(organization, page) };
        after(luck.below(500), () => step(answer));
      });
    } else if (effect.type === 'read-bicycle') {
      const { id, uuid } = effect;
      startedMs ??= nowMs;
      after(luck.below(500), () => {
        const found = traits.hasAddresses ? fleet.get(uuid) : undefined;
        const bicycle = found !== undefined && isListed(found) ? found : undefined;
        const isFailing = nowMs < durationMs && more.chance(0.1);
        after(luck.below(500), () =>
          step(
            isFailing ? { type: 'failed', id, error: FAILURE } : { type: 'bicycle', id, bicycle },
          ),
        );
      });
    }
  };
  const step = (event: WatchEvent) => {
    for (const effect of watch.take(event, moment())) perform(effect);
  };

  const tick = () => {
    step({ type: 'tick' });
    after(1_000, tick);
  };
  after(1_000, tick);
  for (const [topic, link] of links) after(10 + more.below(500), () => open(topic, link));
  after(luck.below(300), change);
  after(luck.below(luck.chance(0.3) ? 2_000 : 20_000), trouble);
  if (hasDeaths) after(luck.below(60_000), remove);
  if (lagMs > 0) replicate();
  for (const endMs = durationMs + (hasDeaths ? GONE_MS : QUIET_END_MS); timers.length > 0; ) {
    const next = timers.reduce((a, b) =>
      b.dueMs < a.dueMs || (b.dueMs === a.dueMs && b.order < a.order) ? b : a,
    );
    if (next.dueMs > endMs) break;
    timers.splice(timers.indexOf(next), 1);
    nowMs = Math.max(nowMs, next.dueMs);
    next.action();
  }
  // Who reads two pages alone, and no bicycle at its own address, cannot know that one left.
  const cannotFind = isBounded && named !== undefined && !traits.hasAddresses;
  const cannotCount = traits.count === 'none' || cannotFind;
  // Where not all are known, one that comes makes up for one that leaves before the next count.
  const isMadeUp = isBounded && made.some(({ isBorn }) => isBorn);
  const left = new Set([
    ...fleet.keys(),
    ...removed
      .filter(({ isHidden }) => isHidden || cannotCount || isMadeUp)
      .map(({ uuid }) => uuid),
  ]);
  const owed = [...fleet.values()]
    .filter(isListed)
    .map(({ uuid }) => String(uuid))
    .filter((uuid) => named?.has(uuid) !== false);
  const history = { made, shown, gaps, reports, removed, gone, lagMs, isRaw: false, lateMs: 0 };
  return {
    faults: [
      ...judge({
        ...history,
        // Four in any order may look as if they were in the right one.
        isBounded: isBounded || cannotCount || traits.order === 'created',
        hasNoOrder:
          traits.order === 'created' || (traits.order !== 'right' && traits.count === 'none'),
        hasVersions: hasVersions && !traits.hasOpaqueVersions,
        hasModified: traits.hasModified,
        hasFuture,
        hasOwn: traits.hasOwn,
        hasTwo: traits.hasTwo,
      }),
      ...judgeKnown(
        new Set([...watch.store.bicycles()].map(({ uuid }) => String(uuid))),
        new Set(owed),
        left,
        isBounded,
      ),
    ],
    changes: made.length,
    gaps: gaps.length,
    removed: gone.length,
    caughtUp: watch.counts.caughtUp,
  };
}

/** A connection of one topic. */
interface Link {
  isUp: boolean;
  isStalled: boolean;
  lastLifeMs: number;
  lossMs: number | undefined;
  lost: { id: number; data: string }[];
  connection: number;
  deliverAtMs: number;
}

function newLink(): Link {
  return {
    isUp: false,
    isStalled: false,
    lastLifeMs: 0,
    lossMs: undefined,
    lost: [],
    connection: 0,
    deliverAtMs: 0,
  };
}

/** A time as the service writes it. */
export function secondOf(wallMs: number): string {
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
function judgeKnown(
  known: ReadonlySet<string>,
  listed: ReadonlySet<string>,
  plausible: ReadonlySet<string>,
  isBounded: boolean,
): string[] {
  const ghosts = [...known]
    .filter((uuid) => !plausible.has(uuid))
    .map((uuid) => `${uuid} is a ghost at the end`);
  const unknown = [...listed]
    .filter((uuid) => !known.has(uuid))
    .map((uuid) => `${uuid} is not known at the end`);
  return isBounded ? ghosts : [...ghosts, ...unknown];
}

/** Nothing that is there is said to be gone, nothing twice; and no reading is complete while what it had to miss is not said. */
function judgeGone(history: History): string[] {
  const {
    made,
    removed = [],
    gone = [],
    shown,
    reports,
    lagMs = 0,
    isBounded = false,
    hasOwn = false,
  } = history;
  // A list that lags does not have it yet, however often it is read.
  const isYoung = (uuid: string, atMs: number) =>
    lagMs > 0 &&
    made.some(
      (one) =>
        one.uuid === uuid && one.isBorn === true && one.atMs > atMs - lagMs - LONGEST_LOOK_MS,
    );
  const faults: string[] = [];
  for (const { uuid, atMs, isHidden } of gone) {
    if (isHidden || isYoung(uuid, atMs)) continue;
    const left = removed.find((one) => one.uuid === uuid && one.atMs <= atMs);
    if (left === undefined) faults.push(`${uuid} was said to be gone at ${atMs}, and is there`);
    const again = gone.find((one) => one.uuid === uuid && one.atMs > atMs);
    // What was sent again after the cut brought it back, where the time at the service was not known.
    const isBack = shown.some(
      (one) => one.uuid === uuid && (one.atMs ?? 0) > atMs && (one.atMs ?? 0) < (again?.atMs ?? 0),
    );
    if (again !== undefined && !isBack) faults.push(`${uuid} was said to be gone twice`);
  }
  for (const { uuid, atMs, isHidden } of removed) {
    if (isHidden || isBounded || hasOwn || !shown.some((one) => one.uuid === uuid)) continue;
    const said = gone.find((one) => one.uuid === uuid)?.atMs ?? Number.POSITIVE_INFINITY;
    // The list itself may be that old.
    const wrong = reports.find(
      ({ isOfGap, isOpen, startedMs }) =>
        isOfGap && !isOpen && (startedMs ?? 0) > atMs + lagMs + DELIVERY_MS,
    );
    // One that nobody has seen yet makes up for one that left.
    const wrongMs = wrong?.atMs ?? 0;
    const isSeen = (each: string) =>
      shown.some((one) => one.uuid === each && (one.atMs ?? 0) <= wrongMs);
    const isMadeUp = made.some((one) => one.isBorn && one.atMs < wrongMs && !isSeen(one.uuid));
    if (wrong !== undefined && said > wrong.atMs && !isMadeUp && !wrong.isRaced) {
      faults.push(
        `a reading was complete at ${wrong.atMs}, and ${uuid}, gone at ${atMs}, was said to be gone at ${said}`,
      );
    }
  }
  return faults;
}

function judgeDoubles(history: History): string[] {
  const {
    shown,
    hasVersions,
    isRaw,
    hasModified = true,
    hasFuture = false,
    hasTwo = false,
    lagMs = 0,
  } = history;
  const { gone = [] } = history;
  const faults: string[] = [];
  for (const [id, lines] of timesOf(shown)) {
    const [first, second] = lines;
    if (id <= 0 && !lines.some(({ how }) => how === 'caught-up'))
      faults.push(`nothing happened, and ${id} was shown`);
    if (id <= 0 || first === undefined || second === undefined) continue;
    const between = shown.slice(shown.indexOf(first) + 1, shown.indexOf(second));
    // It was said to be gone, and came back.
    if (
      gone.some(
        ({ uuid, atMs }) =>
          uuid === first.uuid && atMs >= (first.atMs ?? 0) && atMs <= (second.atMs ?? 0),
      )
    )
      continue;
    const isCorrection =
      !hasVersions && lines.length === 2 && between.some(({ uuid }) => uuid === first.uuid);
    const isListed =
      isRaw && lines.length === 2 && lines.filter(({ how }) => how === 'caught-up').length === 1;
    // What has no time cannot be put before or after the reading that did not show its bicycle.
    const isOfNoTime =
      !hasModified && lines.length === 2 && first.how === 'late' && second.how === 'caught-up';
    // Two connections keep no order between them: what moved is shown late by the one that was behind.
    const isOfTwo = hasTwo && lines.length === 2 && second.how === 'late';
    // Nothing tells an old list from a new one, where there is no time to go by or it lies in the future.
    const isOfOldList =
      lagMs > 0 &&
      (!hasModified || (!hasVersions && hasFuture && first.uuid?.endsWith('0'.repeat(12))));
    if (!isOfOldList && !isCorrection && !isListed && !isOfNoTime && !isOfTwo)
      faults.push(
        `change ${id} was shown ${lines.length} times: ${lines.map(({ how }) => how).join(', ')}`,
      );
  }
  return faults;
}

function judgeSwallowed({
  made,
  shown,
  gaps,
  reports,
  lateMs,
  removed = [],
  lagMs = 0,
  hasNoOrder,
}: History): string[] {
  const faults: string[] = [];
  const times = timesOf(shown);
  for (const { id, uuid, atMs, isHidden } of made) {
    if (isHidden || times.has(id) || atMs === Number.NEGATIVE_INFINITY) continue;
    if (!gaps.some(({ fromMs, toMs }) => atMs >= fromMs - DELIVERY_MS - lateMs && atMs <= toMs)) {
      faults.push(
        `change ${id} of ${uuid} at ${Math.round(atMs) % 1e8} was not shown, and lies in no gap`,
      );
    }
    const isOvertaken = made.some(
      (later) => later.uuid === uuid && later.id > id && times.has(later.id),
    );
    // It was hidden before it was looked for.
    const looks = reports.filter((report) => report.isOfGap && report.atMs >= atMs);
    const firstLookMs =
      (looks.find(({ startedMs = 0 }) => startedMs >= atMs) ?? looks[0])?.atMs ?? 0;
    const sameLater = made.filter(
      (later) => later.uuid === uuid && later.id > id && later.atMs <= firstLookMs,
    );
    if (sameLater.some((later) => later.isHidden)) continue;
    // Nobody can say any more what became of it; and a list that is older than the change cannot know of it.
    if (removed.some((one) => one.uuid === uuid)) continue;
    // So is one that moved to the head of such a list, by a later change, while its pages were read.
    const isLagging =
      lagMs > 0 &&
      made
        .filter((one) => one.uuid === uuid && one.id >= id)
        .some((one) =>
          reports.some(({ atMs: readMs }) => readMs >= one.atMs && readMs <= one.atMs + 4 * lagMs),
        );
    if (isLagging) continue;
    const looked = looks.slice(0, LOOKED_AT_READINGS);
    if (hasNoOrder !== true && !isOvertaken && !looked.some(({ isOpen }) => isOpen)) {
      faults.push(
        `change ${id} of ${uuid} at ${Math.round(atMs) % 1e8} was swallowed, and ${looked.length === 0 ? 'no reading' : 'every reading'} was complete`,
      );
    }
  }
  return faults;
}

function judgeLast(history: History): string[] {
  const {
    made,
    shown,
    gone = [],
    hasModified = true,
    hasVersions,
    hasFuture,
    hasTwo,
    lagMs = 0,
  } = history;
  if (!hasModified && lagMs > 0) return [];
  const left = new Set(gone.map(({ uuid }) => uuid));
  const last = new Map(
    shown
      .filter(({ how, uuid = '' }) => how !== 'late' && !left.has(uuid))
      .map(({ uuid, id }) => [uuid, id]),
  );
  return [...last].flatMap(([uuid, id]) => {
    const newest = Math.max(...shown.filter((one) => one.uuid === uuid).map((one) => one.id));
    // Two connections keep no order between them, nor does a list that lags, and of one second nothing else tells it.
    const [one, other] = [id, newest].map((each) =>
      Math.floor((made.find((change) => change.id === each)?.atMs ?? 0) / 1000),
    );
    if ((hasTwo === true || lagMs > 0) && !hasVersions && one === other) return [];
    // An old list that says tomorrow looks newer than today.
    if (hasFuture && !hasVersions && lagMs > 0 && uuid?.endsWith('0'.repeat(12))) return [];
    return newest === id
      ? []
      : [`the last line of ${uuid} says ${id}, and ${newest} had been shown`];
  });
}

function timesOf(shown: readonly Shown[]): Map<number, Shown[]> {
  const times = new Map<number, Shown[]>();
  for (const one of shown) times.set(one.id, [...(times.get(one.id) ?? []), one]);
  return times;
}
