// Deletions without a message must be detected by lines, JSON, --bicycle, the page and the mirror.

import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { BEING_CHECKED } from '../../src/follower/follower.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { sendStatus, startMisbehaving } from '../support/misbehaving.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { headersFor, withSandbox } from '../support/sandbox.js';

const FLEET = { bicycles: 60, rate: 0, replay: 0, heartbeatMs: 100 };
/** Clock speed of the watch. */
const SPEED = 100;
/** The reports of the first and of the second look after a gap. */
const FOUND = /checked the list: 1 bicycle gone, but it is not complete: being checked/;
const SETTLED = /checked the list: nothing was missed/;

async function remove(sandbox: Sandbox, uuid: string): Promise<void> {
  const url = `${sandbox.baseUrl}/bicycles/${uuid}/`;
  expect((await fetch(url, { method: 'DELETE', headers: await headersFor(sandbox) })).status).toBe(
    204,
  );
}

function idOf(sandbox: Sandbox) {
  const organization = sandbox.organizations[0]?.uuid ?? '';
  const [{ uuid = '', name = '' } = {}] = sandbox.bicycles(organization);
  return { organization, uuid, name };
}

/** Watches until stderr contains the text and then sends Ctrl-C; `onStderr` receives each chunk. */
async function watchUntil(
  sandbox: Sandbox,
  args: string[],
  text: RegExp,
  options: RunOptions = {},
) {
  const signals = new EventEmitter();
  let stderr = '';
  // The clock runs faster than the service, so a usual time limit would be too short.
  return runFleet(['watch', ...args, '--timeout', '6000'], {
    env: await environmentOf(sandbox),
    ...options,
    signals,
    onStderr(piece) {
      stderr += piece;
      options.onStderr?.(stderr);
      if (text.test(stderr)) signals.emit('SIGINT');
    },
  });
}

/** The bicycles on a page of a list. */
const PAGE = 100;

/** Resolves when every page of the first list was answered. */
async function read(sandbox: Sandbox): Promise<void> {
  const pages = Math.ceil(sandbox.bicycles(sandbox.organizations[0]?.uuid).length / PAGE);
  const isRead = () => {
    const answered = sandbox.requests.filter(
      ({ server, url, status }) => server === 'api' && url.includes('/bicycles/') && status === 200,
    );
    return answered.length >= pages;
  };
  while (!isRead()) await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, 300));
}

/** Runs the steps one after the other after the first list was answered. */
function afterStart(sandbox: Sandbox, ...steps: readonly (() => unknown)[]): () => void {
  let isStarted = false;
  return async () => {
    if (isStarted) return;
    isStarted = true;
    await read(sandbox);
    for (const step of steps) await step();
  };
}

describe('`watch` and a bicycle that was deleted during a gap', () => {
  test('prints the deletion after a complete comparison', async () => {
    await withSandbox(FLEET, async (sandbox) => {
      const { organization, uuid, name } = idOf(sandbox);
      const cut = afterStart(sandbox, () => remove(sandbox, uuid), sandbox.dropStreams);
      const got = await watchUntil(sandbox, [organization, '--idle', '86400'], SETTLED, {
        onStderr: cut,
        clock: openQuickClock(SPEED),
      });
      expect(got.stdout).toMatch(new RegExp(`${name} .*gone, was `));
      expect(got.stderr).toMatch(FOUND);
    });
  });

  test('reports the deletion on stderr with --json', async () => {
    await withSandbox(FLEET, async (sandbox) => {
      const { organization, uuid } = idOf(sandbox);
      const cut = afterStart(sandbox, () => remove(sandbox, uuid), sandbox.dropStreams);
      const got = await watchUntil(sandbox, [organization, '--json'], /"gone":1/, {
        onStderr: cut,
      });
      const records = got.stderr
        .split('\n')
        .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
      expect(records).toContainEqual(expect.objectContaining({ event: 'gone', uuid }));
      expect(records).toContainEqual(
        expect.objectContaining({ event: 'resync', reason: BEING_CHECKED, gone: 1, changes: 0 }),
      );
      expect(got.stdout).toBe('');
    });
  });
});

test('does not report bicycles as deleted when a mechanic cannot list them', async () => {
  await withSandbox(FLEET, async (sandbox) => {
    const { organization } = idOf(sandbox);
    const [own, rented, deleted] = sandbox
      .bicycles(organization)
      .filter(({ state }) => state === 'available');
    if (own === undefined || rented === undefined || deleted === undefined)
      throw new Error('no bicycle is available');
    const token = await sandbox.token({ affiliations: ['mechanic'] });
    const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const rent = [() => sandbox.act(own.uuid, 'rent', sub), () => sandbox.act(rented.uuid, 'rent')];
    const pause = () => new Promise((resolve) => setTimeout(resolve, 300));
    const cut = afterStart(
      sandbox,
      ...rent,
      pause,
      () => remove(sandbox, deleted.uuid),
      sandbox.dropStreams,
    );
    const env = { ...(await environmentOf(sandbox)), FLEET_TOKEN: token };
    const got = await watchUntil(sandbox, [organization, '--idle', '86400'], SETTLED, {
      onStderr: cut,
      env,
      clock: openQuickClock(SPEED),
    });
    expect(got.stdout).toMatch(new RegExp(`${deleted.name} .*gone, was `));
    expect(got.stderr).toMatch(FOUND);
    expect(got.stdout).not.toMatch(new RegExp(`(${own.name}|${rented.name}) .*gone`));
  });
});

