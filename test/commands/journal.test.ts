// Tests runs that are resumed with a journal: done bicycles are skipped, unknown outcomes are
// decided by evidence after --settle. The transcripts in test/transcripts/journal show simple cases.

import { EventEmitter } from 'node:events';
import { rmSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { personOfToken } from '../../src/bulk/evidence.js';
import { lineOf } from '../../src/bulk/journal-records.js';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { DEAD_RUN, leaveJournal, numbered, readJournal, withJournal } from '../support/journal.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { inState, withSandbox } from '../support/sandbox.js';
import { sendJson, sendPage, withServer } from '../support/server.js';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';

interface Result {
  uuid: string;
  outcome: string;
  state: string | null;
  message: string | null;
}

async function act(sandbox: Sandbox, args: readonly string[], options: RunOptions = {}) {
  const env = { ...(await environmentOf(sandbox)), ...options.env };
  const run = await runFleet(['bicycles', 'act', ...args, '--json'], {
    clock: openQuickClock(),
    ...options,
    env,
  });
  // The progress line is erased before a result is written.
  const results = run.stdout
    .replaceAll('\r\u001b[K', '')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Result);
  return {
    ...run,
    results,
    outcomes: Object.fromEntries(results.map(({ uuid, outcome }) => [uuid, outcome])),
  };
}

function posts(sandbox: Sandbox): number {
  return sandbox.requests.filter(({ method }) => method === 'POST').length;
}

/**
 * Writes the journal of a run that was killed before it sent these requests. Nothing changed in the
 * minute before.
 */
async function leave(
  sandbox: Sandbox,
  path: string,
  sending: Parameters<typeof leaveJournal>[1]['sending'],
) {
  const binding = { base_url: sandbox.baseUrl, transition: 'reserve' };
  const date = new Date(Date.now() - 1000).toISOString().replace(/\.\d+Z/, 'Z');
  const user = [personOfToken(await sandbox.token())];
  await leaveJournal(path, { binding, start: { newest: newestOf(sandbox), date, user }, sending });
}

/** Simulates the late arrival of a request of a dead run. */
async function arrive(sandbox: Sandbox, uuid: string, type: string): Promise<void> {
  const headers = {
    authorization: `JWT ${await sandbox.token()}`,
    accept: 'application/json; version=1.0',
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ type });
  const answer = await fetch(`${sandbox.baseUrl}/bicycles/${uuid}/actions/`, {
    method: 'POST',
    headers,
    body,
  });
  expect(answer.ok).toBe(true);
}

function newestOf(sandbox: Sandbox): string {
  return sandbox
    .bicycles()
    .map(({ modified }) => modified)
    .sort()
    .at(-1) as string;
}

/** The bicycle as it was in the input of the dead run. */
function asBefore(sandbox: Sandbox, uuid: string) {
  return { key: uuid, before: { state: sandbox.bicycle(uuid)?.state ?? null, version: null } };
}

/** Starts a service and names a path for a journal. */
const withRun = (options: SandboxOptions, use: (sandbox: Sandbox, path: string) => Promise<void>) =>
  withSandbox(options, (sandbox) => withJournal((path) => use(sandbox, path)));

