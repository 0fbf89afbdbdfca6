// Tests that `fleet alerts watch` misses no alert when another one is deleted while it reads the
// pages of the list.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AlertService, alertUuid, withAlertService } from '../support/alert-service.js';
import { startFleet } from '../support/running.js';

const HOUR_MS = 3_600_000;
const ALERTS = 250;

/** Adds alerts of the last day, the newest with the highest number. */
function addAlerts(service: AlertService): void {
  for (let number = 0; number < ALERTS; number++) {
    service.put(alertUuid(number), -23 * HOUR_MS + number * 5 * 60_000);
  }
}

/** Deletes one of the newest alerts after each of the first `times` first pages was read. */
function deleteDuringReading(service: AlertService, times: number): void {
  let next = ALERTS - 1;
  service.onPage = (page) => {
    if (page !== 1 || next < ALERTS - times) return;
    service.alerts.delete(alertUuid(next));
    next--;
  };
}

async function watch(service: AlertService, args: readonly string[]) {
  const running = startFleet(['alerts', 'watch', '--json', '--every', '100ms', ...args], {
    env: service.env,
  });
  await running.until(() => running.events('open').length > 0);
  return running;
}

test('sorts alerts by modification time even when the service refuses page_size', () =>
  withAlertService(async (service) => {
    service.acceptsPageSize = false;
    service.put(alertUuid(1), -HOUR_MS);
    service.put(alertUuid(2), -HOUR_MS);
    const running = await watch(service, ['--verbose']);
    service.put(alertUuid(1), 0, { state: 'resolved' });
    await running.until(() => running.objects().length > 0);
    const { stderr } = await running.stop();
    expect(running.objects()).toMatchObject([{ uuid: alertUuid(1), state: 'resolved' }]);
    expect(stderr).not.toContain('cannot sort alerts by modified');
  }));

const cases = [
  { countsAlerts: true, times: 1 },
  { countsAlerts: true, times: 3 },
  { countsAlerts: false, times: 1 },
];

describe.each(cases)(
  'reading alerts while $times of them are deleted (the service sends a count: $countsAlerts)',
  ({ countsAlerts, times }) => {
    test('`alerts watch --since` prints every alert since that time', () =>
      withAlertService(async (service) => {
        service.countsAlerts = countsAlerts;
        addAlerts(service);
        deleteDuringReading(service, times);
        const running = await watch(service, ['--since', '24h']);
        await running.until(() => running.objects().length >= ALERTS);
        const { code } = await running.stop();
        expect(code).toBe(130);
        expect(new Set(running.objects().map(({ uuid }) => uuid)).size).toBe(ALERTS);
      }));

    test('`alerts watch --state-file` prints every alert since the time in the file', () =>
      withAlertService(async (service) => {
        service.countsAlerts = countsAlerts;
        const path = join(service.folder, 'state');
        await (await watch(service, ['--state-file', path])).stop();
        const text = await readFile(path, 'utf8');
        const evening = new Date(Date.now() - 24 * HOUR_MS).toISOString();
        const earlier = text.replaceAll(/"(began|cursor)":"[^"]*"/g, `"$1":"${evening}"`);
        await writeFile(path, earlier);
        addAlerts(service);
        deleteDuringReading(service, times);
        const running = await watch(service, ['--state-file', path]);
        await running.until(() => running.objects().length >= ALERTS);
        await running.stop();
        expect(new Set(running.objects().map(({ uuid }) => uuid)).size).toBe(ALERTS);
      }));
  },
);
