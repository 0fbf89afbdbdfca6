// The journal of bulk runs: any beginning of one is usable, a wrong reuse is refused, and what is in doubt is looked up.

import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, readFile, symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openJournal, readJournal } from '../../src/commands/bicycles/bulk/journal.js';
import { isCertainlyNotLater } from '../../src/commands/bicycles/bulk/look-up.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { OUTCOMES } from '../../src/views/action.js';
import { environmentOf } from '../support/environment.js';
import { withJournal } from '../support/journal.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { withSandbox } from '../support/sandbox.js';
import { sendJson, withServer } from '../support/server.js';

const BINDING = {
  command: 'bicycles act',
  profile: 'default',
  base_url: 'http://x/',
  transition: 'rent',
  fields: '[]',
};
const HEADER = `${JSON.stringify({ fleet_journal: 1, ...BINDING })}\n`;
const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';

describe('reading', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'Žofie 🚲');
  const facts = fc.record({
    outcome: fc.constantFrom(...OUTCOMES),
    status: fc.option(fc.integer({ min: 200, max: 599 })),
    state: fc.option(fc.string()),
    request_id: fc.option(fc.string()),
    milliseconds: fc.option(fc.nat()),
    message: fc.option(fc.string({ unit: 'binary' })),
  });
  const record = fc.oneof(
    fc.record({ run: fc.constant(1), newest: fc.option(fc.constant('2026-01-01T00:00:00Z')), at: fc.nat() }),
    fc.record({ sending: key, at: fc.nat() }),
    fc.record({ answered: key, facts, at: fc.nat() }),
  );

  test('any beginning of a journal is usable, and says what its whole lines say', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), fc.nat(), (records, at) => {
        const lines = [HEADER, ...records.map((one) => `${JSON.stringify(one)}\n`)].map((line) => Buffer.from(line));
        const whole = Buffer.concat(lines);
        const length = at % (whole.length + 1);
        const read = readJournal(whole.subarray(0, length), 'j');
        let bytes = 0;
        let count = 0;
        for (const line of lines) {
          if (bytes + line.length > length) break;
          bytes += line.length;
          count += 1;
        }
        expect(read.bytes).toBe(bytes);
        expect(read.binding === undefined).toBe(count === 0);
        const expected = new Map<string, unknown>();
        for (const one of records.slice(0, Math.max(0, count - 1))) {
          if ('sending' in one) expected.set(one.sending, undefined);
          if ('answered' in one) expected.set(one.answered, one.facts);
        }
        expect(new Map([...read.entries].map(([name, entry]) => [name, entry.facts]))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  test('rubbish behind the last whole line counts for nothing, inside it is damage', () => {
    const good = `${HEADER}{"sending":"a","at":1}\n`;
    for (const rubbish of ['\0\0\0\0', '{"answ', '\0\0\n', 'x\n']) {
      const read = readJournal(Buffer.from(good + rubbish), 'j');
      expect([read.bytes, [...read.entries.keys()]]).toEqual([good.length, ['a']]);
    }
    expect(() => readJournal(Buffer.from(`${good}x\n{"sending":"b","at":1}\n`), 'j')).toThrow('line 3 of the journal');
  });

  test.each(['{"a":1}\n', 'uuid\n', 'hello', '{"fleet_journal":2}\n'])('%j is no journal', (text) => {
    expect(() => readJournal(Buffer.from(text), 'j')).toThrow('j is no journal of fleet, and is left as it is');
  });

  test('which moment is certainly not later, to the last digit', () => {
    const cases = [
      ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.123457Z', true],
      ['2026-01-01T00:00:00.123457Z', '2026-01-01T00:00:00.123456Z', false],
      ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.123456Z', true],
      ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.123Z', true],
      // Within one second nothing is certain where one of them has no decimals.
      ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', false],
      ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.900Z', false],
      ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z', true],
      ['2026-01-01T00:00:01Z', '2026-01-01T00:00:00.999Z', false],
      ['2026-01-01T01:00:00+02:00', '2026-01-01T00:00:00Z', true],
      ['2026-01-01T00:00:00Z', null, false],
      [null, '2026-01-01T00:00:00Z', false],
      ['yesterday', '2026-01-01T00:00:00Z', false],
    ] as const;
    for (const [moment, other, expected] of cases) expect(isCertainlyNotLater(moment, other)).toBe(expected);
  });
});