describe.concurrent('a second run with the same journal', () => {
  test('resumes a run that was stopped by Ctrl-C', async () => {
    await withRun(
      { bicycles: 200, faults: [{ kind: 'latency', milliseconds: 20 }] },
      async (sandbox, path) => {
        const uuids = inState(sandbox, 'available', 60);
        const args = [...uuids, 'reserve', '--yes', '--journal', path];
        const signals = new EventEmitter();
        const running = act(sandbox, args, { signals, clock: openQuickClock(0.1) });
        while (posts(sandbox) < 20) await new Promise((resolve) => setTimeout(resolve, 2));
        signals.emit('SIGINT');
        const first = await running;
        expect(first.code).toBe(130);
        expect(first.results.filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
        const { code, results, stderr } = await act(sandbox, args, { clock: openQuickClock(0.1) });
        const open = results.filter(({ outcome }) => outcome !== 'done' && outcome !== 'skipped');
        expect({ code, open, stderr: code === 0 || stderr }).toEqual({
          code: 0,
          open: [],
          stderr: true,
        });
        for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
      },
    );
  });

  test('after lost connections, marks bicycles in the target state as done', async () => {
    // A service without a history of transitions.
    const service = {
      service: 'interface',
      bicycles: 200,
      faults: [{ kind: 'cut', share: 0.2 }],
    } as const;
    await withRun({ ...service, faults: [...service.faults] }, async (sandbox, path) => {
      const uuids = inState(sandbox, 'available', 60);
      const stdin = uuids.map((uuid) => JSON.stringify(sandbox.bicycle(uuid))).join('\n');
      const args = ['-', 'reserve', '--yes', '--journal', path];
      expect((await act(sandbox, args, { stdin })).code).toBe(9);
      sandbox.setFaults([]);
      const second = await act(sandbox, args, { stdin });
      expect(second.stderr).toContain(' done; 0 not done, sent now; 0 still unknown');
      expect(second.code).toBe(0);
      for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
    });
  });

  test('after a 503, sends only the changes that were not carried out', async () => {
    await withRun(
      { bicycles: 200, faults: [{ kind: 'error', status: 503, share: 0.1 }] },
      async (sandbox, path) => {
        const uuids = inState(sandbox, 'available', 60);
        const args = [...uuids, 'reserve', '--yes', '--journal', path];
        const codes: number[] = [];
        do codes.push((await act(sandbox, args)).code);
        while (codes.at(-1) !== 0 && codes.length < 10);
        expect(codes.at(-1)).toBe(0);
        expect(codes.length).toBeGreaterThan(1);
        for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
      },
    );
  });

  test('after a kill, sends only the changes that were not carried out', async () => {
    await withRun({ bicycles: 100 }, async (sandbox, path) => {
      const [untouched = '', carriedOut = '', fresh = ''] = inState(sandbox, 'available', 3);
      await leave(sandbox, path, [untouched, asBefore(sandbox, carriedOut)]);
      await arrive(sandbox, carriedOut, 'reserve');
      const args = [untouched, carriedOut, fresh, 'reserve', '--yes', '--journal', path];
      const { code, outcomes, stderr } = await act(sandbox, args);
      expect(stderr).toContain(
        'an earlier run got no answer to 2 requests; 1 done; 1 not done, sent now; 0 still unknown',
      );
      expect([code, outcomes]).toEqual([
        0,
        { [untouched]: 'done', [carriedOut]: 'done', [fresh]: 'done' },
      ]);
      expect([untouched, carriedOut, fresh].map((uuid) => sandbox.actionCount(uuid))).toEqual([
        1, 1, 1,
      ]);
    });
  });

  test.each(['reserve', 'return'])(
    'marks a %s that arrived in the first second of the run as done when the state before was different',
    async (transition) => {
      await withRun({ bicycles: 100 }, async (sandbox, path) => {
        const state = transition === 'return' ? 'rented' : 'available';
        const [uuid = '', fresh = ''] = inState(sandbox, 'available', 2);
        if (transition === 'return') {
          await arrive(sandbox, uuid, 'rent');
          await arrive(sandbox, fresh, 'rent');
        }
        // Wait for the start of a second, so that everything happens within it.
        await new Promise((resolve) => setTimeout(resolve, 1005 - (Date.now() % 1000)));
        const date = new Date().toISOString().replace(/\.\d+Z/, 'Z');
        const user = [personOfToken(await sandbox.token())];
        await leaveJournal(path, {
          binding: { base_url: sandbox.baseUrl, transition },
          start: { newest: newestOf(sandbox), date, user },
          sending: [{ key: uuid, before: { state, version: null } }],
        });
        await arrive(sandbox, uuid, transition);
        const args = [uuid, fresh, transition, '--yes', '--journal', path];
        const { code, outcomes, stderr } = await act(sandbox, args);
        expect({ code, outcomes, stderr: code === 0 || stderr }).toEqual({
          code: 0,
          outcomes: { [uuid]: 'done', [fresh]: 'done' },
          stderr: true,
        });
        expect(sandbox.actionCount(uuid)).toBe(transition === 'return' ? 2 : 1);
      });
    },
  );

  test('does not mark an unanswered request as done only because the state matches', async () => {
    await withRun({ bicycles: 100 }, async (sandbox, path) => {
      const [lost = '', fresh = ''] = inState(sandbox, 'in_maintenance', 2);
      const binding = { base_url: sandbox.baseUrl, transition: 'take_over' };
      const start = { newest: newestOf(sandbox), date: '2026-01-01T00:00:00Z' };
      await leaveJournal(path, { binding, start, sending: [lost] });
      sandbox.changeBicycle(lost, { latitude: 52.5 });
      const { code, outcomes } = await act(sandbox, [
        lost,
        fresh,
        'take_over',
        '--yes',
        '--journal',
        path,
      ]);
      expect({ code, outcomes }).toEqual({
        code: 9,
        outcomes: { [lost]: 'unknown', [fresh]: 'done' },
      });
      expect(sandbox.actionCount(lost)).toBe(0);
    });
  });

  test.each([
    ['leave', 9, 'unknown', 0],
    ['done', 0, 'done', 0],
    ['resend', 0, 'done', 1],
  ])('resolves unknown outcomes with --unknown %s', async (choice, code, outcome, count) => {
    await withRun({ bicycles: 100 }, async (sandbox, path) => {
      const [moved = '', fresh = ''] = inState(sandbox, 'available', 2);
      await leave(sandbox, path, [moved]);
      sandbox.changeBicycle(moved, { name: 'touched' });
      const args = [moved, fresh, 'reserve', '--yes', '--journal', path];
      const run = await act(sandbox, [...args, '--unknown', choice]);
      expect([run.code, run.outcomes]).toEqual([code, { [moved]: outcome, [fresh]: 'done' }]);
      expect(sandbox.actionCount(moved)).toBe(count);
      if (choice === 'done')
        expect((await act(sandbox, args)).outcomes).toMatchObject({ [moved]: 'skipped' });
    });
  });

  test.each([
    ['y', 0, 1],
    ['n', 9, 0],
  ])('asks about unknown outcomes on a terminal: %s', async (key, code, count) => {
    await withRun({ bicycles: 100 }, async (sandbox, path) => {
      const [moved = '', fresh = ''] = inState(sandbox, 'available', 2);
      await leave(sandbox, path, [moved]);
      sandbox.changeBicycle(moved, { name: 'touched' });
      const stdin = new PassThrough();
      let said = '';
      const running = act(sandbox, [moved, fresh, 'reserve', '--yes', '--journal', path], {
        stdin,
        terminal: { columns: 300 },
        onStderr: (text) => (said += text),
      });
      while (!said.includes('again?')) await new Promise((resolve) => setTimeout(resolve, 5));
      const asked = said;
      // The progress line appears after half a second.
      await new Promise((resolve) => setTimeout(resolve, 700));
      // A slow disk of the machine may add its notice.
      expect(said.slice(asked.length)).not.toContain(' left');
      stdin.write(key);
      stdin.write('\r');
      expect((await running).code).toBe(code);
      expect(said).toContain(
        `it is uncertain whether a change was done before (touched is available); send reserve again?`,
      );
      expect(sandbox.actionCount(moved)).toBe(count);
    });
  });

  test('does not use a state accepted with `--unknown done` as evidence', async () => {
    await withRun({ service: 'interface', bicycles: 100 }, async (sandbox, path) => {
      const [settled = '', moved = ''] = inState(sandbox, 'available', 2);
      await leave(sandbox, path, [settled, asBefore(sandbox, moved)]);
      const result = {
        outcome: 'done',
        status: null,
        state: 'lost',
        request_id: null,
        milliseconds: null,
        message: '',
      };
      await appendFile(path, lineOf({ answered: settled, run: DEAD_RUN, result, n: 5 }));
      sandbox.changeBicycle(moved, { state: 'lost' });
      const { code, outcomes } = await act(sandbox, [
        settled,
        moved,
        'reserve',
        '--yes',
        '--journal',
        path,
      ]);
      expect({ code, outcomes }).toEqual({
        code: 9,
        outcomes: { [settled]: 'skipped', [moved]: 'unknown' },
      });
    });
  });

  test('requests the history only of bicycles with an uncertain outcome', async () => {
    for (const hasHistory of [true, false]) {
      let sent = 0;
      await withServer(
        (response, { method, path }) => {
          if (method === 'POST') {
            sent += 1;
            return sendJson(response, 200, { state: 'rented' });
          }
          if (path.includes('/transitions/')) {
            if (!hasHistory) return sendJson(response, 405, { detail: 'Method not allowed' });
            const by = { transition: 'rent', by: 'me@x.org' };
            return sendPage(response, [
              { timestamp: new Date().toISOString(), state: 'rented', ...by },
            ]);
          }
          if (path === '/me/') return sendJson(response, 200, { id: 5, email: 'me@x.org' });
          if (!path.startsWith('/bicycles/?ordering=-modified'))
            return sendJson(response, 404, { detail: 'Not found.' });
          sendJson(response, 200, [
            { uuid: A, state: 'rented', modified: new Date().toISOString() },
          ]);
        },
        async ({ url, env, asked }) => {
          await withJournal(async (path) => {
            const user = [{ id: '5', email: 'me@x.org' }];
            const start = { newest: '2026-01-01T00:00:00Z', date: '2026-01-01T00:00:00Z', user };
            await leaveJournal(path, { binding: { base_url: url }, start, sending: [A] });
            const args = [
              'bicycles',
              'act',
              A,
              B,
              'rent',
              '--yes',
              '--journal',
              path,
              '-o',
              'csv',
              '--columns',
            ];
            const { code, stdout } = await runFleet([...args, 'uuid,outcome'], {
              env,
              clock: openQuickClock(),
            });
            expect(stdout).toBe(
              `uuid,outcome\n${B},done\n${A},${hasHistory ? 'done' : 'unknown'}\n`,
            );
            expect({ code, sent }).toEqual({ code: hasHistory ? 0 : 9, sent: 1 });
            expect(asked.filter((one) => one.method === 'GET' && one.path.includes(B))).toEqual([]);
          });
        },
      );
    }
  });

  test('waits for the full --settle time before resolving unanswered requests', async () => {
    await withRun({ bicycles: 60 }, async (sandbox, path) => {
      const [late = '', fresh = ''] = inState(sandbox, 'available', 2);
      await leave(sandbox, path, [asBefore(sandbox, late)]);
      // The clock of the machine is an hour ahead at the resume, and the request of the dead run comes late.
      const clock = { ...openQuickClock(5), wallMs: () => Date.now() + 3_600_000 };
      const stderr: string[] = [];
      const running = act(
        sandbox,
        [late, fresh, 'reserve', '--yes', '--journal', path, '--settle', '50'],
        {
          clock,
          terminal: { columns: 200 },
          onStderr: (text) => stderr.push(text),
        },
      );
      await expect.poll(() => stderr.join('')).toContain('(--settle)');
      expect(sandbox.actionCount(fresh)).toBe(1);
      await arrive(sandbox, late, 'reserve');
      expect((await running).outcomes).toEqual({ [late]: 'done', [fresh]: 'done' });
      expect(sandbox.actionCount(late)).toBe(1);
      expect(stderr.join('')).toMatch(
        /1 request of an earlier run may still arrive; waiting \d+ s \(--settle\)/,
      );
    });
  });

  test('stops waiting when the journal is deleted', async () => {
    await withRun({ bicycles: 60 }, async (sandbox, path) => {
      const [late = '', fresh = ''] = inState(sandbox, 'available', 2);
      await leave(sandbox, path, [asBefore(sandbox, late)]);
      let isGone = false;
      const running = act(
        sandbox,
        [late, fresh, 'reserve', '--yes', '--journal', path, '--settle', '4000'],
        {
          clock: openQuickClock(5),
          onStderr: (text) => {
            if (!text.includes('(--settle)')) return;
            isGone = true;
            rmSync(path);
          },
        },
      );
      const patience = new Promise((resolve) =>
        setTimeout(resolve, 30_000, 'still waiting').unref(),
      );
      expect(await Promise.race([running, patience])).toMatchObject({
        code: 10,
        outcomes: { [late]: 'unknown', [fresh]: 'done' },
      });
      expect(isGone).toBe(true);
    });
  });

  test('a run sends no further requests after another run took over', async () => {
    await withJournal(async (path) => {
      await withServer(
        async (response, { method }) => {
          if (method === 'GET') return sendJson(response, 200, []);
          const { holder } = readJournal(await readFile(path), path);
          await appendFile(
            path,
            `\n${lineOf({ claim: 'other', over: holder?.id, beat_ms: 1500, n: 1 })}`,
          );
          sendJson(response, 429, {});
        },
        async ({ env, asked }) => {
          const args = [
            'bicycles',
            'act',
            A,
            B,
            'rent',
            '--yes',
            '--journal',
            path,
            '--json',
            '--concurrency',
            '1',
          ];
          const { code, stdout, stderr } = await runFleet(args, { env });
          expect(stdout.match(/"outcome":"not-sent"/g)).toHaveLength(2);
          expect(stderr).toContain('was taken over by another run');
          expect({ code, posts: asked.filter(({ method }) => method === 'POST').length }).toEqual({
            code: 10,
            posts: 1,
          });
        },
      );
    });
  });

  test('does not repeat a change when the service answers later than --timeout', async () => {
    const acted = new Map<string, number>();
    await withServer(
      (response, { method, path }) => {
        if (method === 'GET') {
          const bicycles = [A, B].map((uuid) => ({
            uuid,
            state: acted.has(uuid) ? 'rented' : 'available',
            modified: `2026-01-01T00:00:0${acted.get(uuid) ?? 0}.000Z`,
          }));
          return path.startsWith('/bicycles/?')
            ? sendJson(response, 200, bicycles)
            : sendJson(response, 404, {});
        }
        const uuid = path.split('/')[2] ?? '';
        setTimeout(() => {
          acted.set(uuid, (acted.get(uuid) ?? 0) + 1);
          if (!response.destroyed) sendJson(response, 200, { uuid, state: 'rented' });
        }, 1800);
      },
      async ({ env }) => {
        await withJournal(async (path) => {
          const stdin = [A, B]
            .map((uuid) => JSON.stringify({ uuid, state: 'available' }))
            .join('\n');
          const args =
            `bicycles act - rent --yes --journal ${path} --timeout 1 --retries 0 --settle 30`.split(
              ' ',
            );
          expect((await runFleet(args, { env, stdin, clock: openQuickClock(5) })).code).toBe(9);
          const { code } = await runFleet(args, { env, stdin, clock: openQuickClock(30) });
          expect(code).toBe(0);
          expect(Object.fromEntries(acted)).toEqual({ [A]: 1, [B]: 1 });
        });
      },
    );
  });

  test('--dry-run prints the remaining requests of a resumed run', async () => {
    await withRun({ bicycles: 60 }, async (sandbox, path) => {
      const [done = '', left = '', doubt = ''] = inState(sandbox, 'available', 3);
      await act(sandbox, [done, 'reserve', '--journal', path]);
      const claim = { claim: 'r', over: null, pid: 1, host: 'h', beat_ms: 1500 };
      await appendFile(path, numbered([claim, { sending: doubt, run: 'r' }]).join(''));
      const before = await readFile(path, 'utf8');
      const { stdout, stderr } = await act(sandbox, [
        done,
        left,
        doubt,
        'reserve',
        '--dry-run',
        '--journal',
        path,
      ]);
      expect(stdout.trim().split('\n')).toHaveLength(1);
      expect(stdout).toContain(left);
      expect(stderr).toContain(
        'dry run: 1 request, nothing was sent; 1 without an answer from an earlier run would be checked',
      );
      expect(await readFile(path, 'utf8')).toBe(before);
    });
  });
});
