// Tests `fleet bicycles act` on many bicycles, with the sandbox and small servers: outcomes, input,
// confirmation and stops.

import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { isLong } from '../support/often.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';
import { jsonLines, type RunOptions, runFleet } from '../support/run.js';
import { inState, openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';
import { typing } from '../support/typing.js';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'bbbbbbbb-0000-4000-8000-000000000002';
const C = 'cccccccc-0000-4000-8000-000000000003';

interface Result {
  uuid: string;
  outcome: string;
  status: number | null;
  state: string | null;
  message: string | null;
}

/** Runs `fleet bicycles act ARGS` and parses the JSON lines of stdout. */
async function act(sandbox: Sandbox, args: readonly string[], options: RunOptions = {}) {
  const env = { ...(await environmentOf(sandbox)), ...options.env };
  const run = await runFleet(['bicycles', 'act', ...args], { ...options, env });
  return { ...run, results: run.stdout.startsWith('{') ? jsonLines<Result>(run.stdout) : [] };
}

function countOutcomes(results: readonly Result[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

function posts(sandbox: Sandbox): number {
  return sandbox.requests.filter(({ method }) => method === 'POST').length;
}

test.each([
  ['retire', 0, 1],
  ['y', 2, 0],
])(
  '`bicycles act retire` describes a single bicycle before asking for confirmation: %s',
  async (typed, code, count) => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [uuid = ''] = inState(sandbox, 'in_maintenance', 1);
    // Only a bicycle without a lock can be retired.
    sandbox.changeBicycle(uuid, { lock: null });
    const terminal = { ...typing([['to go on', `${typed}\r`]]), terminal: { columns: 400 } };
    const run = await act(sandbox, [uuid, 'retire'], terminal);
    expect(run.code).toBe(code);
    const { name } = sandbox.bicycle(uuid) ?? {};
    expect(run.stderr).toContain(`Run retire on bicycle ${name} (${uuid}; in_maintenance, at `);
    expect(run.stderr).toContain(
      `at ${sandbox.baseUrl} (profile default)? Only force_put_in_maintenance brings a retired bicycle back. Type retire to go on:`,
    );
    expect(sandbox.actionCount(uuid)).toBe(count);
  },
);

describe('outcomes', () => {
  test('prints one JSON line for each completed or refused action and exits with 9', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [good = '', bad = ''] = [
      ...inState(sandbox, 'available', 1),
      ...inState(sandbox, 'lost', 1),
    ];
    const { code, results, stderr } = await act(sandbox, [good, bad, 'reserve', '--yes', '--json']);
    expect(code).toBe(9);
    const byUuid = new Map(results.map((result) => [result.uuid, result]));
    expect(byUuid.get(good)).toEqual({
      uuid: good,
      name: sandbox.bicycle(good)?.name,
      transition: 'reserve',
      outcome: 'done',
      status: 200,
      state: 'reserved',
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      milliseconds: expect.any(Number),
      message: null,
    });
    expect(byUuid.get(bad)).toMatchObject({
      outcome: 'refused',
      status: 400,
      message: expect.stringContaining(`Action 'reserve' not allowed from current state 'lost'`),
    });
    expect(JSON.parse(stderr).error).toMatchObject({
      kind: 'partial',
      message: expect.stringMatching(/^2 bicycles: 1 done, 1 refused in /),
    });
  });

  test('prints refused actions by reason and a summary on a terminal', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [bad = ''] = inState(sandbox, 'lost', 1);
    const args = [...inState(sandbox, 'available', 3), bad, 'reserve', '--yes'];
    const { code, stdout, stderr } = await act(sandbox, args, { env: {} });
    expect(code).toBe(9);
    expect(stdout).toMatch(
      new RegExp(`^1 not allowed from state lost\\. Available actions: .*\n  ${bad}\n$`),
    );
    const wide = await act(sandbox, args, { terminal: { columns: 80 } });
    expect(wide.stdout).toContain(`  ${bad.slice(0, 8)}\n`);
    expect(stderr).toMatch(/^error: 4 bicycles: 3 done, 1 refused in [\d.]+ .+\n$/);
    const well = await act(sandbox, [...inState(sandbox, 'available', 3), 'reserve', '--yes']);
    expect(well).toMatchObject({ code: 0, stdout: '' });
    expect(well.stderr).toMatch(/^3 bicycles: 3 done in [\d.]+ .+\n$/);
    expect(
      await act(sandbox, [...inState(sandbox, 'available', 3), 'reserve', '--yes', '-q']),
    ).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  test('accepts a name or a UUID prefix for the bicycle', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    for (const [index, uuid] of inState(sandbox, 'available', 2).entries()) {
      const name = sandbox.bicycle(uuid)?.name ?? '';
      const { code, stdout, stderr } = await act(sandbox, [
        index === 0 ? name : uuid.slice(0, 8),
        'reserve',
      ]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${name}: reserved\n` });
      expect(stderr).toContain(index === 0 ? `"${name}" is ${uuid}` : `is ${uuid} (${name})`);
      expect(sandbox.actionCount(uuid)).toBe(1);
    }
    expect((await act(sandbox, ['Nobody 0000', 'reserve'])).code).toBe(5);
  });

  test('-o csv prints all results, and -o uuid prints only the changed bicycles', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [one = '', two = ''] = inState(sandbox, 'available', 2);
    const [bad = ''] = inState(sandbox, 'lost', 1);
    const csv = await act(sandbox, [one, bad, 'reserve', '--yes', '-o', 'csv']);
    expect(csv.stdout.split('\n')[0]).toBe(
      'uuid,name,transition,outcome,status,state,request_id,milliseconds,message',
    );
    expect(csv.stdout.split('\n')).toHaveLength(4);
    const uuid = await act(sandbox, [two, bad, 'reserve', '--yes', '-o', 'uuid']);
    expect(uuid.stdout).toBe(`${two}\n`);
    expect(uuid.stderr).toMatch(
      new RegExp(`^1 not allowed from state lost.*  ${bad.slice(0, 8)}\\nerror: 2 bicycles`, 's'),
    );
  });

  test('runs the --jq program on each result', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const uuids = inState(sandbox, 'available', 2);
    const { stdout } = await act(sandbox, [...uuids, 'reserve', '--yes', '--jq', '.outcome']);
    expect(stdout).toBe('done\ndone\n');
  });

  test('slows down all requests after a 429', async () => {
    const sandbox = await openSandbox({
      bicycles: 100,
      faults: [{ kind: 'error', status: 429, share: 1, times: 3 }],
    });
    const uuids = inState(sandbox, 'available', 20);
    const startedAt = performance.now();
    const { code, results, stderr } = await act(sandbox, [...uuids, 'reserve', '--yes', '--json']);
    expect(code).toBe(0);
    expect(countOutcomes(results)).toEqual({ done: 20 });
    // Retry-After: 1 delays all requests and is reported once.
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    expect(stderr.match(/the service asks fleet to slow down; waiting/g)).toHaveLength(1);
    for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
    const pause = sandbox.requests.filter(({ method }) => method === 'POST');
    const firstRefused = pause.find(({ status }) => status === 429)?.at ?? 0;
    // The first eight requests were already in flight and may arrive late on a busy machine.
    const tooEarly = pause
      .slice(8)
      .filter(({ at }) => at > firstRefused + 300 && at < firstRefused + 900);
    expect(tooEarly).toEqual([]);
  });
});

describe('errors that stop `bicycles act`', () => {
  test.each([401, 403])(
    'stops after HTTP %i, lists the unsent bicycles and exits with 4',
    async (status) => {
      let asked = 0;
      const { env } = await openServer((response) => {
        asked += 1;
        if (asked > 2) sendJson(response, status, { detail: 'no' });
        else sendJson(response, 200, { state: 'rented' });
      });
      const uuids = Array.from({ length: 10 }, (_, index) => A.replace(/1$/, String(index)));
      const run = await runFleet(
        ['bicycles', 'act', ...uuids, 'rent', '--yes', '--json', '--concurrency', '1'],
        { env },
      );
      expect(run.code).toBe(4);
      expect(countOutcomes(jsonLines(run.stdout))).toEqual({ done: 2, refused: 1, 'not-sent': 7 });
      expect(asked).toBe(3);
      expect(run.stderr).toContain('10 bicycles: 2 done, 1 refused, 7 not-sent');
    },
  );

  test('continues after a 401 when the token can be renewed', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const uuids = inState(sandbox, 'available', 5);
    const folder = newFolder();
    // The first token is refused, the next one is good.
    const command = `mkdir ${folder}/asked 2>/dev/null && echo stale || echo ${await sandbox.token()}`;
    const env = { FLEET_TOKEN: undefined, FLEET_TOKEN_COMMAND: command };
    const { code, results } = await act(sandbox, [...uuids, 'reserve', '--yes', '--json'], { env });
    expect({ code, counts: countOutcomes(results) }).toEqual({ code: 0, counts: { done: 5 } });
    for (const uuid of uuids) expect(sandbox.actionCount(uuid)).toBe(1);
  });

  test('--fail-fast stops the run at the first action that does not succeed', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [bad = ''] = inState(sandbox, 'lost', 1);
    const good = inState(sandbox, 'available', 5);
    const args = [bad, ...good, 'reserve', '--yes', '--json', '--fail-fast', '--concurrency', '1'];
    const { code, results, stderr } = await act(sandbox, args);
    expect(code).toBe(9);
    expect(countOutcomes(results)).toEqual({ refused: 1, 'not-sent': 5 });
    expect(stderr).toContain('--fail-fast');
    for (const uuid of good) expect(sandbox.actionCount(uuid)).toBe(0);
  });

  test.each([
    ['one bicycle as often as --retries says', [A], '1', 2],
    ['several bicycles up to eight times', [A, B], '1', 9],
    ['several bicycles never with --retries 0', [A, B], '0', 1],
  ])('repeats a 429 for %s', async (_what, uuids, retries, requests) => {
    const server = await openServer((response) => sendJson(response, 429, { detail: 'later' }));
    const run = await runFleet(
      ['bicycles', 'act', ...uuids, 'rent', '--yes', '--json', '--retries', retries],
      { env: server.env, clock: openQuickClock(30) },
    );
    // The run stops when a bicycle was refused for the last time, so the other may get fewer.
    const sent = uuids.map((uuid) => server.asked.filter(({ path }) => path.includes(uuid)).length);
    expect(Math.max(...sent), run.stderr).toBe(requests);
  });

  test('sends nothing and exits with 8 when the service cannot be reached', async () => {
    const env = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 't' };
    const { code, stdout, stderr } = await runFleet(
      ['bicycles', 'act', A, B, 'rent', '--yes', '--json', '--retries', '0'],
      { env },
    );
    expect(code).toBe(8);
    expect(stdout.match(/"outcome":"not-sent"/g)).toHaveLength(2);
    expect(stderr).toContain('connection refused');
  });

  test('stops after twenty consecutive failures and exits with 7', async () => {
    const sandbox = await openSandbox({
      bicycles: 100,
      faults: [{ kind: 'error', status: 500, share: 1 }],
    });
    const uuids = Array.from({ length: 40 }, (_, index) => A.replace(/..$/, String(10 + index)));
    const env = { FLEET_OUTPUT: 'jsonl' };
    const { code, results } = await act(sandbox, ['-', 'rent', '--yes', '--concurrency', '64'], {
      env,
      stdin: uuids.join('\n'),
    });
    expect(code).toBe(7);
    expect(countOutcomes(results)['unknown']).toBeGreaterThanOrEqual(20);
    expect(results).toHaveLength(40);
  });

  test('the first Ctrl-C waits for the requests in flight, and the second one aborts them', async () => {
    for (const times of [1, 2]) {
      const sandbox = await openSandbox({
        bicycles: 200,
        faults: [{ kind: 'latency', milliseconds: 200 }],
      });
      const uuids = inState(sandbox, 'available', 40);
      const signals = new EventEmitter();
      const running = act(sandbox, [...uuids, 'reserve', '--yes', '--json', '--concurrency', '4'], {
        signals,
      });
      while (posts(sandbox) < 4) await new Promise((resolve) => setTimeout(resolve, 5));
      signals.emit('SIGINT');
      if (times === 2) setTimeout(() => signals.emit('SIGINT'), 30);
      const { code, results, stderr } = await running;
      expect(code).toBe(130);
      expect(countOutcomes(results)).toEqual({
        [times === 1 ? 'done' : 'unknown']: 4,
        'not-sent': 36,
      });
      expect(stderr).toContain('waiting 1 s for 4 requests in flight');
      expect(stderr).toContain('40 bicycles:');
      expect(posts(sandbox)).toBe(4);
    }
  });

  test.each([
    [[A, B], 'SIGTERM', 143, '2 bicycles: 2 unknown in '],
    [[A], 'SIGINT', 130, 'it is unknown whether the request was carried out'],
  ] as const)(
    'waits one second for a silent service after a signal and reports the unanswered requests: %j',
    async (uuids, signal, code, words) => {
      const { env, asked } = await openServer(() => {});
      const signals = new EventEmitter();
      // Without the signal, the requests would outlast the test.
      const timeout = { FLEET_TIMEOUT: '600' };
      const running = runFleet(['bicycles', 'act', ...uuids, 'rent', '--yes'], {
        env: { ...env, ...timeout },
        signals,
      });
      while (asked.length < uuids.length) await new Promise((resolve) => setTimeout(resolve, 5));
      const startedAt = performance.now();
      signals.emit(signal);
      const run = await running;
      expect({ code: run.code, stderr: run.stderr }).toEqual({
        code,
        stderr: expect.stringContaining(words),
      });
      expect(performance.now() - startedAt).toBeGreaterThan(990);
    },
  );

  test.each([[], ['--yes']])(
    'sends nothing when Ctrl-C arrives while stdin is still open: %j',
    async (...more) => {
      const sandbox = await openSandbox({ bicycles: 20 });
      const stdin = new PassThrough();
      const signals = new EventEmitter();
      const running = act(sandbox, ['-', 'reserve', ...more], { stdin, signals });
      stdin.write(`${A}\n`);
      // Wait until the written line was read.
      while (stdin.readableLength > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      signals.emit('SIGTERM');
      expect(await running).toMatchObject({ code: 143, stdout: '', stderr: '' });
      expect(posts(sandbox)).toBe(0);
    },
  );

  test('stops reading an endless stdin on Ctrl-C or after a million rows', async () => {
    const sandbox = await openSandbox({ bicycles: 20 });
    const startAct = (interruptedAt: number) => {
      const signals = new EventEmitter();
      const endless = (async function* () {
        for (let block = 0; ; block++) {
          // Let the event loop run, as another process would.
          await new Promise((resolve) => setImmediate(resolve));
          if (block === interruptedAt) signals.emit('SIGINT');
          const uuid = (index: number) =>
            `${(block * 1000 + index).toString(16).padStart(8, '0')}${A.slice(8)}\n`;
          yield Array.from({ length: 1000 }, (_, index) => uuid(index)).join('');
        }
      })();
      const stdin = Readable.from(endless).pipe(new PassThrough());
      return act(sandbox, ['-', 'reserve', '--yes', '--json'], { stdin, signals });
    };
    expect((await startAct(20)).code).toBe(130);
    // A million rows need five seconds of processor time.
    if (isLong) {
      const { code, stderr } = await startAct(Number.POSITIVE_INFINITY);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('line 1000001 of stdin: more than 1000000 rows'),
      ]);
    }
    expect(posts(sandbox)).toBe(0);
  });

  test('stops the run with an error when the reader of stdout closes the pipe', async () => {
    const sandbox = await openSandbox({
      bicycles: 200,
      faults: [{ kind: 'latency', milliseconds: 5 }],
    });
    const uuids = inState(sandbox, 'available', 60);
    const { spawn } = await import('node:child_process');
    const env = { ...process.env, ...(await environmentOf(sandbox)) };
    const child = spawn(
      PROGRAM_FILE,
      [...PROGRAM_ARGS, 'bicycles', 'act', ...uuids, 'reserve', '--yes', '--json'],
      {
        env,
      },
    );
    child.stdout.once('data', () => child.stdout.destroy());
    let said = '';
    child.stderr.on('data', (chunk) => (said += chunk));
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect(code).toBe(9);
    expect(said).toContain('not-sent');
    expect(posts(sandbox)).toBeLessThan(60);
  });
});

describe('`bicycles act` input', () => {
  test('reads UUIDs, links and JSON lines from stdin and ignores duplicate bicycles', async () => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [one = '', two = '', three = ''] = inState(sandbox, 'available', 3);
    const stdin = `\uFEFF${one.toUpperCase()}\r\n\r\n{"uuid":"${two}","name":"Ada"}\n${one}\nhttps://x.example/bicycles/${three}/`;
    const { code, results, stderr } = await act(sandbox, ['-', 'reserve', '--yes', '--json'], {
      stdin,
    });
    expect(code).toBe(0);
    expect(results.map(({ uuid }) => uuid).sort()).toEqual([one, two, three].sort());
    expect(stderr).toContain('left out 1 duplicate');
  });

  test.each([
    ['Ada', 'line 1 of stdin: "Ada" is not a UUID'],
    ['[', 'line 1 of stdin: incomplete JSON'],
    ['[\n{"uuid":7}]', 'line 2 of stdin: "uuid" is missing or not a UUID'],
    [`[{"uuid":"${A}"}\n{"uuid":"${B}"}]`, 'line 1 of stdin: broken JSON'],
    [`uuid,name\n${A},"Ada`, 'line 2 of stdin: a quote is opened here and never closed'],
    [`name;uuid\nAda;${A}\nBea;x`, 'line 3 of stdin: "x" is not a UUID'],
    [
      'sep=;\nmodel;state\n',
      'line 2 of stdin: no column names the bicycle; the columns are "model", "state"',
    ],
    ['['.repeat(2000), 'line 1 of stdin: JSON nested deeper than 500 levels'],
    [`[{"a":${'['.repeat(2000)}`, 'line 1 of stdin: JSON nested deeper than 500 levels'],
    [`uuid,name\n${A},"Ada\nBea" x`, 'line 2 of stdin: text after a closing quote'],
    ['{"uuid":7}', 'line 1 of stdin: "uuid" is missing or not a UUID'],
    ['{"uuid"', 'line 1 of stdin: incomplete JSON'],
  ])('rejects an input line with %s and prints its line number', async (stdin, words) => {
    const sandbox = await openSandbox({ bicycles: 10 });
    const { code, stderr } = await act(sandbox, ['-', 'reserve', '--yes'], { stdin });
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(posts(sandbox)).toBe(0);
  });

  test('rejects an unclosed quote in linear time', async () => {
    const sandbox = await openSandbox({ bicycles: 10 });
    const stdin = `uuid,name\n${A},"${'Ada\n'.repeat(100_000)}`;
    const { code, stderr } = await act(sandbox, ['-', 'reserve', '--yes'], { stdin });
    expect(code).toBe(2);
    expect(stderr).toContain('line 2 of stdin: a quote is opened here and never closed');
  });

  test.each([[], ['--yes']])(
    'reads and checks the whole input from a slow stdin before it sends anything: %j',
    async (...more) => {
      const sandbox = await openSandbox({ bicycles: 60 });
      const stdin = new PassThrough();
      const running = act(sandbox, ['-', 'reserve', ...more], { stdin, clock: openQuickClock(10) });
      stdin.write(`${inState(sandbox, 'available', 3).join('\n')}\n`);
      await new Promise((resolve) => setTimeout(resolve, 300));
      stdin.end('Ada\n');
      const { code, stdout, stderr } = await running;
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('line 4 of stdin: "Ada" is not a UUID; nothing was sent');
      expect(posts(sandbox)).toBe(0);
    },
  );

  test.each([
    ['comments', (a: string, b: string) => `# those of the storm\n${a} # Ada\n\n  # more\n${b}\n`],
    [
      'a JSON array',
      (a: string, b: string) => JSON.stringify([{ uuid: a, name: 'Ada' }, { uuid: b }], null, 2),
    ],
    [
      'CSV',
      (a: string, b: string) =>
        `Name, UUID ,state\r\n"A ""d"",\na",${a},available\r\nBea,${b},\r\n`,
    ],
    ['CSV of one column', (a: string, b: string) => `uuid\n${a}\n${b}\n`],
    ['CSV with semicolons', (a: string, b: string) => `sep=;\nuuid;name\n${a};Ada\n${b};Bea\n`],
  ])('%s', async (_case, write) => {
    const sandbox = await openSandbox({ bicycles: 60 });
    const [one = '', two = ''] = inState(sandbox, 'available', 2);
    const { code, results } = await act(sandbox, ['-', 'reserve', '--yes', '--json'], {
      stdin: write(one, two),
    });
    expect({ code, uuids: results.map(({ uuid }) => uuid).sort() }).toEqual({
      code: 0,
      uuids: [one, two].sort(),
    });
  });

  test('accepts empty input on stdin', async () => {
    const sandbox = await openSandbox({ bicycles: 10 });
    expect(await act(sandbox, ['-', 'reserve', '--yes'], { stdin: '' })).toMatchObject({
      code: 0,
      stdout: '',
    });
    expect((await act(sandbox, ['-', 'retire'], { stdin: '\n' })).code).toBe(0);
  });

  test.each([
    [[A], 'the transition is missing'],
    [[A, B], 'the transition is missing'],
    [['reserve', 'SN-00892'], 'the transition "reserve" must come last, after the bicycles'],
    [['reserve', 'SN-00892'], 'did you mean: fleet bicycles act SN-00892 reserve'],
    [['retire', A], `did you mean: fleet bicycles act ${A} retire`],
    [['rent', '-'], 'did you mean: fleet bicycles act - rent'],
    [['Ada 1', 'rent', "Ann's"], `did you mean: fleet bicycles act 'Ada 1' 'Ann'\\''s' rent`],
    [['reserve', 'retier'], 'did you mean'],
    [['rent'], 'no bicycle given for "rent"'],
    [[A, B, 'retier'], 'did you mean "retire"?'],
    [[A, '-', 'rent'], '- cannot be combined with other arguments'],
    [[A, B, 'rent', '--concurrency', '65'], '--concurrency must be a whole number from 1 to 64'],
    [[A, B, 'rent', '--concurrency', '0'], '--concurrency must be'],
    [
      [A, B, 'rent', '--field', 'type=x'],
      '--field cannot set the type: the action already sets it',
    ],
    [[A, B, 'rent', '--field', 'x'], '--field must be NAME=VALUE'],
    [[A, B, 'rent', '--yes', '--columns', 'outcom'], 'did you mean "outcome"?'],
    [[A, B, 'rent', '--yes', '-o', 'geojson'], 'no position'],
  ])('rejects the arguments %j of `bicycles act`', async (args, words) => {
    const env = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 't' };
    const { code, stderr } = await runFleet(['bicycles', 'act', ...args], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  test('puts --field values after the type in the request body', async () => {
    const { env, asked } = await openServer((response) => sendJson(response, 200, {}));
    await runFleet(['bicycles', 'act', A, 'rent', '--field', 'reason=a=b', '--field', 'n=7'], {
      env,
    });
    expect(asked.map(({ body }) => body)).toEqual(['{"type":"rent","reason":"a=b","n":"7"}']);
  });
});

describe('`bicycles act` confirmation', () => {
  const env = { FLEET_BASE_URL: 'http://127.0.0.1:9/api', FLEET_TOKEN: 't' };

  test.each([
    [[A, B, 'rent'], undefined],
    [['-', 'rent'], `${A}\n${B}`],
    [[A, 'retire'], undefined],
    [[A, B, 'rent', '--no-input'], undefined],
  ])('requires --yes when stdin is not a terminal: %j', async (args, stdin) => {
    const { code, stderr } = await runFleet(['bicycles', 'act', ...args], {
      env,
      ...(stdin === undefined ? {} : { stdin }),
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('--yes')]);
  });

  async function answer(args: string[], keys: string) {
    const sandbox = await openSandbox({ bicycles: 60 });
    const uuids = inState(sandbox, 'in_maintenance', 3);
    // Only a bicycle without a lock can be retired.
    for (const uuid of uuids) sandbox.changeBicycle(uuid, { lock: null });
    const run = await act(sandbox, [...uuids, ...args], {
      ...typing([['?', keys]]),
      terminal: { columns: 300 },
    });
    return {
      ...run,
      url: sandbox.baseUrl,
      names: uuids.map((uuid) => sandbox.bicycle(uuid)?.name ?? ''),
      done: uuids.filter((uuid) => sandbox.actionCount(uuid) === 1).length,
    };
  }

  test('the confirmation prompt shows the transition, the bicycles, the URL and the profile', async () => {
    const { stderr, url, names, code, done } = await answer(['take_over'], 'y\r');
    expect(stderr).toContain(
      `Run take_over on 3 bicycles (${names.join(', ')}) at ${url} (profile default)?`,
    );
    expect({ code, done }).toEqual({ code: 0, done: 3 });
  });

  test('`retire` asks for the number of bicycles as confirmation', async () => {
    expect(await answer(['retire'], '3\r')).toMatchObject({ code: 0, done: 3 });
    expect(await answer(['retire'], 'y\r')).toMatchObject({ code: 2, done: 0 });
  });

  test('the confirmation prompt shows bicycle names read from JSON lines', async () => {
    const stdin = `{"uuid":"${A}","name":"Ada\\u001b[2J"}\n{"uuid":"${B}","name":"Bea"}\n${C}\n${C.replace('3', '4')}\n`;
    const { stderr } = await runFleet(['bicycles', 'act', '-', 'rent'], { env, stdin });
    expect(stderr).toContain(
      `Run rent on 4 bicycles (Ada␛[2J, Bea, ${C}, …) at http://127.0.0.1:9/api (profile default)?`,
    );
  });

  test('--dry-run prints the requests without the token and sends nothing', async () => {
    const { code, stdout, stderr } = await runFleet(
      ['bicycles', 'act', A, B, 'retire', '--dry-run'],
      { env },
    );
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'dry run: 2 requests, nothing was sent\n',
    });
    expect(stdout.split('\n\n').slice(0, 2)).toEqual([
      [
        `POST http://127.0.0.1:9/api/bicycles/${A}/actions/`,
        'accept: application/json; version=1.0',
        'accept-encoding: gzip, br',
        'cache-control: no-cache',
        'content-type: application/json',
        'authorization: JWT [hidden]',
      ].join('\n'),
      '{"type":"retire"}',
    ]);
    const json = await runFleet(['bicycles', 'act', '-', 'retire', '--dry-run', '--json'], {
      env,
      stdin: `${A}\n${B}`,
    });
    expect(jsonLines(json.stdout)[1]).toEqual({
      method: 'POST',
      url: `http://127.0.0.1:9/api/bicycles/${B}/actions/`,
      headers: {
        accept: 'application/json; version=1.0',
        'accept-encoding': 'gzip, br',
        'cache-control': 'no-cache',
        'content-type': 'application/json',
        authorization: 'JWT [hidden]',
      },
      body: { type: 'retire' },
    });
  });
});

test('redraws the progress line and erases it when the run ends', async () => {
  const sandbox = await openSandbox({
    bicycles: 100,
    faults: [{ kind: 'latency', milliseconds: 100 }],
  });
  const run = (flags: string[]) =>
    act(
      sandbox,
      [...inState(sandbox, 'available', 20), 'reserve', '--yes', '--concurrency', '2', ...flags],
      {
        terminal: { columns: 100 },
      },
    );
  const { stderr } = await run([]);
  expect(stderr).toMatch(/\r\u001b\[Kreserve [█░]{20} \d+ of 20, [\d.]+\/s, none failed, .* left/);
  expect(stderr).toMatch(/\r\u001b\[K20 bicycles: 20 done in /);
  expect((await run(['--quiet'])).stderr).toBe('');
});

test('does not create a journal when no URL is configured', async () => {
  const path = join(newFolder(), 'j.jsonl');
  const env = { FLEET_CONFIG_DIR: newFolder(), FLEET_TOKEN: 'x' };
  const { code } = await runFleet(['bicycles', 'act', '-', 'reserve', '--yes', '--journal', path], {
    env,
    stdin: Readable.from(`${A}\n`),
  });
  expect({ code, isThere: existsSync(path) }).toEqual({ code: 3, isThere: false });
});
