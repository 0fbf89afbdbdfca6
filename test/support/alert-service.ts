// A small service with alerts only. A test sets its `Date` header and the times of each alert.

import type { Alert } from '../../src/api/alert.js';
import { newFolder } from './folder.js';
import { sendJson, startServer } from './server.js';

export interface AlertService {
  url: string;
  /** For the files of its test. */
  folder: string;
  /** By uuid. */
  alerts: Map<string, Alert>;
  /** How far its `Date` header is ahead of the real time. */
  skewMs: number;
  /** Whether it orders by `modified` or answers 400 to that ordering. */
  ordersByModified: boolean;
  /** Whether it accepts `page_size` or answers 400 to it. */
  acceptsPageSize: boolean;
  /** The answer instead of the list. */
  status: number;
  /** Whether its pages have a `count`. */
  countsAlerts: boolean;
  /** Called after each page was read, before it is sent. */
  onPage(page: number): void;
  /** The list requests. */
  readings(): number;
  /** Adds or changes an alert; `aheadMs`: how far its `modified` is ahead of the real time. */
  put(uuid: string, aheadMs?: number, changes?: Partial<Alert>): Alert;
  env: { FLEET_BASE_URL: string; FLEET_TOKEN: string };
  close(): Promise<void>;
}

/** Observed: whole seconds, 20 a page, `page_size` up to 100, `-modified` and `-created`. */
export async function startAlertService(): Promise<AlertService> {
  const alerts = new Map<string, Alert>();
  const server = await startServer((response, { path }) => {
    const date = new Date(Date.now() + service.skewMs).toUTCString();
    if (service.status !== 200)
      return sendJson(response, service.status, { detail: 'not now' }, { date });
    const query = new URL(path, 'http://localhost').searchParams;
    if (query.get('ordering') === '-modified' && !service.ordersByModified)
      return sendJson(response, 400, { detail: { ordering: ['no such choice'] } }, { date });
    if (query.has('page_size') && !service.acceptsPageSize)
      return sendJson(response, 400, { detail: { page_size: ['not a parameter'] } }, { date });
    const field = query.get('ordering') === '-created' ? 'created' : 'modified';
    const page = Number(query.get('page') ?? 1);
    const size = Math.min(100, Number(query.get('page_size') ?? 20));
    const all = [...alerts.values()]
      .reverse()
      .sort((a, b) => Date.parse(b[field] ?? '') - Date.parse(a[field] ?? ''));
    query.set('page', String(page + 1));
    const next = all.length > page * size ? `http://elsewhere/alerts/?${query}` : null;
    const body = {
      ...(service.countsAlerts ? { count: all.length } : {}),
      next,
      previous: null,
      results: all.slice((page - 1) * size, page * size),
    };
    service.onPage(page);
    sendJson(response, 200, body, { date });
  });
  const service: AlertService = {
    url: server.url,
    folder: newFolder(),
    alerts,
    skewMs: 0,
    ordersByModified: true,
    acceptsPageSize: true,
    status: 200,
    countsAlerts: true,
    onPage: () => {},
    readings: () => server.asked.length,
    put(uuid, aheadMs = 0, changes = {}) {
      const modified = `${new Date(Date.now() + aheadMs).toISOString().slice(0, 19)}Z`;
      const alert: Alert = {
        uuid,
        created: modified,
        state: 'new',
        alert_type: 'lock.shutdown',
        ...alerts.get(uuid),
        modified,
        ...changes,
      };
      alerts.set(uuid, alert);
      return alert;
    },
    env: { FLEET_BASE_URL: server.url, FLEET_TOKEN: 'a-token' },
    close: server.close,
  };
  return service;
}

/** Runs a test with a service that is closed afterwards. */
export async function withAlertService<T>(use: (service: AlertService) => Promise<T>): Promise<T> {
  const service = await startAlertService();
  try {
    return await use(service);
  } finally {
    await service.close();
  }
}

/** Returns a version 4 UUID that ends with the number. */
export function alertUuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}
