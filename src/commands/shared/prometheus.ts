// Serves counters as Prometheus text, and a health check, on loopback.

import { type OwnServer, openHttpServer } from '../../system/http-server.js';

/** A name with its labels, what it means, its kind and its value. */
export type Metric = readonly [
  name: string,
  help: string,
  type: 'counter' | 'gauge',
  value: number,
  labels?: string | undefined,
];

/** What is told when somebody asks. */
export interface Health {
  readonly metrics: readonly Metric[];
  /** Why it is not healthy; undefined where it is. */
  readonly problem: string | undefined;
  /** What it says of itself while it is. */
  readonly fine: string;
}

/** The text of Prometheus' exposition format 0.0.4; metrics of one name stand together. */
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

/** Serves `/metrics` and `/healthz` on loopback. Rejects with a FleetError of kind `usage` when the port is taken. */
export async function serveMetrics(port: number, look: () => Health): Promise<OwnServer> {
  return openHttpServer({ host: '127.0.0.1', port, flag: '--metrics' }, (request, response) => {
    const [pathname] = (request.url ?? '').split('?', 1);
    const send = (status: number, text: string) =>
      void response.writeHead(status, HEADERS).end(text);
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(405, 'GET alone\n');
    const { metrics, problem, fine } = look();
    if (pathname === '/metrics') return send(200, metricsText(metrics));
    if (pathname === '/healthz')
      return send(problem === undefined ? 200 : 503, `${problem ?? fine}\n`);
    send(404, 'here are /metrics and /healthz\n');
  });
}
