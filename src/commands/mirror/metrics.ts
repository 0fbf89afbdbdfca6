// What the mirror's writer counts, as a monitoring system reads it.

import type { OwnServer } from '../../http-server.js';
import { MOST_BEHIND_MS } from '../../mirror/open.js';
import { HEARTBEAT_MS } from '../../mirror/writers.js';
import { showDuration } from '../../terminal/time.js';
import { type Metric, serveMetrics } from '../shared/metrics.js';
import { COUNTED, COUNTER_NAMES } from './counters.js';
import type { MirrorSession } from './session.js';

/** Serves them. Rejects with a FleetError of kind `usage` when the port is taken. */
export async function serveCounters(port: number, session: MirrorSession): Promise<OwnServer> {
  return serveMetrics(port, () => {
    const problem = problemOf(session);
    return { metrics: metricsOf(session, problem === undefined), problem, fine: 'current' };
  });
}

function metricsOf({ counters, ledger, follower }: MirrorSession, isCurrent: boolean): Metric[] {
  const counted = COUNTER_NAMES.map(
    (name): Metric => [`fleet_mirror_${COUNTED[name][0]}`, COUNTED[name][1], 'counter', counters[name]],
  );
  const gauges: [name: string, help: string, value: number][] = [
    ['rows', 'Bicycles in the mirror that are not gone.', ledger.size()],
    ['lag_seconds', 'How far the mirror is behind the service.', counters.lagMs / 1000],
    ['last_commit_timestamp_seconds', 'When the last transaction was committed.', counters.lastCommitWallMs / 1000],
    ['last_heard_timestamp_seconds', 'Time up to which every update was received.', counters.lastHeardWallMs / 1000],
    ['stream_up', 'Whether every topic is connected.', Number(follower.isConnected)],
    ['gap_open', 'Whether changes remain to be looked up.', Number(follower.gap !== undefined)],
    ['snapshot_whole', 'Whether the whole list was read once.', Number(follower.known.isWhole)],
    ['current', 'Whether the mirror is current.', Number(isCurrent)],
    ['resident_memory_bytes', 'Memory of this process.', process.memoryUsage.rss()],
  ];
  return [...counted, ...gauges.map(([name, help, value]): Metric => [`fleet_mirror_${name}`, help, 'gauge', value])];
}

/** Why the mirror is not current; undefined when it is. */
function problemOf({ follower, counters, context, written, found }: MirrorSession): string | undefined {
  if (found === undefined) return 'waiting for the writer before it to end';
  if (!follower.known.isWhole) return 'the first reading of the list is not done';
  if (counters.lagMs > MOST_BEHIND_MS) return `behind by ${showDuration(counters.lagMs)}`;
  if (!follower.isConnected) return 'the push channel is down';
  if (!follower.isCurrent) return 'a gap is still open';
  // One whose database is away says so by its heartbeat.
  return context.clock.monotonicMs() - written.beatAtMs < 3 * HEARTBEAT_MS ? undefined : 'the writer is not writing';
}
