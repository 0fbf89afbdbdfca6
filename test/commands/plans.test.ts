// Tests plans of other programs, and changes during `fleet apply`. The transcripts in
// test/transcripts/plans and test/transcripts/journal show plans and `fleet journal undo`.

import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { type Clock, systemClock } from '../../src/system/clock.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { jsonLines, runFleet } from '../support/run.js';
import { inState, openSandbox } from '../support/sandbox.js';

interface Scene {
  sandbox: Sandbox;
  folder: string;
  plan: string;
  fleet(
    args: readonly string[],
    more?: { stdin?: string; clock?: Clock },
  ): ReturnType<typeof runFleet>;
  /** The changes that the service received. */
  posts(): string[];
  /** Calls the listener after each answer to a GET. */
  onRead(listener: (url: string) => void): void;
}

async function openScene(options: SandboxOptions = {}): Promise<Scene> {
  const posts: string[] = [];
  let onRead = (_url: string) => {};
  const sandbox = await openSandbox({
    bicycles: 60,
    ...options,
    onRequest: ({ method, url }) => {
      if (method === 'GET') onRead(url);
      if (method !== 'GET' && method !== 'DELETE') posts.push(`${method} ${url}`);
    },
  });
  const folder = newFolder();
  const env = {
    ...(await environmentOf(sandbox)),
    FLEET_ORGANIZATION: sandbox.organizations[0]?.uuid,
    XDG_STATE_HOME: newFolder(),
  };
  return {
    sandbox,
    folder,
    plan: join(folder, 'my.plan'),
    posts: () => posts,
    onRead(listener) {
      onRead = listener;
    },
    fleet: (args, { stdin, clock } = {}) =>
      runFleet(args, {
        ...(clock === undefined ? {} : { clock }),
        env,
        ...(stdin === undefined ? {} : { stdin: Readable.from([stdin]) }),
      }),
  };
}

const available = (sandbox: Sandbox, most: number) =>
  inState(sandbox, 'available', most).filter(
    (uuid) =>
      sandbox.bicycle(uuid)?.organization ===
      sandbox.bicycles(sandbox.organizations[0]?.uuid)[0]?.organization,
  );

const stateOf = (sandbox: Sandbox, uuid: string) => sandbox.bicycle(uuid)?.state;

/** Plans `put_in_maintenance` for available bicycles. */
async function planMaintenance(scene: Scene, count: number): Promise<string[]> {
  const uuids = available(scene.sandbox, count);
  const planned = await scene.fleet([
    ...['bicycles', 'act', ...uuids, 'put_in_maintenance'],
    ...['--plan', scene.plan],
  ]);
  expect([planned.code, planned.stdout]).toEqual([0, '']);
  return uuids;
}

/** Writes a plan with a correct checksum, as another program could. */
function writeForeignPlan(path: string, header: object, lines: readonly string[]): void {
  const text = [JSON.stringify(header), ...lines].map((line) => `${line}\n`).join('');
  const sum = createHash('sha256').update(text).digest('hex');
  writeFileSync(path, `${text}${JSON.stringify({ checksum: `sha256:${sum}` })}\n`);
}