test('detects a deletion from a lower count while the connection is open', async () => {
  const clock = openQuickClock(SPEED);
  await withSandbox(FLEET, async (sandbox) => {
    const { organization, uuid, name } = idOf(sandbox);
    const cut = afterStart(sandbox, () => remove(sandbox, uuid));
    const args = [organization, '--idle', '86400'];
    const got = await watchUntil(sandbox, args, /1 bicycle gone/, { onStderr: cut, clock });
    expect(got.stdout).toMatch(new RegExp(`${name} .*gone, was `));
    expect(got.stderr).not.toContain('back after');
  });
});

test('detects a deletion from a lower count when only the first page is known', async () => {
  const clock = openQuickClock(SPEED);
  await withSandbox({ ...FLEET, bicycles: 250 }, async (sandbox) => {
    const { organization } = idOf(sandbox);
    const [newest] = sandbox
      .bicycles(organization)
      .toSorted((a, b) => String(b.modified).localeCompare(String(a.modified)));
    const cut = afterStart(sandbox, () => remove(sandbox, newest?.uuid ?? ''));
    // The first comparison knows only the count of the first list.
    const args = [organization, '--idle', '86400', '--resync-pages', '1'];
    const got = await watchUntil(sandbox, args, /1 bicycle gone/, { onStderr: cut, clock });
    expect(got.stdout).toMatch(new RegExp(`${newest?.name} .*gone, was `));
  });
});

test('repeats a comparison when its second page no longer exists', async () => {
  const clock = openQuickClock(SPEED);
  await withSandbox({ ...FLEET, bicycles: 106 }, async (sandbox) => {
    const organization = sandbox.organizations[0]?.uuid ?? '';
    const uuids = sandbox.bicycles(organization).map(({ uuid }) => uuid);
    // One page and one more bicycle.
    expect(uuids).toHaveLength(101);
    const change = () =>
      uuids.map((uuid) => sandbox.changeBicycle(uuid, { description: 'changed' }));
    const cut = afterStart(
      sandbox,
      () => sandbox.setFaults([{ kind: 'shrink' }]),
      sandbox.dropStreams,
      change,
    );
    const args = [organization, '--idle', '86400'];
    const got = await watchUntil(sandbox, args, /1 bicycle gone/, { onStderr: cut, clock });
    expect(got.stderr).toMatch(/Invalid page.*; reading it again in 30 s\n/);
    expect(got.stdout.match(/caught up: /g)).toHaveLength(uuids.length);
    expect(got.stdout.match(/gone, was /g)).toHaveLength(1);
  });
});

test('`watch --bicycle --until` ends with 5 when its bicycle is deleted', async () => {
  const clock = openQuickClock(SPEED);
  await withSandbox(FLEET, async (sandbox) => {
    const { organization, uuid } = idOf(sandbox);
    const cut = afterStart(sandbox, () => remove(sandbox, uuid));
    const args = [organization, '--bicycle', uuid, '--until', 'state=retired', '--idle', '86400'];
    const got = await watchUntil(sandbox, args, /never/, { onStderr: cut, clock });
    expect([got.code, got.stderr]).toEqual([
      5,
      expect.stringContaining(`the bicycle ${uuid} is no longer in the list`),
    ]);
    expect(got.stdout).toMatch(/gone, was /);
  });
});

const [ONE, OTHER] = [
  '14c6d2ad-7236-46f1-b76f-6d356b2105d2',
  '14c6d2ad-7236-46f1-b76f-6d356b2105d3',
] as const;

/** The answers of a service about bicycles, which a test changes. */
interface Answers {
  /** The bicycles that the list contains. */
  listed: readonly string[];
  /** The bicycles with addresses that answer 404. */
  denied: readonly string[];
}

/** Pauses of 30 s are long enough for a busy machine. */
const SPEED_NAMED = 15;

/**
 * Watches two named bicycles on a service that cuts the connection once. Each later pass reads both
 * addresses and then the list, and uses the next answers.
 */
