// Tests plans over real sockets: `--plan`, `fleet apply` and `fleet journal undo`.

import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { type Clock, systemClock } from '../../src/system/clock.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { jsonLines, runFleet } from '../support/run.js';
import { headersFor, inState, openSandbox } from '../support/sandbox.js';

interface Scene {
  sandbox: Sandbox;
  folder: string;
  plan: string;
  fleet(
    args: readonly string[],
    more?: { stdin?: string; env?: NodeJS.ProcessEnv; clock?: Clock },
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
    fleet: (args, { stdin, env: further, clock } = {}) =>
      runFleet(args, {
        ...(clock === undefined ? {} : { clock }),
        env: { ...env, ...further },
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
const planMaintenance = (scene: Scene, count: number) =>
  planChange(scene, count, 'put_in_maintenance');

/** Plans a transition for available bicycles. */
async function planChange(scene: Scene, count: number, transition: string): Promise<string[]> {
  const uuids = available(scene.sandbox, count);
  const planned = await scene.fleet([
    ...['bicycles', 'act', ...uuids, transition],
    ...['--plan', scene.plan],
  ]);
  expect([planned.code, planned.stdout]).toEqual([0, '']);
  return uuids;
}

describe('--plan', () => {
  test('writes a header, the observed values and the requests, and sends nothing', async () => {
    const scene = await openScene();
    const uuids = await planMaintenance(scene, 3);
    const [header, ...rest] = jsonLines(readFileSync(scene.plan, 'utf8'));
    expect(header).toMatchObject({
      format: 1,
      command: 'bicycles act',
      base_url: scene.sandbox.baseUrl.replace(/\/$/, ''),
      organization: scene.sandbox.organizations[0]?.uuid,
      targets: uuids.length,
    });
    expect(rest.slice(0, -1)).toEqual(
      uuids.map((uuid) => ({
        uuid,
        name: scene.sandbox.bicycle(uuid)?.name,
        observed: { state: 'available', concurrency_version: expect.any(Number) },
        request: {
          method: 'POST',
          path: `/bicycles/${uuid}/actions/`,
          body: { type: 'put_in_maintenance' },
        },
      })),
    );
    expect(rest.at(-1)).toEqual({ checksum: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
    expect(statSync(scene.plan).mode & 0o777).toBe(0o600);
    expect(scene.posts()).toEqual([]);
  });

  test('--plan never replaces a file', async () => {
    const scene = await openScene();
    writeFileSync(scene.plan, 'mine');
    const [uuid = ''] = available(scene.sandbox, 1);
    const run = await scene.fleet(['bicycles', 'act', uuid, 'retire', '--plan', scene.plan]);
    expect([run.code, readFileSync(scene.plan, 'utf8')]).toEqual([2, 'mine']);
    expect(run.stderr).toContain('already exists');
  });

  test('prints a command line that can be pasted, also for a path with spaces', async () => {
    const scene = await openScene();
    const plan = join(scene.folder, 'a b.plan');
    const args = ['bicycles', 'act', ...available(scene.sandbox, 1), 'retire', '--plan', plan];
    expect((await scene.fleet(args)).stderr).toContain(`fleet apply '${plan}'`);
  });

  test('writes a plan without targets and says so', async () => {
    const scene = await openScene();
    const run = await scene.fleet(['bicycles', 'act', '-', 'retire', '--plan', scene.plan], {
      stdin: '',
    });
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('has no targets')]);
    const applied = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([applied.code, applied.stderr]).toEqual([
      0,
      expect.stringContaining('nothing is left to do'),
    ]);
  });

  test('leaves out bicycles that the service does not show, and exits with 9', async () => {
    const scene = await openScene();
    const [uuid = ''] = available(scene.sandbox, 1);
    const missing = '00000000-0000-4000-8000-000000000000';
    const run = await scene.fleet([
      'bicycles',
      'act',
      uuid,
      missing,
      'retire',
      '--plan',
      scene.plan,
    ]);
    expect([run.code, run.stderr]).toEqual([9, expect.stringContaining('1 bicycle not found')]);
    expect(jsonLines(readFileSync(scene.plan, 'utf8'))).toHaveLength(3);
  });

  test.each([
    [['--dry-run'], '--plan and --dry-run cannot be used together'],
    [['--journal', 'x.jsonl'], '--plan sends nothing and needs no journal'],
  ])('refuses %j beside it', async (flags, message) => {
    const scene = await openScene();
    const [uuid = ''] = available(scene.sandbox, 1);
    const run = await scene.fleet([
      'bicycles',
      'act',
      uuid,
      'retire',
      '--plan',
      scene.plan,
      ...flags,
    ]);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(existsSync(scene.plan)).toBe(false);
  });
});

describe('fleet apply', () => {
  test('carries a plan out once, also when a copy of its file is applied', async () => {
    const scene = await openScene();
    const uuids = await planMaintenance(scene, 3);
    const first = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('3 done')]);
    for (const uuid of uuids) expect(stateOf(scene.sandbox, uuid)).toBe('in_maintenance');
    // The bicycles return to the planned state.
    for (const uuid of uuids) scene.sandbox.act(uuid, 'declare_available');
    const copy = join(scene.folder, 'copy.plan');
    copyFileSync(scene.plan, copy);
    for (const path of [scene.plan, copy]) {
      const again = await scene.fleet(['apply', path, '--yes']);
      expect([again.code, again.stderr]).toEqual([
        0,
        expect.stringContaining('nothing is left to do'),
      ]);
    }
    expect(scene.posts()).toHaveLength(3);
  });

  test('does not record where a plan was applied after --dry-run', async () => {
    const scene = await openScene();
    await planMaintenance(scene, 1);
    const copy = join(newFolder(), 'copy.plan');
    copyFileSync(scene.plan, copy);
    await scene.fleet(['apply', copy, '--dry-run']);
    const run = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringContaining('was applied as')]);
    expect(existsSync(`${scene.plan}.journal`)).toBe(true);
  });

  test('refuses a plan on stdin, next to which no journal can be kept', async () => {
    const scene = await openScene();
    await planMaintenance(scene, 1);
    const stdin = readFileSync(scene.plan, 'utf8');
    expect((await scene.fleet(['apply', '-', '--yes'], { stdin })).code).toBe(2);
    expect(scene.posts()).toEqual([]);
  });

  test('recognises a copy on another machine by the history of the service', async () => {
    const scene = await openScene();
    const uuids = await planMaintenance(scene, 2);
    await scene.fleet(['apply', scene.plan, '--yes']);
    for (const uuid of uuids) scene.sandbox.act(uuid, 'declare_available');
    const copy = join(newFolder(), 'copy.plan');
    copyFileSync(scene.plan, copy);
    const other = await scene.fleet(['apply', copy, '--yes'], {
      env: { XDG_STATE_HOME: newFolder() },
    });
    expect([other.code, other.stdout]).toEqual([
      9,
      expect.stringContaining("the service's history shows put_in_maintenance"),
    ]);
    expect(scene.posts()).toHaveLength(2);
  });

  test('leaves out targets that changed or are gone, as rows of the result', async () => {
    const scene = await openScene();
    const [lost = '', gone = '', rest = ''] = await planMaintenance(scene, 3);
    scene.sandbox.act(lost, 'declare_lost');
    const headers = await headersFor(scene.sandbox);
    await fetch(new URL(`/bicycles/${gone}/`, scene.sandbox.baseUrl), {
      method: 'DELETE',
      headers,
    });
    const run = await scene.fleet(['apply', scene.plan, '--yes', '--json']);
    expect(run.code).toBe(9);
    const outcomes = Object.fromEntries(
      jsonLines(run.stdout).map(({ uuid, outcome }) => [uuid, outcome]),
    );
    expect(outcomes).toEqual({ [lost]: 'changed', [gone]: 'gone', [rest]: 'done' });
    expect(scene.posts()).toEqual([`POST /bicycles/${rest}/actions/`]);
  });

  test('shows the plan as a table with --dry-run, and marks the targets that changed', async () => {
    const scene = await openScene();
    const [lost = '', ready = ''] = await planMaintenance(scene, 2);
    scene.sandbox.act(lost, 'declare_lost');
    const run = await scene.fleet(['apply', scene.plan, '--dry-run', '--json']);
    expect(run.code).toBe(9);
    expect(JSON.parse(run.stdout)).toEqual([
      expect.objectContaining({
        uuid: lost,
        planned: 'available',
        now: 'lost',
        verdict: 'changed',
      }),
      expect.objectContaining({ uuid: ready, change: 'put_in_maintenance', verdict: 'ready' }),
    ]);
    expect(scene.posts()).toEqual([]);
  });

  test('asks, and needs --yes without a terminal', async () => {
    const scene = await openScene();
    await planMaintenance(scene, 2);
    const run = await scene.fleet(['apply', scene.plan]);
    expect([run.code, run.stderr]).toEqual([
      2,
      expect.stringContaining('cannot ask without a terminal'),
    ]);
    expect(scene.posts()).toEqual([]);
  });

  test.each<[string, (text: string) => string, string]>([
    ['an edited plan', (text) => text.replace('put_in_maintenance', 'retire'), 'was edited'],
    ['a plan without its end', (text) => text.slice(0, text.lastIndexOf('{')), 'is not complete'],
    ['a newer format', (text) => text.replace('"format":1', '"format":2'), 'has format 2'],
    ['another file', () => 'uuid\nx\n', 'is not a plan'],
  ])('refuses %s', async (_what, change, message) => {
    const scene = await openScene();
    await planMaintenance(scene, 2);
    writeFileSync(scene.plan, change(readFileSync(scene.plan, 'utf8')));
    const run = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(scene.posts()).toEqual([]);
  });

  test('refuses a plan of another service or organization, and one that is too old', async () => {
    const scene = await openScene();
    await planMaintenance(scene, 2);
    const other = await openSandbox({ bicycles: 5 });
    const organization = scene.sandbox.organizations[1]?.uuid;
    for (const [args, env, message] of [
      [[], await environmentOf(other), 'belongs to http'],
      [[], { FLEET_ORGANIZATION: organization }, 'belongs to organization'],
      [['--max-age', '1ms'], {}, 'old, and --max-age is 1 ms'],
    ] as const) {
      if (args.length > 0) await new Promise((resolve) => setTimeout(resolve, 1_100));
      const run = await scene.fleet(['apply', scene.plan, '--yes', ...args], { env });
      expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)]);
    }
    expect(scene.posts()).toEqual([]);
  });

  test('edits only where each planned field has its old value', async () => {
    const scene = await openScene();
    const [first = '', second = ''] = available(scene.sandbox, 2);
    const rows = `uuid,note\n${first},planned\n${second},planned\n`;
    await scene.fleet(['bicycles', 'edit', '-', '--plan', scene.plan], { stdin: rows });
    scene.sandbox.changeBicycle(first, { note: 'by another user' });
    const run = await scene.fleet(['apply', scene.plan, '--yes', '--json']);
    expect(run.code).toBe(9);
    expect(
      jsonLines(run.stdout)
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['changed', 'done']);
    expect(scene.sandbox.bicycle(first)?.note).toBe('by another user');
    expect(scene.sandbox.bicycle(second)?.note).toBe('planned');
  });

  test('creates only what does not exist yet', async () => {
    const scene = await openScene();
    const rows = 'name\nPlanned one\nPlanned two\n';
    await scene.fleet(['bicycles', 'create', '--from', '-', '--plan', scene.plan], { stdin: rows });
    await scene.fleet(['bicycles', 'create', '--name', ' planned ONE ']);
    const shown = await scene.fleet(['apply', scene.plan, '--dry-run', '--json']);
    expect(shown.code).toBe(9);
    expect(JSON.parse(shown.stdout).map(({ verdict }: { verdict: string }) => verdict)).toEqual([
      'changed',
      'ready',
    ]);
    const run = await scene.fleet(['apply', scene.plan, '--yes', '--json']);
    expect(run.code).toBe(9);
    expect(jsonLines(run.stdout).map(({ outcome }) => outcome)).toEqual(['changed', 'done']);
  });

  test('acts on alerts', async () => {
    const scene = await openScene();
    const [uuid = ''] = available(scene.sandbox, 1);
    const alert = scene.sandbox.raiseAlert(uuid, 'lock.shutdown');
    await scene.fleet(['alerts', 'act', alert.uuid, 'resolve', '--plan', scene.plan]);
    const run = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('1 done')]);
  });
});

