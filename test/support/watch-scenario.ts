// A small simulated service with failures, and a watch that follows it on a simulated clock. The
// rules of watch-rules.ts judge the result.

import type { Bicycle } from '../../src/api/bicycle.js';
import type { WatchPlan } from '../../src/commands/watch/plan.js';
import { Watch, type WatchEffect, type WatchEvent } from '../../src/commands/watch/state.js';
import { FleetError } from '../../src/errors.js';
import type { Report } from '../../src/follower/events.js';
import { BEING_CHECKED } from '../../src/follower/follower.js';
import type { Moment } from '../../src/system/clock.js';
import { openLuck } from './luck.js';
import {
  DELETION_PROOF_MS,
  type History,
  judge,
  type Made,
  type Reading,
  type Removed,
  type Shown,
} from './watch-rules.js';

const ORGANIZATIONS = [
  '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
  '7e2d1c6f-3a1f-4d67-8e4b-1e7a4b2a8d22',
] as const;
const START_MS = Date.UTC(2026, 10, 21, 12);
/** The time after the last failure, longer than every delay of the catch-up reading. */
const QUIET_END_MS = 300_000;
const FAILURE = new FleetError('service', 'HTTP 503');
const CUT = new FleetError('network', 'the connection broke');

export interface Scenario {
  seed: number;
  /** The time with changes and failures, in simulated milliseconds. */
  durationMs: number;
}

/** Descriptions of the errors; empty without errors. */
export interface Verdict {
  faults: string[];
  changes: number;
  gaps: number;
  caughtUp: number;
  removed: number;
}

/** Longer than the interval of count comparisons plus two readings. */
const GONE_MS = 7 * 60_000;

/** More concurrent requests would look like an overloaded service. */
const MOST_REMOVED = 5;

