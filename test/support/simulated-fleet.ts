// Simulates the true history of a fleet, the records of a mirror with gaps, and the true figures.

import { hostname } from 'node:os';
import type { Value } from '../../src/mirror/database.js';
import {
  ALERT_COLUMNS,
  alertRow,
  BICYCLE_COLUMNS,
  bicycleRow,
  utcOfMs,
} from '../../src/mirror/rows.js';
import { migrate, writeMeta } from '../../src/mirror/schema.js';
import { createRandom } from '../../src/system/random.js';
import { withDatabase } from './mirror.js';

const HOUR_MS = 3_600_000;
const ORGANIZATION = '00000000-0000-4000-8000-00000000000f';

interface Span {
  state: string;
  fromMs: number;
  untilMs: number;
}

interface TrueBicycle {
  uuid: string;
  createdMs: number;
  /** Without the time between leaving and returning, which has the state `away`. */
  spans: Span[];
}

interface TrueAlert {
  createdMs: number;
  modifiedMs: number;
  state: string;
}

export interface Fleet {
  fromMs: number;
  /** When the mirror begins. */
  mirrorMs: number;
  untilMs: number;
  bicycles: TrueBicycle[];
  alerts: TrueAlert[];
  gaps: { fromMs: number; untilMs: number }[];
}

export interface FleetOptions {
  seed: number;
  fromMs: number;
  untilMs: number;
  bicycleCount?: number;
  gapCount?: number;
  /** Whether some bicycles leave the list and return. */
  hasReturns?: boolean;
  /** How long after the start the mirror begins. */
  mirrorDelayMs?: number;
}

/** Lengths of stays in hours. */
const STAYS: { readonly [state: string]: number } = {
  available: 20,
  rented: 1,
  in_maintenance: 30,
  lost: 60,
  retired: 400,
  away: 40,
};

export function simulateFleet({
  seed,
  fromMs,
  untilMs,
  bicycleCount = 12,
  gapCount = 0,
  hasReturns = true,
  mirrorDelayMs = 0,
}: FleetOptions): Fleet {
  const random = createRandom(seed);
  const between = (low: number, high: number) => Math.round(low + random() * (high - low));
  const bicycles = Array.from({ length: bicycleCount }, (_, index): TrueBicycle => {
    const isNew = random() < 0.2;
    const createdMs = isNew ? between(fromMs, untilMs) : fromMs - 400 * 24 * HOUR_MS;
    const spans: Span[] = [];
    let state = random() < 0.7 ? 'available' : 'in_maintenance';
    let atMs = isNew ? createdMs : fromMs - 5 * HOUR_MS;
    while (atMs < untilMs) {
      const length = between(1000, (STAYS[state] ?? 1) * 2 * HOUR_MS);
      spans.push({ state, fromMs: atMs, untilMs: atMs + length });
      atMs += length;
      state = nextState(state, random(), hasReturns);
    }
    const uuid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
    return { uuid, createdMs, spans };
  });
  const alerts = Array.from({ length: bicycleCount * 3 }, (): TrueAlert => {
    const createdMs = between(fromMs, untilMs);
    const state = ['new', 'resolved', 'resolved', 'stopped'][between(0, 3)] ?? 'new';
    return { createdMs, modifiedMs: createdMs + between(1000, 50 * HOUR_MS), state };
  });
  const gaps = Array.from({ length: gapCount }, () => {
    const startMs = between(fromMs + mirrorDelayMs, untilMs);
    return { fromMs: startMs, untilMs: Math.min(untilMs, startMs + between(1000, 9 * HOUR_MS)) };
  });
  gaps.sort((one, other) => one.fromMs - other.fromMs);
  const apart = gaps.filter((gap, index) => gap.fromMs > (gaps[index - 1]?.untilMs ?? 0));
  return { fromMs, mirrorMs: fromMs + mirrorDelayMs, untilMs, bicycles, alerts, gaps: apart };
}

function nextState(state: string, random: number, hasReturns: boolean): string {
  if (state === 'rented' && hasReturns && random < 0.05) return 'away';
  if (state !== 'available') return 'available';
  if (random < 0.75) return 'rented';
  if (random < 0.9) return 'in_maintenance';
  if (random < 0.95) return 'lost';
  if (random < 0.96) return 'retired';
  return hasReturns ? 'away' : 'in_maintenance';
}

