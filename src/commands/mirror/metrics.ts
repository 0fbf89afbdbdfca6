// The metrics of `fleet mirror run` for a monitoring system.

import { MOST_BEHIND_MS, MOST_LIST_AGE_MS } from '../../mirror/status.js';
import { LEASE_MS } from '../../mirror/writers.js';
import type { OwnServer } from '../../system/http-server.js';
import { showDuration } from '../../terminal/time.js';
import { type Metric, serveMetrics } from './prometheus.js';
import type { MirrorSession } from './session.js';

/** Serves the metrics. Rejects with a FleetError of kind `usage` when the port is in use. */
export async function serveCounters(port: number, session: MirrorSession): Promise<OwnServer> {
  return serveMetrics(port, () => {
    const problem = problemOf(session);
    return { metrics: metricsOf(session, problem === undefined), problem, fine: 'current' };
  });
}

function metricsOf(
  { counters, ledger, follower, written }: MirrorSession,
  isCurrent: boolean,
): Metric[] {
  const metrics: [name: string, help: string, value: number][] = [
    ['messages_total', 'Messages received from the push channel.', counters.messages],
    ['unreadable_messages_total', 'Messages that could not be read.', counters.unreadable],
    ['changes_total', 'Changes recorded.', counters.changes],
    ['batches_total', 'Transactions committed.', counters.batches],
    ['gaps_total', 'Gaps opened.', counters.gaps],
    ['found_total', 'Changes found in the list after gaps.', ledger.found()],
    ['gone_total', 'Bicycles that left the list.', counters.gone],
    ['alerts_total', 'Alerts that were new or changed.', counters.alerts],
    ['list_pages_total', 'Pages of lists read.', counters.pages],
    ['reconnects_total', 'Connections of the push channel after the first.', counters.reconnects],
    ['database_errors_total', 'Failed calls of the database.', counters.databaseErrors],
    ['rows', 'Bicycles in the mirror that are not gone.', ledger.size()],
    ['lag_seconds', 'How far the mirror is behind the service.', counters.lagMs / 1000],
    [
      'last_commit_timestamp_seconds',
      'When the last transaction was committed.',
      written.at.wallMs / 1000,
    ],
    [
      'last_heard_timestamp_seconds',
      'Time up to which every update was received.',
      written.heardMs / 1000,
    ],
    ['stream_up', 'Whether every topic is connected.', Number(follower.isConnected)],
    ['gap_open', 'Whether changes remain to be looked up.', Number(follower.gap !== undefined)],
    ['snapshot_whole', 'Whether the whole list was read once.', Number(follower.known.isWhole)],
    ['current', 'Whether the mirror is current.', Number(isCurrent)],
    ['resident_memory_bytes', 'Memory of this process.', process.memoryUsage.rss()],
  ];
  return metrics.map(([name, help, value]) => {
    return [`fleet_mirror_${name}`, help, name.endsWith('_total') ? 'counter' : 'gauge', value];
  });
}

/** Returns why the mirror is not current, or undefined when it is current. */
function problemOf({
  follower,
  counters,
  context,
  written,
  found,
  shown,
}: MirrorSession): string | undefined {
  if (found === undefined) return 'waiting for the writer before it to end';
  if (!follower.known.isWhole) return 'the first reading of the list is not done';
  if (counters.lagMs > MOST_BEHIND_MS) return `behind by ${showDuration(counters.lagMs)}`;
  const listMs = context.clock.wallMs() - (follower.proven?.atMs ?? Number.NEGATIVE_INFINITY);
  if (!shown.seesAll && listMs > MOST_LIST_AGE_MS) return 'the last whole reading is too old';
  if (!follower.isConnected) return 'the push channel is down';
  if (!follower.isCurrent) return 'a gap is still open';
  // When the writer cannot reach the database, it writes no heartbeat. The last heartbeat then
  // becomes stale.
  return context.clock.monotonicMs() - written.at.monotonicMs < LEASE_MS
    ? undefined
    : 'the writer is not writing';
}