/** Writes a plan with a correct checksum, as another program could. */
function writeForeignPlan(path: string, header: object, lines: readonly string[]): void {
  const text = [JSON.stringify(header), ...lines].map((line) => `${line}\n`).join('');
  const sum = createHash('sha256').update(text).digest('hex');
  writeFileSync(path, `${text}${JSON.stringify({ checksum: `sha256:${sum}` })}\n`);
}

describe('a plan of another program', () => {
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
  ])('is refused with exit code 2: %s', async (_what, lines, message) => {
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

describe('fleet apply in hostile cases', () => {
  test('does not report a target as done when it changes between the reading and the request', async () => {
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

  test('two runs side by side send every request once', async () => {
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

  test('measures the age of a plan by the clock of the service', async () => {
    const scene = await openScene();
    await planMaintenance(scene, 2);
    const DAY_MS = 86_400_000;
    const clock = systemClock(() => Date.now() + 2 * DAY_MS);
    const run = await scene.fleet(['apply', scene.plan, '--yes'], { clock });
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('2 done')]);
  });

  test.each(['observed', 'interface'] as const)(
    'works with the service %s, which may have no history and no versions',
    async (service) => {
      const scene = await openScene({ service });
      const [rented = '', ready = ''] = await planChange(scene, 2, 'declare_lost');
      scene.sandbox.act(rented, 'rent');
      const run = await scene.fleet(['apply', scene.plan, '--yes', '--json']);
      const outcomes = jsonLines(run.stdout).map(({ uuid, outcome }) => [uuid, outcome]);
      expect(Object.fromEntries(outcomes)).toEqual({ [rented]: 'changed', [ready]: 'done' });
      const again = await scene.fleet(['apply', scene.plan, '--yes', '--json']);
      expect(
        jsonLines(again.stdout)
          .map(({ outcome }) => outcome)
          .sort(),
      ).toEqual(['changed', 'skipped']);
    },
  );

  test('recognises an edit that the service trimmed', async () => {
    const scene = await openScene({ faults: [{ kind: 'trim' }] });
    const [uuid = ''] = available(scene.sandbox, 1);
    const rows = `${JSON.stringify({ uuid, note: ' trimmed ' })}\n`;
    await scene.fleet(['bicycles', 'edit', '-', '--plan', scene.plan], { stdin: rows });
    const run = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('1 done')]);
    const again = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([again.code, scene.posts().length]).toEqual([0, 1]);
  });

  test('does not act on a bicycle that came back under the same name', async () => {
    const scene = await openScene();
    const [uuid = ''] = await planMaintenance(scene, 1);
    const name = scene.sandbox.bicycle(uuid)?.name ?? '';
    const headers = await headersFor(scene.sandbox);
    await fetch(new URL(`/bicycles/${uuid}/`, scene.sandbox.baseUrl), {
      method: 'DELETE',
      headers,
    });
    await scene.fleet(['bicycles', 'create', '--name', name]);
    const sent = scene.posts().length;
    const run = await scene.fleet(['apply', scene.plan, '--yes', '--json']);
    expect([run.code, jsonLines(run.stdout)[0]?.['outcome']]).toEqual([9, 'gone']);
    expect(scene.posts()).toHaveLength(sent);
  });
});

describe('fleet journal undo', () => {
  async function runMaintenance(scene: Scene, count: number) {
    const uuids = available(scene.sandbox, count);
    const journal = join(scene.folder, 'run.jsonl');
    const run = await scene.fleet([
      ...['bicycles', 'act', ...uuids, 'put_in_maintenance', '--yes', '--journal', journal],
    ]);
    expect(run.code).toBe(0);
    return { uuids, journal };
  }

  test('`journal undo` brings bicycles back, and its own run can be undone', async () => {
    const scene = await openScene();
    const { uuids, journal } = await runMaintenance(scene, 3);
    for (const [path, state] of [
      [journal, 'available'],
      [`${journal}.undo`, 'in_maintenance'],
    ] as const) {
      const run = await scene.fleet(['journal', 'undo', path, '--yes']);
      expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('3 done')]);
      for (const uuid of uuids) expect(stateOf(scene.sandbox, uuid)).toBe(state);
    }
  });

  test('leaves out bicycles that changed since the run', async () => {
    const scene = await openScene();
    const { uuids, journal } = await runMaintenance(scene, 3);
    const [lost = '', back = '', rest = ''] = uuids;
    scene.sandbox.act(lost, 'declare_lost');
    // The bicycle has the same state as after the run, but another user changed it in between.
    scene.sandbox.act(back, 'declare_available');
    scene.sandbox.act(back, 'put_in_maintenance');
    const run = await scene.fleet(['journal', 'undo', journal, '--yes', '--json']);
    const outcomes = Object.fromEntries(
      jsonLines(run.stdout).map(({ uuid, outcome }) => [uuid, outcome]),
    );
    expect([run.code, outcomes]).toEqual([
      9,
      { [lost]: 'changed', [back]: 'changed', [rest]: 'done' },
    ]);
    expect(stateOf(scene.sandbox, lost)).toBe('lost');
  });

  test('lists what cannot be undone with its reason, and exits with 9', async () => {
    const scene = await openScene();
    const [uuid = ''] = available(scene.sandbox, 1);
    const journal = join(scene.folder, 'run.jsonl');
    scene.sandbox.act(uuid, 'put_in_maintenance');
    scene.sandbox.changeBicycle(uuid, { lock: null });
    const retired = await scene.fleet([
      'bicycles',
      'act',
      uuid,
      'retire',
      '--yes',
      '--journal',
      journal,
    ]);
    expect(retired.code).toBe(0);
    const sent = scene.posts().length;
    const run = await scene.fleet(['journal', 'undo', journal, '--yes']);
    expect(run.code).toBe(9);
    expect(run.stderr).toContain(
      'no single transition undoes retire of a bicycle that was in_maintenance',
    );
    expect(scene.posts()).toHaveLength(sent);
  });

  test('restores edits field by field', async () => {
    const scene = await openScene();
    const [uuid = ''] = available(scene.sandbox, 1);
    scene.sandbox.changeBicycle(uuid, { note: 'old note', description: 'old text' });
    const journal = join(scene.folder, 'edit.jsonl');
    const rows = `uuid,note,description\n${uuid},new note,new text\n`;
    await scene.fleet(['bicycles', 'edit', '-', '--yes', '--journal', journal], { stdin: rows });
    scene.sandbox.changeBicycle(uuid, { description: 'by another user' });
    const run = await scene.fleet(['journal', 'undo', journal, '--yes']);
    expect([run.code, run.stderr]).toEqual([
      9,
      expect.stringContaining('description was changed since the run'),
    ]);
    expect(scene.sandbox.bicycle(uuid)).toMatchObject({
      note: 'old note',
      description: 'by another user',
    });
  });

  test('writes a plan, and cannot undo creations', async () => {
    const scene = await openScene();
    const { uuids, journal } = await runMaintenance(scene, 2);
    await scene.fleet(['journal', 'undo', journal, '--plan', scene.plan]);
    const applied = await scene.fleet(['apply', scene.plan, '--yes']);
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('2 done')]);
    for (const uuid of uuids) expect(stateOf(scene.sandbox, uuid)).toBe('available');
    const created = join(scene.folder, 'create.jsonl');
    await scene.fleet(['bicycles', 'create', '--from', '-', '--journal', created], {
      stdin: 'name\nOne more\n',
    });
    const run = await scene.fleet(['journal', 'undo', created, '--yes']);
    expect([run.code, run.stderr]).toEqual([
      9,
      expect.stringContaining('a creation cannot be undone'),
    ]);
  });
});
