// Serves the feed over HTTP on loopback, and its metrics.

import type { Context } from '../../context.js';
import { openHttpServer, type PreparedText, prepareText, sendText } from '../../http-server.js';
import { type Metric, serveMetrics } from '../shared/prometheus.js';
import { type Age, isOld } from './age.js';
import type { LeftOut } from './feed.js';

export interface Published extends Age {
  readonly vehicles: number;
  readonly leftOut: LeftOut;
  readonly source: 'mirror' | 'list';
  readonly files: readonly (readonly [name: string, text: string])[];
}

/** Listens where the flags say so. Rejects with a FleetError of kind `usage` where a port cannot be had. */
export async function openOutlet(context: Context, { serve, metrics }: { serve?: number; metrics?: number }) {
  let last: Published | undefined;
  let files = new Map<string, PreparedText>();
  const counts = { published: 0, failed: 0 };
  const server = serve === undefined ? undefined : await serveFiles(context, serve, () => [files, last]);
  if (server !== undefined) context.atEnd(server.close);
  if (metrics !== undefined) {
    const problem = () =>
      last === undefined ? 'no feed yet' : isOld(context, last) ? 'the feed is older than its ttl' : undefined;
    const look = () => ({ metrics: metricsOf(counts, last), problem: problem(), fine: 'current' });
    const own = await serveMetrics(metrics, look);
    context.atEnd(own.close);
    await context.notice(`metrics: ${own.origin}/metrics`);
  }
  return {
    /** Undefined without --serve. */
    origin: server?.origin,
    show(published: Published) {
      last = published;
      counts.published += 1;
      if (server !== undefined) files = new Map(published.files.map(([name, text]) => [`/${name}`, prepareText(text)]));
    },
    hasShown: () => last !== undefined,
    /** One was not published; the one before it is the answer. */
    fail() {
      counts.failed += 1;
      return last;
    },
  };
}

/** Everybody may read it, under any name of the host. A reader that takes nothing for so long is cut. */
const IDLE_MS = 30_000;

function serveFiles(
  { clock }: Context,
  port: number,
  shown: () => [files: ReadonlyMap<string, PreparedText>, age: Age | undefined],
) {
  return openHttpServer({ host: '127.0.0.1', port, flag: '--serve', idleMs: IDLE_MS }, (request, response) => {
    const [files, { updatedMs, ttlMs } = { updatedMs: 0, ttlMs: 0 }] = shown();
    // A proxy may ask for a whole address.
    const [path = ''] = (request.url ?? '').replace(/^https?:\/\/[^/]*/i, '').split('?', 1);
    const file = files.get(path);
    const refuse = (status: number, reason: string) =>
      void response.writeHead(status, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' }).end(`${reason}\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return refuse(405, 'only GET');
    }
    if (file === undefined)
      return files.size === 0 ? refuse(503, 'no feed yet') : refuse(404, [...files.keys()].join('\n'));
    sendText(request, response, file, {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': `public, max-age=${Math.max(0, Math.ceil((updatedMs + ttlMs - clock.wallMs()) / 1000))}`,
      'Access-Control-Allow-Origin': '*',
    });
  });
}

function metricsOf(counts: { published: number; failed: number }, last: Published | undefined): Metric[] {
  const gauges: Metric[] = [
    ['fleet_gbfs_vehicles', 'Vehicles in the feed.', 'gauge', last?.vehicles ?? 0],
    ['fleet_gbfs_updated_timestamp_seconds', 'When the feed was read.', 'gauge', (last?.updatedMs ?? 0) / 1000],
    ['fleet_gbfs_ttl_seconds', 'How long the feed is valid.', 'gauge', (last?.ttlMs ?? 0) / 1000],
  ];
  return [
    ['fleet_gbfs_published_total', 'Feeds published.', 'counter', counts.published],
    ['fleet_gbfs_failed_total', 'Feeds that could not be published.', 'counter', counts.failed],
    ...(last === undefined ? [] : gauges),
  ];
}
