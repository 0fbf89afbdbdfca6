// Serves the feed over HTTP on loopback.

import { createHash } from 'node:crypto';
import type { Context } from '../../context.js';
import { openHttpServer } from '../../system/http-server.js';
import type { Age } from './age.js';
import type { LeftOut } from './feed.js';

export interface Published extends Age {
  readonly vehicles: number;
  readonly leftOut: LeftOut;
  readonly source: 'mirror' | 'list';
  readonly files: readonly (readonly [name: string, text: string])[];
}

/** A client that reads no data for this long is disconnected. */
const IDLE_MS = 30_000;

/**
 * Returns whether an If-None-Match header matches an ETag (RFC 9110, 13.1.2). The header is `*` or
 * a list of quoted tags. The comparison ignores the prefix W/. Proxies add it to the tag when they
 * compress the response.
 */
function matchesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.match(/"[^"]*"/g)?.some((tag) => tag === etag) ?? false;
}

/**
 * Serves the feed until the command ends. Accepts every client, and every host name in a request.
 * Rejects with a FleetError of kind `usage` when the port cannot be used.
 */
export async function serveFeed({ clock, atEnd }: Context, port: number) {
  let files = new Map<string, { body: Buffer; etag: string }>();
  let endMs = 0;
  const listen = { host: '127.0.0.1', port, flag: '--serve', idleMs: IDLE_MS };
  const { origin, close } = await openHttpServer(listen, (request, response) => {
    // A proxy may put an absolute URL instead of a path into its request.
    const [path = ''] = (request.url ?? '').replace(/^https?:\/\/[^/]*/i, '').split('?', 1);
    const file = files.get(path);
    const refuse = (status: number, reason: string) =>
      void response
        .writeHead(status, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' })
        .end(`${reason}\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return refuse(405, 'only GET');
    }
    if (file === undefined)
      return files.size === 0
        ? refuse(503, 'no feed yet')
        : refuse(404, [...files.keys()].join('\n'));
    const { body, etag } = file;
    const isKnown = matchesTag(request.headers['if-none-match'], etag);
    response.writeHead(isKnown ? 304 : 200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': body.length,
      'Cache-Control': `public, max-age=${Math.max(0, Math.ceil((endMs - clock.wallMs()) / 1000))}`,
      'Access-Control-Allow-Origin': '*',
      ETag: etag,
    });
    response.end(isKnown || request.method === 'HEAD' ? undefined : body);
  });
  atEnd(close);
  return {
    origin,
    show(published: Published) {
      files = new Map(
        published.files.map(([name, text]) => {
          const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
          return [`/${name}`, { body: Buffer.from(text), etag }];
        }),
      );
      endMs = published.updatedMs + published.ttlMs;
    },
  };
}