describe('a plan written by another program', () => {
  const target = {
    uuid: '00000000-0000-4000-8000-000000000001',
    name: null,
    observed: { state: 'available' },
    request: { method: 'POST', path: '/x', body: { type: 'retire' } },
  };
  const line = JSON.stringify(target);
  const withRequest = (request: unknown) => JSON.stringify({ ...target, request });
  const upper = JSON.stringify({ ...target, uuid: target.uuid.toUpperCase() });

  test.each([
    ['null', ['null'], 'line 2'],
    ['a number', ['5'], 'line 2'],
    ['half a line', ['{'], 'line 2'],
    ['an empty line', [line, ''], 'line 3'],
    ['no request', [withRequest(undefined)], 'line 2'],
    ['no body', [withRequest({ ...target.request, body: null })], 'line 2'],
    ['no transition', [withRequest({ ...target.request, body: {} })], 'line 2'],
    [
      'a transition that is an object',
      [withRequest({ ...target.request, body: { type: {} } })],
      'line 2',
    ],
    ['no observed values', [JSON.stringify({ ...target, observed: undefined })], 'line 2'],
    ['a UUID that is a number', [JSON.stringify({ ...target, uuid: 5 })], 'line 2'],
    ['no UUID', [JSON.stringify({ ...target, uuid: null })], 'line 2'],
    ['a target twice', [line, line], 'same target as line 2'],
    ['a target twice in other letters', [line, upper], 'same target as line 2'],
  ])('a changed plan is refused with exit code 2: %s', async (_what, lines, message) => {
    const scene = await openScene();
    await planMaintenance(scene, 1);
    const [head = ''] = readFileSync(scene.plan, 'utf8').split('\n');
    const plan = join(scene.folder, 'foreign.plan');
    writeForeignPlan(plan, { ...JSON.parse(head), targets: lines.length }, lines);
    for (const flag of ['--dry-run', '--yes']) {
      const run = await scene.fleet(['apply', plan, flag]);
      expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    }
    expect(scene.posts()).toEqual([]);
  });

  test.each(['', 'yesterday', '2026-13-01T00:00:00Z'])(
    'is refused with the time %j',
    async (time) => {
      const scene = await openScene();
      await planMaintenance(scene, 1);
      const [head = ''] = readFileSync(scene.plan, 'utf8').split('\n');
      const plan = join(scene.folder, 'foreign.plan');
      writeForeignPlan(plan, { ...JSON.parse(head), time }, [line]);
      const run = await scene.fleet(['apply', plan, '--yes']);
      expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining('is not valid') });
    },
  );

  test.each([0, -3, 0.5, 2, '1', null])('is refused when its format is %j', async (format) => {
    const scene = await openScene();
    await planMaintenance(scene, 1);
    const [head = '', ...rest] = readFileSync(scene.plan, 'utf8').split('\n');
    const plan = join(scene.folder, 'foreign.plan');
    writeForeignPlan(plan, { ...JSON.parse(head), format }, rest.slice(0, 1));
    expect((await scene.fleet(['apply', plan, '--yes'])).code).toBe(2);
    expect(scene.posts()).toEqual([]);
  });
});

describe('hostile scenarios for `fleet apply`', () => {
  test('does not report a bicycle as done when another user changes it before the request', async () => {
    const scene = await openScene();
    const [uuid = ''] = await planMaintenance(scene, 1);
    let reads = 0;
    scene.onRead((url) => {
      if (!url.startsWith(`/bicycles/${uuid}/`)) return;
      reads++;
      // The third reading is the one right before the request.
      if (reads === 3) scene.sandbox.act(uuid, 'rent');
    });
    const run = await scene.fleet(['apply', scene.plan, '--yes', '--json']);
    const [row] = jsonLines(run.stdout);
    expect([run.code, row?.['outcome']]).toEqual([9, 'refused']);
    expect(stateOf(scene.sandbox, uuid)).toBe('rented');
  });

  test('two concurrent runs of the same plan send every request once', async () => {
    const scene = await openScene({ faults: [{ kind: 'latency', milliseconds: 50 }] });
    const uuids = await planMaintenance(scene, 6);
    const copy = join(scene.folder, 'copy.plan');
    copyFileSync(scene.plan, copy);
    const runs = await Promise.all(
      [scene.plan, copy].map((path) => scene.fleet(['apply', path, '--yes', '--concurrency', '1'])),
    );
    expect(runs.map(({ code }) => code)).toContain(0);
    expect(scene.posts()).toHaveLength(uuids.length);
  });

  test("measures the age of a plan by the service's clock", async () => {
    const scene = await openScene();
    await planMaintenance(scene, 2);
    const DAY_MS = 86_400_000;
    const clock = systemClock(() => Date.now() + 2 * DAY_MS);
    const run = await scene.fleet(['apply', scene.plan, '--yes'], { clock });
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('2 done')]);
  });

  test('does not repeat a planned edit when the service trims the text', async () => {
    const scene = await openScene({ faults: [{ kind: 'trim' }] });
    const [uuid = ''] = available(scene.sandbox, 1);
    const rows = `${JSON.stringify({ uuid, note: ' trimmed ' })}\n`;
    await scene.fleet(['bicycles', 'edit', '-', '--plan', scene.plan], { stdin: rows });
    const run = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('1 done')]);
    const again = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([again.code, scene.posts().length]).toEqual([0, 1]);
  });
});
