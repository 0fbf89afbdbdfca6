// Where a feed that is made again and again is seen beside its files: over HTTP on loopback, for a proxy in front, and in metrics.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Clock } from '../../clock.js';
import type { Context } from '../../context.js';
import { openHttpServer } from '../../http-server.js';
import { type Metric, serveMetrics } from '../metrics.js';
import type { LeftOut } from './feed.js';

export interface Age {
  readonly updatedMs: number;
  readonly ttlMs: number;
}

export interface Published extends Age {
  readonly vehicles: number;
  readonly leftOut: LeftOut;
  readonly source: 'mirror' | 'list';
  readonly files: readonly [name: string, text: string][];
}

/** What a reading may take beyond its time before the feed counts as too old. */
const LATE_MS = 10_000;

export function isOld(clock: Clock, { updatedMs, ttlMs }: Age): boolean {
  return clock.wallMs() - updatedMs > ttlMs + LATE_MS;
}

export type Outlet = Awaited<ReturnType<typeof openOutlet>>;

const HOST = '127.0.0.1';
const pack = promisify(gzip);

/** Listens where the flags say so. Rejects with a FleetError of kind `usage` where a port cannot be had. */
export async function openOutlet(context: Context, { serve, metrics }: { serve?: number; metrics?: number }) {
  const { clock, atEnd, notice } = context;
  let last: Published | undefined;
  let files = new Map<string, File>();
  const counts = { published: 0, failed: 0 };
  const server = serve === undefined ? undefined : await serveFiles(serve, () => files);
  if (server !== undefined) atEnd(server.close);
  if (metrics !== undefined) {
    const look = () => ({ metrics: metricsOf(counts, last), problem: problemOf(clock, last), fine: 'current' });
    const own = await serveMetrics(metrics, look);
    atEnd(own.close);
    await notice(`metrics: ${own.origin}/metrics`);
  }
  return {
    /** Undefined without --serve. */
    origin: server?.origin,
    show(published: Published) {
      last = published;
      counts.published += 1;
      files = new Map(published.files.map(([name, text]) => [`/${name}`, fileOf(text, published)]));
    },
    fail() {
      counts.failed += 1;
    },
    shown: () => last,
  };
}

interface File {
  readonly body: Buffer;
  readonly packed: Promise<Buffer>;
  readonly tag: string;
  readonly seconds: number;
}

function fileOf(text: string, { ttlMs }: Age): File {
  const tag = createHash('sha256').update(text).digest('base64url');
  return { body: Buffer.from(text), packed: pack(text), tag, seconds: Math.ceil(ttlMs / 1000) };
}

/** Everybody may read it: there is no key, and any name leads to it. */
function serveFiles(port: number, filesOf: () => ReadonlyMap<string, File>) {
  return openHttpServer(
    { host: HOST, port, flag: '--serve', idleMs: 30_000 },
    async ({ method, url, headers }, response) => {
      const isRead = method === 'GET' || method === 'HEAD';
      const files = filesOf();
      const file = files.get((url ?? '').split('?', 1)[0] ?? '');
      if (!isRead || file === undefined) {
        const [status, reason] = !isRead
          ? [405, 'only GET']
          : files.size === 0
            ? [503, 'no feed yet']
            : [404, 'not found'];
        return void response
          .writeHead(status, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' })
          .end(`${reason}\n`);
      }
      const { body, packed, tag, seconds } = file;
      const isPacked = /(?:^|,)\s*(?:gzip|\*)\s*(?:,|$|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i.test(
        String(headers['accept-encoding'] ?? ''),
      );
      const etag = `"${tag}${isPacked ? '-gzip' : ''}"`;
      const shared = {
        ETag: etag,
        Vary: 'Accept-Encoding',
        'Cache-Control': `public, max-age=${seconds}`,
        'Access-Control-Allow-Origin': '*',
      };
      const known = String(headers['if-none-match'] ?? '')
        .split(',')
        .map((each) => each.trim().replace(/^W\//, ''));
      if (known.includes(etag) || known.includes('*')) return void response.writeHead(304, shared).end();
      const sent = isPacked ? await packed : body;
      response.writeHead(200, {
        ...shared,
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': sent.length,
        ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
      });
      response.end(method === 'HEAD' ? undefined : sent);
    },
  );
}

function problemOf(clock: Clock, last: Published | undefined): string | undefined {
  if (last === undefined) return 'no feed was published yet';
  return isOld(clock, last) ? 'the feed is older than its ttl' : undefined;
}

function metricsOf(counts: { published: number; failed: number }, last: Published | undefined): Metric[] {
  const metrics: Metric[] = [
    ['fleet_gbfs_published_total', 'Feeds published.', 'counter', counts.published],
    ['fleet_gbfs_failed_total', 'Feeds that could not be published.', 'counter', counts.failed],
  ];
  if (last === undefined) return metrics;
  return [
    ...metrics,
    ['fleet_gbfs_vehicles', 'Vehicles in the feed.', 'gauge', last.vehicles],
    ['fleet_gbfs_updated_timestamp_seconds', 'Until when the feed is true.', 'gauge', last.updatedMs / 1000],
    ['fleet_gbfs_ttl_seconds', 'How old the feed may become.', 'gauge', last.ttlMs / 1000],
    ...Object.entries(last.leftOut).map(
      ([reason, count]): Metric => [
        'fleet_gbfs_left_out',
        'What is not in the feed.',
        'gauge',
        count,
        `{reason="${reason}"}`,
      ],
    ),
  ];
}