describe('opening', () => {
  const facts = {
    outcome: 'done',
    status: 200,
    state: null,
    request_id: null,
    milliseconds: 3,
    message: null,
  } as const;

  test('what is written is on the disk when its promise resolves; a cut line is cut off before more is written', async () => {
    await withJournal(async (path) => {
      const first = await openJournal(path, BINDING, () => 7);
      await Promise.all([
        first.begin({ newest: '2026', timeoutMs: 2000 }),
        first.announce('a'),
        first.announce('b'),
        first.record('a', facts, null),
      ]);
      const lines = (await readFile(path, 'utf8')).trim().split('\n');
      expect(lines.slice(1).map((line) => Object.keys(JSON.parse(line))[0])).toEqual([
        'run',
        'sending',
        'sending',
        'answered',
      ]);
      await first.close();
      await appendFile(path, '{"sendi');
      const second = await openJournal(path, BINDING, () => 7);
      expect([...second.before.entries]).toEqual([
        ['a', { facts, uuid: null, run: { newest: '2026', timeoutMs: 2000 }, isLate: false }],
        ['b', { facts: undefined, uuid: null, run: { newest: '2026', timeoutMs: 2000 }, isLate: false }],
      ]);
      await second.announce('c');
      await second.close();
      expect([...readJournal(await readFile(path), path).entries.keys()]).toEqual(['a', 'b', 'c']);
      expect(existsSync(`${path}.lock`)).toBe(false);
    });
  });

  test('two cannot hold it; a lock of a process that is gone is taken over', async () => {
    await withJournal(async (path) => {
      const first = await openJournal(path, BINDING, Date.now);
      await expect(openJournal(path, BINDING, Date.now)).rejects.toThrow('is in use by another run');
      await first.close();
      const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();
      const gone = [
        { pid: 2 ** 22 + 1, host: hostname(), boot },
        { pid: process.pid, host: hostname(), boot: 'before the restart' },
      ];
      for (const holder of gone) {
        await writeFile(`${path}.lock`, JSON.stringify(holder));
        await (await openJournal(path, BINDING, Date.now)).close();
      }
      for (const text of [JSON.stringify({ pid: 1, host: 'elsewhere', boot }), '']) {
        await writeFile(`${path}.lock`, text);
        await expect(openJournal(path, BINDING, Date.now)).rejects.toThrow('is in use by another run');
      }
    });
  });

  test('of many that find a stale lock one takes it', async () => {
    await withJournal(async (path) => {
      await writeFile(`${path}.lock`, JSON.stringify({ pid: 2 ** 22 + 1, host: hostname(), boot: 'gone' }));
      const tried = await Promise.allSettled(Array.from({ length: 20 }, () => openJournal(path, BINDING, Date.now)));
      const open = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(open).toHaveLength(1);
      await open[0]?.close();
    });
  });
});

interface Result {
  uuid: string;
  outcome: string;
  state: string | null;
  message: string | null;
}

async function act(sandbox: Sandbox, args: readonly string[], options: RunOptions = {}) {
  const env = { ...(await environmentOf(sandbox)), ...options.env };
  // What was under way is given as long as its run would have waited: 30 seconds by default.
  const patience = args.includes('--timeout') ? [] : ['--timeout', '3'];
  const run = await runFleet(['bicycles', 'act', ...args, ...patience, '--json'], { ...options, env });
  const results = run.stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Result);
  return { ...run, results, outcomes: Object.fromEntries(results.map(({ uuid, outcome }) => [uuid, outcome])) };
}

function inState(sandbox: Sandbox, state: string, most: number): string[] {
  return sandbox
    .bicycles()
    .filter((bicycle) => bicycle.state === state)
    .slice(0, most)
    .map(({ uuid }) => uuid);
}

function posts(sandbox: Sandbox): number {
  return sandbox.requests.filter(({ method }) => method === 'POST').length;
}