async function watchNamed(passes: readonly Answers[]) {
  const clock = openQuickClock(SPEED_NAMED);
  const all: Answers = { listed: [ONE, OTHER], denied: [] };
  let answers = all;
  let left = passes;
  const modified = '2026-03-01T12:00:00Z';
  const asked: { path: string; atMs: number }[] = [];
  let isCut = false;
  const service = await startMisbehaving((socket, { path }) => {
    if (path.startsWith('/subscribe/')) {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n');
      if (isCut) return;
      isCut = true;
      setTimeout(() => {
        [answers = all, ...left] = left;
        for (const each of service.sockets) each.destroy();
      }, 1_000);
      return;
    }
    asked.push({ path, atMs: clock.monotonicMs() });
    const json = { 'Content-Type': 'application/json' };
    const bicycleOf = (uuid: string) => ({ uuid, modified, state: 'available', name: uuid });
    const uuid = [ONE, OTHER].find((each) => path.startsWith(`/bicycles/${each}/`));
    if (uuid === undefined) {
      const results = path.startsWith('/bicycles/') ? answers.listed.map(bicycleOf) : [];
      const body = { count: results.length, next: null, results };
      sendStatus(socket, 200, json, JSON.stringify(body));
      if (isCut && path.startsWith('/bicycles/')) [answers = all, ...left] = left;
    } else if (answers.denied.includes(uuid))
      sendStatus(socket, 404, json, '{"detail":"Not found."}');
    else sendStatus(socket, 200, json, JSON.stringify(bicycleOf(uuid)));
  });
  const env = {
    FLEET_BASE_URL: service.url,
    FLEET_SSE_URL: service.url,
    FLEET_CONFIG_DIR: '/nonexistent',
    FLEET_TOKEN: 'x',
  };
  const signals = new EventEmitter();
  let stderr = '';
  const got = await runFleet(
    [
      ...['watch', 'a087eaf3-00b3-49c9-8706-c4ebfb2627fd', '--idle', '86400'],
      ...['--bicycle', ONE, '--bicycle', OTHER],
    ],
    {
      env,
      clock,
      signals,
      onStderr(piece) {
        stderr += piece;
        const reports = stderr.match(/checked the list/g) ?? [];
        if (reports.length === 2) signals.emit('SIGINT');
      },
    },
  );
  const cutAt = asked.findIndex(({ path }, index) => index > 2 && path.includes(ONE));
  return { ...got, asked: asked.slice(cutAt) };
}
const HIDDEN: Answers = { listed: [OTHER], denied: [ONE] };

test('reports a selected bicycle as gone when two complete lists do not contain it', async () => {
  const { stdout, stderr, asked } = await watchNamed(Array(9).fill(HIDDEN));
  expect(stdout).toMatch(/gone, was /);
  expect(stderr).toContain('1 bicycle gone');
  const [first, second] = asked.filter(({ path }) => path.startsWith('/bicycles/?'));
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(4_900);
});

test.each([
  ['the second list has it', [HIDDEN]],
  ['only the second list lacks it', [HIDDEN, { listed: [ONE], denied: [OTHER] }]],
  [
    'its address answers 404 and the list has it',
    Array(9).fill({ listed: [ONE, OTHER], denied: [ONE] }),
  ],
])('does not report a selected bicycle as gone when %s', async (_what, passes) => {
  const { stdout, stderr } = await watchNamed(passes);
  expect(stdout).not.toContain('gone, was ');
  expect(stderr).not.toContain('bicycle gone');
});

test('`mirror` reports that it is not current when messages arrive late', async () => {
  const uuid = '14c6d2ad-7236-46f1-b76f-6d356b2105d2';
  const organization = 'a087eaf3-00b3-49c9-8706-c4ebfb2627fd';
  const at = (ageMs: number) => `${new Date(Date.now() - ageMs).toISOString().slice(0, 19)}Z`;
  const date = { Date: new Date().toUTCString() };
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nDate: ${date.Date}\r\n\r\n`;
  const service = await startMisbehaving((socket, { path }) => {
    if (!path.startsWith('/subscribe/')) {
      const results = path.includes('/alerts/')
        ? []
        : [{ uuid, modified: at(60_000), state: 'available' }];
      return sendStatus(
        socket,
        200,
        date,
        JSON.stringify({ count: results.length, next: null, results }),
      );
    }
    socket.write(head);
    const timer = setInterval(() => {
      // Enough messages to fill the socket of a slow writer.
      const message = { uuid, modified: at(30_000), state: 'available', latitude: Math.random() };
      const event = `data: ${JSON.stringify({ topic: 'x', sender: 'bicycle', message })}\n\n`;
      socket.write(event.repeat(100));
    }, 20);
    socket.on('close', () => clearInterval(timer));
  });
  const addresses = { FLEET_BASE_URL: service.url, FLEET_SSE_URL: service.url };
  const env = {
    ...addresses,
    FLEET_CONFIG_DIR: '/nonexistent',
    FLEET_TOKEN: 'x',
    FLEET_ORGANIZATION: organization,
  };
  const folder = newFolder();
  const to = `sqlite:${folder}/fleet.db`;
  const signals = new EventEmitter();
  const running = runFleet(['mirror', 'run', '--to', to], { env, signals });
  try {
    let status = { code: 0, stdout: '', stderr: '' };
    for (let tries = 0; tries < 100 && !status.stderr.includes('current: its writer is'); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      status = await runFleet(['mirror', 'status', '--to', to], { env });
    }
    expect(status.stderr).toMatch(/the mirror is not current: its writer is behind by \d\d s/);
    expect(status.code).toBe(9);
    expect(status.stdout).toMatch(
      /list +last complete reading .*, 1 bicycles counted by the service/,
    );
  } finally {
    signals.emit('SIGTERM');
    await running;
    await service.close();
  }
});
