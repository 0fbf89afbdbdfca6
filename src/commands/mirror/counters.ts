// Counters of the mirror's writer, as Prometheus metrics.

import type { OwnServer } from '../../http-server.js';
import { MOST_BEHIND_MS } from '../../mirror/open.js';
import { showDuration } from '../../terminal/time.js';
import { type Metric, serveMetrics } from '../metrics.js';

/** What is counted from the start on: its name and meaning for Prometheus. */
const COUNTED = {
  messages: ['messages_total', 'Messages received from the push channel.'],
  unreadable: ['unreadable_messages_total', 'Messages that could not be read.'],
  changes: ['changes_total', 'Changes recorded.'],
  batches: ['batches_total', 'Transactions committed.'],
  gaps: ['gaps_total', 'Gaps opened.'],
  found: ['found_total', 'Changes found in the list after gaps.'],
  gone: ['gone_total', 'Bicycles that left the list.'],
  alerts: ['alerts_total', 'Alerts that were new or changed.'],
  pages: ['list_pages_total', 'Pages of lists read.'],
  reconnects: ['reconnects_total', 'Connections of the push channel after the first.'],
  databaseErrors: ['database_errors_total', 'Failed calls of the database.'],
} as const;

type CounterName = keyof typeof COUNTED;
const NAMES = Object.keys(COUNTED) as CounterName[];

/** Changed in place by the writer; times in milliseconds. */
export interface Counters extends Record<CounterName, number> {
  /** How far what is written is behind the service, by the messages' own times; from the arrival of the oldest to its commit at least. */
  lagMs: number;
  lastCommitWallMs: number;
  lastHeardWallMs: number;
}

/** What is asked of the writer when somebody looks. */
export interface Reading {
  readonly rows: number;
  readonly isStreamUp: boolean;
  readonly isGapOpen: boolean;
  readonly isWhole: boolean;
  readonly behindMs: number;
  readonly isCurrent: boolean;
}

export function openCounters(): Counters {
  const none = Object.fromEntries(NAMES.map((name) => [name, 0])) as Record<CounterName, number>;
  return { ...none, lagMs: 0, lastCommitWallMs: 0, lastHeardWallMs: 0 };
}

function metricsOf(counters: Counters, reading: Reading): Metric[] {
  const counted = NAMES.map(
    (name): Metric => [`fleet_mirror_${COUNTED[name][0]}`, COUNTED[name][1], 'counter', counters[name]],
  );
  const gauges: [name: string, help: string, value: number][] = [
    ['rows', 'Bicycles in the mirror that are not gone.', reading.rows],
    ['lag_seconds', 'How far the mirror is behind the service.', counters.lagMs / 1000],
    ['last_commit_timestamp_seconds', 'When the last transaction was committed.', counters.lastCommitWallMs / 1000],
    ['last_heard_timestamp_seconds', 'Time up to which every update was received.', counters.lastHeardWallMs / 1000],
    ['stream_up', 'Whether every topic is connected.', Number(reading.isStreamUp)],
    ['gap_open', 'Whether changes remain to be looked up.', Number(reading.isGapOpen)],
    ['snapshot_whole', 'Whether the whole list was read once.', Number(reading.isWhole)],
    ['current', 'Whether the mirror is current.', Number(reading.isCurrent)],
    ['resident_memory_bytes', 'Memory of this process.', process.memoryUsage.rss()],
  ];
  return [...counted, ...gauges.map(([name, help, value]): Metric => [`fleet_mirror_${name}`, help, 'gauge', value])];
}

/** Serves them. Rejects with a FleetError of kind `usage` when the port is taken. */
export async function serveCounters(port: number, counters: Counters, look: () => Reading): Promise<OwnServer> {
  return serveMetrics(port, () => {
    const reading = look();
    const problem = reading.isCurrent ? undefined : whyNot(reading);
    return { metrics: metricsOf(counters, reading), problem, fine: 'current' };
  });
}

function whyNot({ isWhole, isStreamUp, isGapOpen, behindMs }: Reading): string {
  if (!isWhole) return 'the first reading of the list is not done';
  if (behindMs > MOST_BEHIND_MS) return `behind by ${showDuration(behindMs)}`;
  if (!isStreamUp) return 'the push channel is down';
  return isGapOpen ? 'a gap is still open' : 'the writer is not writing';
}