/** A journal as a killed run leaves it: the service's newest change then, and who was about to be sent. */
async function leaveJournal(sandbox: Sandbox, path: string, sending: readonly string[], newest = newestOf(sandbox)) {
  const header = { fleet_journal: 1, ...BINDING, base_url: `${sandbox.baseUrl}/`, transition: 'reserve' };
  const records = [header, { run: 1, newest, at: 1 }, ...sending.map((uuid) => ({ sending: uuid, at: 1 }))];
  await writeFile(path, records.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

function newestOf(sandbox: Sandbox): string {
  return sandbox
    .bicycles()
    .map(({ modified }) => modified)
    .sort()
    .at(-1) as string;
}

describe('a rerun', () => {
  test('skips what is done, reports what was refused, sends neither', async () => {
    await withSandbox({ bicycles: 60 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [good = '', bad = ''] = [...inState(sandbox, 'available', 1), ...inState(sandbox, 'lost', 1)];
        const args = [good, bad, 'reserve', '--yes', '--journal', path];
        expect((await act(sandbox, args)).outcomes).toEqual({ [good]: 'done', [bad]: 'refused' });
        const before = posts(sandbox);
        const again = await act(sandbox, args);
        expect(again.code).toBe(9);
        expect(again.outcomes).toEqual({ [good]: 'skipped', [bad]: 'refused' });
        expect(again.results.find(({ uuid }) => uuid === bad)?.message).toContain("current state 'lost'");
        expect(posts(sandbox)).toBe(before);
        // Nothing is left to be asked about.
        expect(
          (
            await act(
              sandbox,
              args.filter((word) => word !== '--yes'),
            )
          ).outcomes,
        ).toEqual(again.outcomes);
      });
    });
  });

  test('of one: skipped is a success, refused the refusal', async () => {
    await withSandbox({ bicycles: 60 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [good = ''] = inState(sandbox, 'available', 1);
        const [bad = ''] = inState(sandbox, 'lost', 1);
        await act(sandbox, [good, 'reserve', '--journal', path]);
        const again = await act(sandbox, [good, 'reserve', '--journal', path]);
        expect({ code: again.code, outcomes: again.outcomes }).toEqual({ code: 0, outcomes: { [good]: 'skipped' } });
        expect((await act(sandbox, [bad, 'reserve', '--journal', path])).code).toBe(6);
        expect((await act(sandbox, [bad, 'reserve', '--journal', path])).code).toBe(6);
        expect(sandbox.actionCount(good)).toBe(1);
      });
    });
  });

  test('after Ctrl-C goes on where it stopped', async () => {
    await withSandbox({ bicycles: 200, faults: [{ kind: 'latency', milliseconds: 20 }] }, async (sandbox) => {
      await withJournal(async (path) => {
        const uuids = inState(sandbox, 'available', 60);
        const args = [...uuids, 'reserve', '--yes', '--journal', path];
        const signals = new EventEmitter();
        const running = act(sandbox, args, { signals });
        while (posts(sandbox) < 20) await new Promise((resolve) => setTimeout(resolve, 2));
        signals.emit('SIGINT');
        const first = await running;
        expect(first.code).toBe(130);
        expect(first.results.filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
        const second = await act(sandbox, args);
        expect(second.code).toBe(0);
        for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
      });
    });
  });

  test('connections that died: looked up in the list, and counted as done', async () => {
    await withSandbox({ bicycles: 200, faults: [{ kind: 'cut', share: 0.2 }] }, async (sandbox) => {
      await withJournal(async (path) => {
        const uuids = inState(sandbox, 'available', 60);
        const args = [...uuids, 'reserve', '--yes', '--journal', path];
        expect((await act(sandbox, args)).code).toBe(9);
        sandbox.setFaults([]);
        const second = await act(sandbox, args);
        expect(second.code).toBe(0);
        expect(second.stderr).toContain(' done, 0 not carried out and sent now, 0 changed since, or not found');
        for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
      });
    });
  });

  test('answers that say nothing (503): looked up, and sent again where nothing was done', async () => {
    await withSandbox({ bicycles: 200, faults: [{ kind: 'error', status: 503, share: 0.1 }] }, async (sandbox) => {
      await withJournal(async (path) => {
        const uuids = inState(sandbox, 'available', 60);
        const args = [...uuids, 'reserve', '--yes', '--journal', path];
        const codes: number[] = [];
        do codes.push((await act(sandbox, args)).code);
        while (codes.at(-1) !== 0 && codes.length < 10);
        expect(codes.at(-1)).toBe(0);
        expect(codes.length).toBeGreaterThan(1);
        for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
      });
    });
  });

  test('killed between sending and answer: what is untouched is sent, what leads where the others did is done', async () => {
    await withSandbox({ bicycles: 100 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [untouched = '', carriedOut = '', fresh = ''] = inState(sandbox, 'available', 3);
        await leaveJournal(sandbox, path, [untouched, carriedOut]);
        sandbox.act(carriedOut, 'reserve');
        const args = [untouched, carriedOut, fresh, 'reserve', '--yes', '--journal', path];
        const { code, outcomes, stderr } = await act(sandbox, args);
        expect({ code, outcomes }).toEqual({
          code: 0,
          outcomes: { [untouched]: 'done', [carriedOut]: 'done', [fresh]: 'done' },
        });
        expect(stderr).toContain('2 in doubt since an earlier run');
        expect([untouched, carriedOut, fresh].map((uuid) => sandbox.actionCount(uuid))).toEqual([1, 0, 1]);
      });
    });
  });

  test('changed since, and not to where the transition leads: unknown, and never sent again by itself', async () => {
    await withSandbox({ bicycles: 100 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [moved = '', fresh = ''] = inState(sandbox, 'available', 2);
        await leaveJournal(sandbox, path, [moved]);
        sandbox.changeBicycle(moved, { state: 'available', name: 'touched' });
        const args = [moved, fresh, 'reserve', '--yes', '--journal', path];
        const { code, outcomes, results } = await act(sandbox, args);
        expect({ code, outcomes }).toEqual({ code: 9, outcomes: { [moved]: 'unknown', [fresh]: 'done' } });
        expect(results.find(({ uuid }) => uuid === moved)).toMatchObject({
          state: 'available',
          message: 'sent by an earlier run, and whether it was carried out cannot be told; it is available now',
        });
        expect(sandbox.actionCount(moved)).toBe(0);
      });
    });
  });

  test.each([
    ['y', 0, 1],
    ['n', 9, 0],
  ])('on a terminal it is asked about: %s', async (key, code, count) => {
    await withSandbox({ bicycles: 100 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [moved = '', fresh = ''] = inState(sandbox, 'available', 2);
        await leaveJournal(sandbox, path, [moved]);
        sandbox.changeBicycle(moved, { name: 'touched' });
        const stdin = new PassThrough();
        let said = '';
        const running = act(sandbox, [moved, fresh, 'reserve', '--yes', '--journal', path], {
          stdin,
          terminal: { columns: 300 },
          onStderr: (text) => (said += text),
        });
        while (!said.includes('again?')) await new Promise((resolve) => setTimeout(resolve, 5));
        stdin.write(key);
        stdin.write('\r');
        expect((await running).code).toBe(code);
        expect(said).toContain(`1 may have been done before or not (${moved} is available); reserve them again?`);
        expect(sandbox.actionCount(moved)).toBe(count);
      });
    });
  });

  test('not in the list, as a bicycle that somebody else rides: unknown', async () => {
    await withSandbox({ bicycles: 40 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [fresh = ''] = inState(sandbox, 'available', 1);
        await leaveJournal(sandbox, path, [A]);
        const { code, outcomes } = await act(sandbox, [A, fresh, 'reserve', '--yes', '--journal', path]);
        expect({ code, outcomes }).toEqual({ code: 9, outcomes: { [A]: 'unknown', [fresh]: 'done' } });
      });
    });
  });

  test('a service without `modified`: the state alone tells, and only where it is the one that is wanted', async () => {
    let sent = 0;
    await withServer(
      (response, { method }) => {
        if (method === 'POST') sent += 1;
        if (method === 'POST') sendJson(response, 200, { uuid: A, state: 'rented' });
        else
          sendJson(response, 200, [
            { uuid: A, state: 'rented' },
            { uuid: B, state: 'available' },
          ]);
      },
      async ({ url }) => {
        await withJournal(async (path) => {
          const header = { fleet_journal: 1, ...BINDING, base_url: `${url}/` };
          const records = [header, { run: 1, newest: null, at: 1 }, { sending: A, at: 1 }, { sending: B, at: 1 }];
          await writeFile(path, records.map((one) => `${JSON.stringify(one)}\n`).join(''));
          const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't' };
          const args = ['bicycles', 'act', A, B, 'rent', '--yes', '--journal', path, '-o', 'csv', '--columns'];
          const { code, stdout } = await runFleet([...args, 'uuid,outcome'], { env });
          expect(stdout).toBe(`uuid,outcome\n${A},done\n${B},unknown\n`);
          expect({ code, sent }).toEqual({ code: 9, sent: 0 });
        });
      },
    );
  });

  test('a request that may still be under way is given its time before the list is asked', async () => {
    await withSandbox({ bicycles: 60 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [late = ''] = inState(sandbox, 'available', 1);
        await leaveJournal(sandbox, path, [late]);
        await appendFile(path, `${JSON.stringify({ sending: late, at: Date.now() })}\n`);
        setTimeout(() => sandbox.act(late, 'reserve'), 700);
        const args = [late, 'reserve', '--yes', '--journal', path, '--timeout', '2'];
        const { stderr } = await act(sandbox, args);
        expect(stderr).toContain('waiting 2 s for requests of the earlier run');
        expect(posts(sandbox)).toBe(0);
      });
    });
  });

  test('a service slower than the timeout is given more time, and nothing is done twice', async () => {
    const acted = new Map<string, number>();
    await withServer(
      (response, { method, path }) => {
        if (method === 'GET') {
          const bicycles = [A, B].map((uuid) => ({
            uuid,
            state: acted.has(uuid) ? 'rented' : 'available',
            modified: `2026-01-01T00:00:0${acted.get(uuid) ?? 0}.000Z`,
          }));
          return sendJson(response, 200, bicycles);
        }
        const uuid = path.split('/')[2] ?? '';
        setTimeout(() => {
          acted.set(uuid, (acted.get(uuid) ?? 0) + 1);
          sendJson(response, 200, { uuid, state: 'rented' });
        }, 2500);
      },
      async ({ url }) => {
        await withJournal(async (path) => {
          const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't' };
          const args = [
            'bicycles',
            'act',
            A,
            B,
            'rent',
            '--yes',
            '--journal',
            path,
            '--timeout',
            '1',
            '--retries',
            '0',
          ];
          expect((await runFleet(args, { env })).code).toBe(9);
          const { code, stderr } = await runFleet(args, { env });
          expect(stderr).toContain('for requests of the earlier run');
          expect(code).toBe(0);
          expect(Object.fromEntries(acted)).toEqual({ [A]: 1, [B]: 1 });
        });
      },
    );
  });

  test('a page for people in place of an answer is not taken for success', async () => {
    await withServer(
      (response, { method }) => {
        if (method === 'GET') return sendJson(response, 200, []);
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end('<!doctype html><title>Scheduled maintenance</title>');
      },
      async ({ url }) => {
        const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't' };
        const one = await runFleet(['bicycles', 'act', A, 'rent'], { env });
        expect(one.code).toBe(7);
        expect(one.stderr).toContain('Scheduled maintenance');
        const many = await runFleet(['bicycles', 'act', A, B, 'rent', '--yes', '-o', 'csv', '--columns', 'outcome'], {
          env,
        });
        expect({ code: many.code, stdout: many.stdout }).toEqual({ code: 9, stdout: 'outcome\nunknown\nunknown\n' });
      },
    );
  });

  test('a link and what it leads to are one journal, and a device is none', async () => {
    await withJournal(async (path) => {
      const first = await openJournal(path, BINDING, Date.now);
      await symlink(path, `${path}.link`);
      await expect(openJournal(`${path}.link`, BINDING, Date.now)).rejects.toThrow('is in use by another run');
      await first.close();
    });
    for (const device of ['/dev/null', '/dev/full']) {
      await expect(openJournal(device, BINDING, Date.now)).rejects.toThrow('is no ordinary file');
    }
  });

  test.each([
    ['another transition', ['take_over'], 'transition reserve, not take_over'],
    ['another field', ['reserve', '--field', 'a=b'], 'fields [], not [['],
    ['another address', ['reserve', '--base-url', 'http://127.0.0.1:9'], 'base_url'],
  ])('with %s is refused', async (_case, words, message) => {
    await withSandbox({ bicycles: 20 }, async (sandbox) => {
      await withJournal(async (path) => {
        await leaveJournal(sandbox, path, []);
        const { code, stderr } = await act(sandbox, [A, B, ...words, '--yes', '--journal', path]);
        expect(stderr).toContain(message);
        expect(code).toBe(2);
        expect(posts(sandbox)).toBe(0);
      });
    });
  });

  test('a file of something else is refused and stays as it is; so does one that cannot be opened', async () => {
    await withSandbox({ bicycles: 20 }, async (sandbox) => {
      await withJournal(async (path) => {
        await writeFile(path, 'my precious list\n');
        expect((await act(sandbox, [A, B, 'reserve', '--yes', '--journal', path])).code).toBe(2);
        expect(await readFile(path, 'utf8')).toBe('my precious list\n');
        expect((await act(sandbox, [A, B, 'reserve', '--yes', '--journal', `${path}/none`])).code).toBe(2);
        expect(posts(sandbox)).toBe(0);
      });
    });
  });

  test('--dry-run shows what is left and writes nothing', async () => {
    await withSandbox({ bicycles: 60 }, async (sandbox) => {
      await withJournal(async (path) => {
        const [done = '', left = '', doubt = ''] = inState(sandbox, 'available', 3);
        await act(sandbox, [done, 'reserve', '--journal', path]);
        await appendFile(path, `${JSON.stringify({ sending: doubt, at: 1 })}\n`);
        const before = await readFile(path, 'utf8');
        const { stdout, stderr } = await act(sandbox, [done, left, doubt, 'reserve', '--dry-run', '--journal', path]);
        expect(stdout.trim().split('\n')).toHaveLength(1);
        expect(stdout).toContain(left);
        expect(stderr).toContain('dry run: 1 request, nothing was sent; by the journal 1 done, 1 in doubt');
        expect(await readFile(path, 'utf8')).toBe(before);
      });
    });
  });
});