/** Behaviours of a service that were added later. */
export interface Traits {
  /** Two organizations are followed, and bicycles move between them. */
  hasTwo: boolean;
  /** The number of bicycles that are followed by name; 0 follows all. */
  named: number;
  /** Bicycles have their own URLs. */
  hasAddresses: boolean;
  /** The list contains only available bicycles, but all are published. */
  isFiltered: boolean;
  /** The list contains the user's own bicycles in every state. */
  hasOwn: boolean;
  count: 'right' | 'none' | 'bare';
  hasModified: boolean;
  hasOpaqueVersions: boolean;
  order: 'right' | 'created' | 'oldest';
  /** Readings of the whole list sometimes fail. */
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

/** Returns a service with unusual behaviours for the seed. */
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
    // A service that hides bicycles and sends no times cannot be compared.
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

/** Runs one scenario and compares the output with the real events. */
export function runScenario({ seed, durationMs }: Scenario, traits: Traits = PLAIN): Verdict {
  const luck = openLuck(seed);
  const hasVersions = luck.chance(0.5) && traits.hasModified;
  const hasReplay = luck.chance(0.4);
  const isBounded = luck.chance(0.3);
  const isPartial = luck.chance(0.3);
  // With few bicycles, the one with false times must not determine the median.
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
  /** The last delivered change of each bicycle. */
  const told = new Map<string, unknown>();
  const toldState = new Map<string, unknown>();
  /** When a message last contained another state. */
  let toldAtMs = Number.NEGATIVE_INFINITY;
  const versionAt = (number: number) => (traits.hasOpaqueVersions ? `v${number}` : number);
  const removed: Removed[] = [];
  /** The fleet of a stale replica. */
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
    // Half of the changes of a busy fleet have the same second as the one before.
    if (!link.isUp || link.isStalled) link.lost.push({ id, data });
    else {
      // A connection delivers messages in order.
      link.deliverAtMs = Math.max(link.deliverAtMs, nowMs + luck.below(300));
      after(link.deliverAtMs - nowMs, () =>
        mine === link.connection && link.isUp && !link.isStalled
          ? deliver(topic, link, data)
          : link.lost.push({ id, data }),
      );
    }
    after(luck.chance(0.5) ? luck.below(300) : luck.below(5_000), change);
  };
  /** Deletes a bicycle or moves it to another organization, without a message. */
  const remove = () => {
    if (nowMs >= durationMs || removed.length === MOST_REMOVED) return;
    const uuid = [...fleet.keys()][luck.below(fleet.size)] ?? '';
    // The organization of a bicycle that was published in another state is unknown.
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
    // Messages are repeated in their original order.
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
    // A reading uses one replica, because a change between two replicas could not be detected.
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

  // The watch and its output.
  const watch = new Watch(plan, moment());
  watch.seesAll = seesAll;
  const shown: Shown[] = [];
  const reports: Reading[] = [];
  const gaps: { fromMs: number; toMs: number }[] = [];
  const gone: Removed[] = [];
  let firstListMs: number | undefined;
  /** The last reading of changes, and the last reading of the whole list. */
  let reading: Begun | undefined;
  let wholeReading: Begun | undefined;
  const show = (id: unknown, uuid: string | undefined, how: Shown['how']) =>
    shown.push({ id: Number(id), uuid, how, atMs: nowMs });
  const perform = (effect: WatchEffect) => {
    if (effect.type === 'show' && effect.entry.type === 'bicycle') {
      const { kind, uuid, after: known } = effect.entry;
      const said = kind === 'caught-up' ? known : JSON.parse(effect.data ?? '').message;
      show(said.state_of_charge, uuid, kind);
    } else if (effect.type === 'show' && effect.entry.type === 'gone') {
      const { uuid } = effect.entry;
      const there = fleet.get(uuid);
      // A bicycle whose hiding state was never published cannot be distinguished from a deleted
      // one.
      const before = made.findLast(
        (one) => one.uuid === uuid && one.atMs <= nowMs - DELETION_PROOF_MS,
      );
      const isLate = (one: Made) => one.uuid === uuid && one.atMs > nowMs - DELETION_PROOF_MS;
      const wasHidden = made.some((one) => one.isHidden && (one === before || isLate(one)));
      const isUntold = there !== undefined && told.get(uuid) !== there.state_of_charge;
      gone.push({ uuid, atMs: nowMs, isHidden: isUntold && (wasHidden || !isListed(there)) });
    } else if (effect.type === 'stream' && effect.event.type === 'gap') {
      gaps.push({ fromMs: nowMs - effect.event.durationMs, toMs: nowMs });
    } else if (effect.type === 'read') {
      // A deletion that only the whole list shows has a report of its own.
      const { startedMs } = reading ?? wholeReading ?? { startedMs: nowMs };
      reports.push({
        ...readingOf(effect.report, nowMs),
        startedMs,
        isRaced: toldAtMs >= startedMs,
      });
      reading = undefined;
    } else if (effect.type === 'read-whole') {
      const { id, organization } = effect;
      if (wholeReading?.id !== id) wholeReading = { id, startedMs: nowMs };
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
      if (isCount !== true && reading?.id !== id) reading = { id, startedMs: nowMs };
      const page = Number(new Map(next ?? []).get('page') ?? 0);
      // The list is read at some time between the request and the answer.
      after(luck.below(500), () => {
        const isFailing = nowMs < durationMs && luck.chance(0.1);
        const answer: WatchEvent = isFailing
          ? { type: 'failed', id, error: FAILURE }
          : { type: 'page', id, page: pageOf(organization, page) };
        after(luck.below(500), () => step(answer));
      });
    } else if (effect.type === 'read-bicycle') {
      const { id, uuid } = effect;
      if (reading?.id !== id) reading = { id, startedMs: nowMs };
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
    if (plan.form === 'board' && watch.known.isWhole) firstListMs ??= nowMs;
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
  // A watch that reads only two pages and no bicycle URLs cannot detect a deletion.
  const cannotFind = isBounded && named !== undefined && !traits.hasAddresses;
  const listed = [...fleet.values()]
    .filter(isListed)
    .map(({ uuid }) => String(uuid))
    .filter((uuid) => named?.has(uuid) !== false);
  const history: History = {
    made,
    shown,
    gaps,
    reports,
    removed,
    gone,
    firstListMs,
    isBounded,
    lagMs,
    hasVersions: hasVersions && !traits.hasOpaqueVersions,
    hasModified: traits.hasModified,
    hasFuture,
    hasOwn: traits.hasOwn,
    hasTwo: traits.hasTwo,
    hasNoCount: traits.count === 'none' || cannotFind,
    lateMs: 0,
    lineDelayMs: 0,
    isRaw: false,
    end: {
      known: new Set([...watch.store.bicycles()].map(({ uuid }) => String(uuid))),
      existing: new Set(fleet.keys()),
      listed: new Set(listed),
    },
  };
  return {
    faults: judge(history),
    changes: made.length,
    gaps: gaps.length,
    removed: gone.length,
    caughtUp: watch.counts.caughtUp,
  };
}

/** A reading that the watch began. */
interface Begun {
  id: number;
  startedMs: number;
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

/** Formats a time like the service. */
export function secondOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}

function readingOf({ sinceWallMs, isComplete, reason }: Report, atMs: number): Reading {
  return {
    atMs,
    isOfGap: sinceWallMs !== undefined,
    isComplete,
    isBeingChecked: reason === BEING_CHECKED,
  };
}
