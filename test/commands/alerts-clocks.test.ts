// Tests `fleet alerts watch` with a cursor in the future, failed first readings, and damaged or
// locked state files.

import { copyFile, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AlertService, alertUuid, withAlertService } from '../support/alert-service.js';
import { type Running, startFleet } from '../support/running.js';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

async function watch(service: AlertService, args: readonly string[] = []): Promise<Running> {
  const running = startFleet(['alerts', 'watch', '--json', '--every', '100ms', ...args], {
    env: service.env,
  });
  await Promise.race([running.until(() => running.events('open').length > 0), running.ended]);
  return running;
}

/** Returns the numbers of the printed alerts. */
const shown = (running: Running) =>
  running.objects().map(({ uuid }) => Number(String(uuid).slice(-12)));
const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

/**
 * Waits for the alerts and for another reading, and checks that the unexpected alerts are absent.
 */
async function expectShown(
  service: AlertService,
  running: Running,
  numbers: readonly number[],
): Promise<void> {
  await running.until(() => shown(running).length >= numbers.length);
  const read = service.readings();
  await running.until(() => service.readings() > read + 1);
  expect(sorted(shown(running))).toEqual(sorted(numbers));
}

test.concurrent('corrects a future time in the state file', () =>
  withAlertService(async (service) => {
    const path = join(service.folder, 'state');
    const args = ['--state-file', path];
    service.put(alertUuid(0));
    await (await watch(service, args)).stop();
    const text = await readFile(path, 'utf8');
    await writeFile(
      path,
      text.replaceAll(/"cursor":"[^"]*"/g, '"cursor":"2099-01-01T00:00:00.000Z"'),
    );
    for (const number of [1, 2]) {
      service.put(alertUuid(number));
      const running = await watch(service, args);
      await expectShown(service, running, [number]);
      await running.stop();
    }
  }));

test.concurrent('shows only new alerts when the first list request fails', () =>
  withAlertService(async (service) => {
    service.put(alertUuid(0), -60 * SECOND_MS);
    service.status = 503;
    const running = startFleet(['alerts', 'watch', '--json', '--every', '100ms'], {
      env: service.env,
    });
    await running.until(() => running.events('lost').length === 1);
    service.put(alertUuid(1));
    service.status = 200;
    await expectShown(service, running, [1]);
    await running.stop();
  }));

test.concurrent('shows alerts raised while an earlier run could not read the list', () =>
  withAlertService(async (service) => {
    const args = ['--state-file', join(service.folder, 'state')];
    service.put(alertUuid(0), -60 * SECOND_MS);
    service.status = 503;
    const first = startFleet(['alerts', 'watch', '--json', '--every', '100ms', ...args], {
      env: service.env,
    });
    await first.until(() => first.events('lost').length === 1);
    service.put(alertUuid(1));
    await first.stop();
    service.status = 200;
    const second = await watch(service, args);
    await expectShown(service, second, [1]);
    await second.stop();
  }));

describe.concurrent('a damaged state file of `alerts watch`', () => {
  const DAMAGES: [
    name: string,
    damage: (text: string) => string,
    again: (shown: readonly number[]) => boolean,
  ][] = [
    ['its last line torn', (text) => text.slice(0, -5), (again) => again.length <= 1],
    ['cut in half', (text) => text.slice(0, text.length / 2), () => true],
    [
      'an invalid line in the middle',
      (text) => text.replace('\n["', '\n}["'),
      (again) => again.length <= 1,
    ],
    ['from a newer version', (text) => text.replace(/"format":\d+/, '"format":99'), () => true],
    ['cut in its first line', (text) => text.slice(0, 20), () => true],
    [
      'with NULs at its beginning, as after a power cut',
      (text) => `${'\0'.repeat(100)}${text.slice(100)}`,
      () => true,
    ],
    ['only NULs', (text) => '\0'.repeat(text.length), () => true],
  ];

  test.each(DAMAGES)('%s', (_name, damage, isAllowed) =>
    withAlertService(async (service) => {
      const path = join(service.folder, 'state');
      const args = ['--state-file', path];
      service.put(alertUuid(100), -3 * HOUR_MS);
      const first = await watch(service, args);
      for (const number of range(0, 10)) service.put(alertUuid(number));
      await first.until(() => shown(first).length === 10);
      await first.stop();
      const damaged = damage(await readFile(path, 'utf8'));
      await writeFile(path, damaged);
      for (const number of range(10, 15)) service.put(alertUuid(number));
      const second = await watch(service, args);
      await second.until(() => range(10, 15).every((number) => shown(second).includes(number)));
      await second.stop();
      expect(second.events('damaged')).toEqual([
        expect.objectContaining({ since: expect.stringMatching(/^20\d\d-\S+Z$/) }),
      ]);
      const again = shown(second).filter((number) => number < 10);
      expect(isAllowed(again)).toBe(true);
      expect(shown(second)).not.toContain(100);
      const kept = (await readdir(service.folder)).filter((name) => name !== 'state');
      expect(kept).toHaveLength(1);
      expect(await readFile(join(service.folder, kept[0] ?? ''), 'utf8')).toBe(damaged);
      const third = await watch(service, args);
      await expectShown(service, third, []);
      expect(third.events('damaged')).toEqual([]);
      await third.stop();
    }),
  );
});

describe.concurrent('exclusive use of the state file', () => {
  test('rejects a second watch on the same state file', () =>
    withAlertService(async (service) => {
      const args = ['--state-file', join(service.folder, 'state')];
      const first = await watch(service, args);
      const second = await (await watch(service, args)).ended;
      expect([second.code, second.stderr]).toEqual([
        3,
        expect.stringContaining(`process ${process.pid}`),
      ]);
      service.put(alertUuid(0));
      await expectShown(service, first, [0]);
      await first.stop();
    }));

  test('a suspended watch stops after another watch took over its state file', () =>
    withAlertService(async (service) => {
      const path = join(service.folder, 'state');
      const first = await watch(service, ['--state-file', path]);
      // Another process writes this claim when the watch seems to be suspended.
      const text = await readFile(path, 'utf8');
      const id = /"claim":"(\w+)"/.exec(text)?.[1];
      await writeFile(
        `${path}.new`,
        `${text}{"claim":"other","over":"${id}","pid":77,"host":"elsewhere"}\n`,
      );
      await rename(`${path}.new`, path);
      const { code, stderr } = await first.ended;
      expect([code, stderr]).toEqual([
        10,
        expect.stringContaining('was taken over by process 77 on elsewhere'),
      ]);
    }));

  test('takes over the state file of a watch that was killed', () =>
    withAlertService(async (service) => {
      const path = join(service.folder, 'state');
      const first = await watch(service, ['--state-file', path]);
      // A kill -9 leaves a state file with a lock that was not released.
      await copyFile(path, join(service.folder, 'killed'));
      await first.stop();
      service.put(alertUuid(0));
      const second = await watch(service, ['--state-file', join(service.folder, 'killed')]);
      await expectShown(service, second, [0]);
      await second.stop();
    }));
});