/** Writes the records that a mirror would have. */
export async function writeMirrorOf(address: string, fleet: Fleet): Promise<void> {
  const now = utcOfMs(Date.now());
  await withDatabase(address, async (database) => {
    await migrate(database);
    const changes: Value[][] = [];
    const rows = fleet.bicycles.flatMap((bicycle) => {
      const recorded = recordBicycle(fleet, bicycle);
      if (recorded === undefined) return [];
      changes.push(...recorded.changes);
      return [recorded.row];
    });
    changes.sort(([one = ''], [other = '']) => (String(one) < String(other) ? -1 : 1));
    await database.write('bicycles', BICYCLE_COLUMNS, rows, ['uuid']);
    const columns = ['at', 'received', 'bicycle', 'version', 'field', 'old', 'new', 'source'];
    await database.write('changes', columns, changes);
    const alerts = fleet.alerts.map(({ createdMs, modifiedMs, state }, index) => {
      const uuid = `10000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
      const created = new Date(createdMs).toISOString();
      const value = { uuid, created, modified: new Date(modifiedMs).toISOString(), state };
      const seen = utcOfMs(Math.max(createdMs, fleet.mirrorMs));
      const facts = { uuid, firstSeen: seen, lastSeen: seen, raw: JSON.stringify(value) };
      return alertRow(value, facts);
    });
    await database.write('alerts', ALERT_COLUMNS, alerts, ['uuid']);
    const gaps = fleet.gaps.map(({ fromMs, untilMs }) => [
      ...[utcOfMs(fromMs), utcOfMs(untilMs), 'the writer was killed', 0],
    ]);
    await database.write('gaps', ['started', 'ended', 'reason', 'found'], gaps);
    await writeMeta(database, { base_url: 'https://bikes.example.com/api' });
    await writeLease(database, { heardMs: Date.parse(now), heartbeat: now });
  });
}

/** Writes the position of a writer; a heartbeat of null means that it ended. */
export async function writeLease(
  database: Parameters<Parameters<typeof withDatabase>[1]>[0],
  { heardMs, heartbeat }: { heardMs: number; heartbeat: string | null },
): Promise<void> {
  const state = {
    ...{ heardMs, checkedMs: heardMs, isWhole: true, owner: 'test', behindMs: 0, batch: 1 },
    organizations: [ORGANIZATION],
  };
  const columns = ['organization', 'owner', 'host', 'pid', 'heartbeat', 'state', 'alerts'];
  const lease = ['test', hostname(), process.pid, heartbeat, JSON.stringify(state), 'read'];
  await database.write('writers', columns, [[ORGANIZATION, ...lease]], ['organization']);
}

function recordBicycle(fleet: Fleet, { uuid, createdMs, spans }: TrueBicycle) {
  const { mirrorMs, untilMs } = fleet;
  const gapAt = (ms: number) => fleet.gaps.find((gap) => gap.fromMs <= ms && ms < gap.untilMs);
  const changes: Value[][] = [];
  let known: string | undefined;
  let lastState: string | undefined;
  let goneMs: number | undefined;
  let firstSeenMs: number | undefined;
  const see = (state: string, atMs: number, source: 'push' | 'list') => {
    const at = utcOfMs(atMs);
    const add = (field: string, old: unknown, now: unknown) => {
      const [oldJson, newJson] = [JSON.stringify(old), JSON.stringify(now)];
      changes.push([at, at, uuid, 1, field, oldJson ?? null, newJson ?? null, source]);
    };
    if (known === undefined) {
      if (state === 'away') return;
      firstSeenMs = atMs;
      if (atMs > mirrorMs) add('*', undefined, { uuid, state });
      lastState = state;
    } else if (state === 'away') {
      if (known === 'away') return;
      add('gone', null, at);
      goneMs = atMs;
    } else {
      if (known === 'away' && goneMs !== undefined) add('gone', utcOfMs(goneMs), null);
      if (known === 'away') goneMs = undefined;
      if (state !== lastState) add('state', lastState, state);
      lastState = state;
    }
    known = state;
  };
  const moments = [mirrorMs, ...fleet.gaps.map((gap) => gap.untilMs)];
  const events = [
    ...spans.map(({ state, fromMs }) => ({ atMs: fromMs, state, source: 'push' as const })),
    ...moments.map((atMs) => ({ atMs, state: undefined, source: 'list' as const })),
  ].sort((one, other) => one.atMs - other.atMs);
  for (const { atMs, state, source } of events) {
    if (atMs < mirrorMs || atMs > untilMs) continue;
    if (state !== undefined && gapAt(atMs) !== undefined) continue;
    const seen = state ?? spans.find((span) => span.fromMs <= atMs && atMs < span.untilMs)?.state;
    // A bicycle that returned to the state it had is not found by its state.
    if (seen !== undefined && seen !== known) see(seen, atMs, source);
  }
  if (firstSeenMs === undefined) return undefined;
  const created = new Date(createdMs).toISOString();
  const value = { uuid, name: `Bike ${uuid.slice(-4)}`, state: lastState, created };
  const facts = {
    ...{
      uuid,
      followed: ORGANIZATION,
      firstSeen: utcOfMs(firstSeenMs),
      lastSeen: utcOfMs(untilMs),
    },
    gone: goneMs === undefined ? null : utcOfMs(goneMs),
    raw: JSON.stringify(value),
  };
  return { changes, row: bicycleRow(value, facts) };
}

/** The true figures of a period, calculated from the true history. */
export function trueFigures(fleet: Fleet, fromMs: number, untilMs: number) {
  const isIn = (ms: number) => ms >= fromMs && ms < untilMs;
  const time: { [state: string]: number } = {};
  const lengths: number[] = [];
  const pauses: number[] = [];
  const idle: number[] = [];
  let rentals = 0;
  for (const { spans } of fleet.bicycles) {
    let returnedMs: number | undefined;
    for (const span of spans) {
      const overlap = Math.min(span.untilMs, untilMs) - Math.max(span.fromMs, fromMs);
      if (overlap > 0) time[span.state] = (time[span.state] ?? 0) + overlap;
      if (span.state === 'rented' && isIn(span.fromMs)) {
        rentals += 1;
        if (returnedMs !== undefined) pauses.push(span.fromMs - returnedMs);
      }
      if (span.state === 'rented' && isIn(span.untilMs)) lengths.push(span.untilMs - span.fromMs);
      if (span.state === 'rented') returnedMs = span.untilMs;
      if (span.state === 'available' && span.fromMs <= untilMs && span.untilMs > untilMs)
        idle.push(untilMs - span.fromMs);
    }
  }
  const states = ['available', 'rented', 'in_maintenance', 'lost'];
  const fleetMs = states.reduce((sum, state) => sum + (time[state] ?? 0), 0);
  const share = (state: string) => (fleetMs === 0 ? null : (100 * (time[state] ?? 0)) / fleetMs);
  const alerts = fleet.alerts.filter(({ createdMs }) => isIn(createdMs));
  const resolved = alerts.filter(({ state }) => state === 'resolved');
  const resolutions = resolved.map(({ createdMs, modifiedMs }) => modifiedMs - createdMs);
  const figures: { [name: string]: number | null } = {
    fleet_size_mean: fleetMs / (untilMs - fromMs) || null,
    available_share: share('available'),
    in_maintenance_share: share('in_maintenance'),
    lost_share: share('lost'),
    rentals,
    rentals_per_bicycle_day: fleetMs === 0 ? null : rentals / (fleetMs / 86_400_000),
    rental_length_median: nearestRank(lengths, 0.5),
    rental_length_p90: nearestRank(lengths, 0.9),
    time_between_rentals_median: nearestRank(pauses, 0.5),
    time_between_rentals_p90: nearestRank(pauses, 0.9),
    alerts_opened: alerts.length,
    alerts_resolved: resolved.length,
    alerts_stopped: alerts.filter(({ state }) => state === 'stopped').length,
    alert_resolution_median: nearestRank(resolutions, 0.5),
    alert_resolution_p90: nearestRank(resolutions, 0.9),
    idle_longest: idle.length === 0 ? null : Math.max(...idle) / 1000,
  };
  return figures;
}

/** Returns the first length that at least this part of the lengths does not exceed, in seconds. */
function nearestRank(lengthsMs: readonly number[], part: number): number | null {
  const sorted = [...lengthsMs].sort((one, other) => one - other);
  const found = sorted.find((_, index) => (index + 1) / sorted.length >= part - 1e-9);
  return found === undefined ? null : found / 1000;
}
