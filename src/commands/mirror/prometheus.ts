// An HTTP server on loopback for counters in the Prometheus text format, and for a health check.

import { type OwnServer, openHttpServer } from '../../system/http-server.js';

/** A metric: its name, description, type, value and labels. */
export type Metric = readonly [
  name: string,
  help: string,
  type: 'counter' | 'gauge',
  value: number,
  labels?: string | undefined,
];

/** The metrics and the health of the process. */
export interface Health {
  readonly metrics: readonly Metric[];
  /** Why the process is unhealthy, or undefined when it is healthy. */
  readonly problem: string | undefined;
  /** The health check's response when the process is healthy. */
  readonly fine: string;
}

/**
 * Returns metrics in Prometheus' exposition format 0.0.4. Metrics with the same name must be next
 * to each other.
 */
function metricsText(metrics: readonly Metric[]): string {
  let before = '';
  return metrics
    .map(([name, help, type, value, labels = '']) => {
      const head = name === before ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      before = name;
      return `${head}${name}${labels} ${value}\n`;
    })
    .join('');
}

const HEADERS = {
  'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  'cache-control': 'no-store',
};

/**
 * Serves `/metrics` and `/healthz` on loopback. Rejects with a FleetError of kind `usage` when the
 * port is in use.
 */
export async function serveMetrics(port: number, look: () => Health): Promise<OwnServer> {
  return openHttpServer({ host: '127.0.0.1', port, flag: '--metrics' }, (request, response) => {
    const [pathname] = (request.url ?? '').split('?', 1);
    const send = (status: number, text: string) =>
      void response.writeHead(status, HEADERS).end(text);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return send(405, 'only GET is supported\n');
    const { metrics, problem, fine } = look();
    if (pathname === '/metrics') return send(200, metricsText(metrics));
    if (pathname === '/healthz')
      return send(problem === undefined ? 200 : 503, `${problem ?? fine}\n`);
    send(404, 'here are /metrics and /healthz\n');
  });
}
