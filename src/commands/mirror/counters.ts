// What the mirror's writer counts, and how a monitoring system reads it: Prometheus text and a health check, on loopback.

import { type OwnServer, openHttpServer } from '../../http-server.js';
import { MOST_BEHIND_MS } from '../../mirror/open.js';
import { showDuration } from '../../terminal/time.js';

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

/** The text of Prometheus' exposition format 0.0.4. */
function metricsText(counters: Counters, reading: Reading): string {
  const counted = NAMES.map((name) => [...COUNTED[name], 'counter', counters[name]] as const);
  const gauges: [name: string, help: string, value: number][] = [
    ['rows', 'Bicycles in the mirror that are not gone.', reading.rows],
    ['lag_seconds', 'How far what is written is behind the service.', counters.lagMs / 1000],
    ['last_commit_timestamp_seconds', 'When the last transaction was committed.', counters.lastCommitWallMs / 1000],
    ['last_heard_timestamp_seconds', 'Until when everything was heard.', counters.lastHeardWallMs / 1000],
    ['stream_up', 'Whether every topic is connected.', Number(reading.isStreamUp)],
    ['gap_open', 'Whether something that may have changed was not looked up yet.', Number(reading.isGapOpen)],
    ['snapshot_whole', 'Whether the whole list was read once.', Number(reading.isWhole)],
    ['current', 'Whether the mirror is current.', Number(reading.isCurrent)],
    ['resident_memory_bytes', 'Memory of this process.', process.memoryUsage.rss()],
  ];
  const measured = gauges.map(([name, help, value]) => [name, help, 'gauge', value] as const);
  return [...counted, ...measured]
    .map(([name, help, type, value]) => {
      const metric = `fleet_mirror_${name}`;
      return `# HELP ${metric} ${help}\n# TYPE ${metric} ${type}\n${metric} ${value}\n`;
    })
    .join('');
}

/** Serves `/metrics` and `/healthz` on loopback. Rejects with a FleetError of kind `usage` when the port is taken. */
export async function serveMetrics(port: number, counters: Counters, look: () => Reading): Promise<OwnServer> {
  return openHttpServer({ host: '127.0.0.1', port, flag: '--metrics' }, (request, response) => {
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
}

function whyNot({ isWhole, isStreamUp, isGapOpen, behindMs }: Reading): string {
  if (!isWhole) return 'the first reading of the list is not done';
  if (behindMs > MOST_BEHIND_MS) return `behind by ${showDuration(behindMs)}`;
  if (!isStreamUp) return 'the push channel is down';
  return isGapOpen ? 'a gap is still open' : 'the writer is not writing';
}
