// What the mirror's writer counts, and how a monitoring system reads it: Prometheus text and a health check, on loopback.

import { createServer, type Server } from 'node:http';
import { FleetError } from '../../errors.js';

/** Changed in place by the writer; times in milliseconds. */
export interface Counters {
  messages: number;
  unreadable: number;
  changes: number;
  batches: number;
  gaps: number;
  found: number;
  gone: number;
  alerts: number;
  pages: number;
  reconnects: number;
  databaseErrors: number;
  /** From the arrival of the oldest message of the last batch to its commit. */
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
  readonly isCurrent: boolean;
}

export function openCounters(): Counters {
  return {
    messages: 0,
    unreadable: 0,
    changes: 0,
    batches: 0,
    gaps: 0,
    found: 0,
    gone: 0,
    alerts: 0,
    pages: 0,
    reconnects: 0,
    databaseErrors: 0,
    lagMs: 0,
    lastCommitWallMs: 0,
    lastHeardWallMs: 0,
  };
}

/** The text of Prometheus' exposition format 0.0.4. */
export function metricsText(counters: Counters, reading: Reading): string {
  const flag = (isSet: boolean) => (isSet ? 1 : 0);
  const lines: [name: string, type: 'counter' | 'gauge', help: string, value: number][] = [
    ['messages_total', 'counter', 'Messages received from the push channel.', counters.messages],
    ['unreadable_messages_total', 'counter', 'Messages that could not be read.', counters.unreadable],
    ['changes_total', 'counter', 'Changes recorded.', counters.changes],
    ['batches_total', 'counter', 'Transactions committed.', counters.batches],
    ['gaps_total', 'counter', 'Gaps opened.', counters.gaps],
    ['found_total', 'counter', 'Changes found in the list after gaps.', counters.found],
    ['gone_total', 'counter', 'Bicycles that left the list.', counters.gone],
    ['alerts_total', 'counter', 'Alerts that were new or changed.', counters.alerts],
    ['list_pages_total', 'counter', 'Pages of lists read.', counters.pages],
    ['reconnects_total', 'counter', 'Connections of the push channel after the first.', counters.reconnects],
    ['database_errors_total', 'counter', 'Failed calls of the database.', counters.databaseErrors],
    ['rows', 'gauge', 'Bicycles in the mirror that are not gone.', reading.rows],
    ['lag_seconds', 'gauge', 'From the arrival of a message to its commit, in the last batch.', counters.lagMs / 1000],
    [
      'last_commit_timestamp_seconds',
      'gauge',
      'When the last transaction was committed.',
      counters.lastCommitWallMs / 1000,
    ],
    ['last_heard_timestamp_seconds', 'gauge', 'Until when everything was heard.', counters.lastHeardWallMs / 1000],
    ['stream_up', 'gauge', 'Whether every topic is connected.', flag(reading.isStreamUp)],
    ['gap_open', 'gauge', 'Whether something that may have changed was not looked up yet.', flag(reading.isGapOpen)],
    ['snapshot_whole', 'gauge', 'Whether the whole list was read once.', flag(reading.isWhole)],
    ['current', 'gauge', 'Whether the mirror is current.', flag(reading.isCurrent)],
    ['resident_memory_bytes', 'gauge', 'Memory of this process.', process.memoryUsage.rss()],
  ];
  return lines
    .map(
      ([name, type, help, value]) =>
        `# HELP fleet_mirror_${name} ${help}\n# TYPE fleet_mirror_${name} ${type}\nfleet_mirror_${name} ${value}\n`,
    )
    .join('');
}

/** Serves `/metrics` and `/healthz` on loopback. Throws a FleetError of kind `config` when the port is taken. */
export async function serveMetrics(port: number, counters: Counters, look: () => Reading): Promise<Server> {
  const server = createServer((request, response) => {
    const [pathname] = (request.url ?? '').split('?', 1);
    const send = (status: number, text: string) => {
      response.writeHead(status, {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
        'cache-control': 'no-store',
      });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(405, 'GET alone\n');
    const reading = look();
    if (pathname === '/metrics') return send(200, metricsText(counters, reading));
    if (pathname === '/healthz')
      return send(reading.isCurrent ? 200 : 503, reading.isCurrent ? 'current\n' : `${whyNot(reading)}\n`);
    send(404, 'here are /metrics and /healthz\n');
  });
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new FleetError('config', `--metrics ${port}: ${error.message}`, { cause: error })),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

function whyNot({ isWhole, isStreamUp, isGapOpen }: Reading): string {
  if (!isWhole) return 'the first reading of the list is not done';
  if (!isStreamUp) return 'the push channel is down';
  return isGapOpen ? 'a gap is not made up for yet' : 'the writer is not writing';
}
