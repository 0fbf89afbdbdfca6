// Tests the journal file and its lock: every prefix is usable, damage is rejected, and one run may
// use it.

import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import {
  appendFile,
  copyFile,
  link,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openJournal } from '../../src/bulk/journal.js';
import { lineOf } from '../../src/bulk/journal-records.js';
import { followHolder, type Holder } from '../../src/system/record-lock.js';
import { OUTCOMES } from '../../src/views/action.js';
import { openQuickClock } from '../support/fast-clock.js';
import { BINDING, leaveJournal, newJournal, numbered, readJournal } from '../support/journal.js';
import { anyText } from '../support/naughty.js';
import { often } from '../support/often.js';
import { PROGRAM_LINE } from '../support/program.js';
import { jsonLines } from '../support/run.js';
import { openServer, sendJson } from '../support/server.js';

const HEADER = lineOf({ fleet_journal: 3, ...BINDING });
const START = {
  newest: '2026-01-01T00:00:00Z',
  isEmpty: false,
  date: '2026-01-01T00:00:01Z',
  user: [],
};
const NOTHING = { name: null, before: null };
const ANSWERED = { uuid: null, name: null, how: 'answered' } as const;
const DONE = {
  outcome: 'done',
  status: 200,
  state: null,
  request_id: null,
  milliseconds: 3,
  message: null,
} as const;

/** This speed still lets a live run send its heartbeat on a busy machine. */
function open(path: string, binding = BINDING, hurry = 8) {
  return openJournal(path, binding, {
    clock: openQuickClock(hurry),
    signal: new AbortController().signal,
    say: () => {},
    isTrusted: false,
  });
}

test.skipIf(process.platform === 'win32')(
  'a journal and its counter file can be read only by their user',
  async () => {
    const path = newJournal();
    const journal = await open(path);
    await journal.close();
    const modes = [path, `${path}.count`].map((file) => statSync(file).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
  },
);

describe('reading a journal', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'Žofie 🚲');
  const result = fc.record({
    outcome: fc.constantFrom(...OUTCOMES),
    status: fc.option(fc.integer({ min: 200, max: 599 })),
    state: fc.option(fc.string()),
    request_id: fc.option(fc.string()),
    milliseconds: fc.option(fc.nat()),
    message: fc.option(anyText()),
  });
  const record = fc.oneof(
    fc.record({ run: fc.constant('r'), start: fc.constant(START) }),
    fc.record({ sending: key, run: fc.constant('r'), after_ms: fc.nat() }),
    fc.record({ answered: key, run: fc.constant('r'), result }),
    fc.record({ beat: fc.constant('r') }),
  );
  const CLAIM = lineOf({
    claim: 'r',
    over: null,
    pid: 1,
    host: 'h',
    beat_ms: 1500,
    n: 1,
    after: 1,
  });

  test('reads a truncated journal up to its last complete line', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), fc.nat(), (records, at) => {
        const lines = [HEADER, CLAIM, ...numbered(records, 2)].map((one) => Buffer.from(one));
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
        for (const one of records.slice(0, Math.max(0, count - 2))) {
          if ('sending' in one) expected.set(one.sending, undefined);
          if ('answered' in one) expected.set(one.answered, one.result);
        }
        expect(new Map([...read.entries].map(([name, entry]) => [name, entry.result]))).toEqual(
          expected,
        );
      }),
      { numRuns: often(500) },
    );
  });

  test('ignores a truncated last line but reports damage in other lines', () => {
    const [a = '', b = ''] = numbered(
      [
        { sending: 'a', run: 'r' },
        { sending: 'b', run: 'r' },
      ],
      2,
    );
    const [claim = '', next] = numbered([
      { claim: 's', over: 'r', pid: 1, host: 'h', beat_ms: 1500, after: 3 },
      { sending: 'b', run: 's' },
    ]);
    const good = HEADER + CLAIM + a;
    for (const rubbish of ['\0\0\0\0', '{"answ', '\0\0\n', 'x\n']) {
      const read = readJournal(Buffer.from(good + rubbish), 'j');
      expect([...read.entries.keys()]).toEqual(['a']);
      const all = readJournal(Buffer.from(`${good}${rubbish}\n${claim}${next}`), 'j');
      expect([...all.entries.keys()]).toEqual(['a', 'b']);
      expect(all.damage).toBeUndefined();
    }
    expect(readJournal(Buffer.from(`${good}x\n${b}`), 'j').damage).toBe('line 4 is damaged');
  });

  test.each(['{"a":1}\n', 'uuid\n', 'hello', '[]\n'])('rejects %j as a journal', (text) => {
    expect(() => readJournal(Buffer.from(text), 'j')).toThrow(
      'j is not a fleet journal, and was left unchanged',
    );
  });

  test('rejects a plan file and says where its journal is', () => {
    const plan = '{"fleet_plan":true,"format":1}\n';
    expect(() => readJournal(Buffer.from(plan), 'a.plan')).toThrow(
      expect.objectContaining({
        message: 'a.plan is a plan, and was left unchanged',
        hint: '"fleet apply" keeps its journal in a.plan.journal',
      }),
    );
  });

  test.each([1, 2, 'x'])('the error for a journal of version %j names this version', (version) => {
    const text = `${JSON.stringify({ fleet_journal: version, command: 'bicycles act' })}\n`;
    expect(() => readJournal(Buffer.from(text), 'j')).toThrow(
      `the journal j has version ${version}, but this version of fleet reads only version 3`,
    );
  });

  test('ignores requests that a run recorded after it lost the journal lock', () => {
    const [a = '', b, answered] = numbered(
      [
        { sending: 'a', run: 'r' },
        { sending: 'b', run: 'r' },
        { answered: 'a', run: 'r', result: DONE },
      ],
      2,
    );
    const taken = lineOf({
      claim: 's',
      over: 'r',
      pid: 2,
      host: 'h',
      beat_ms: 1500,
      n: 1,
      after: 3,
    });
    const text = [HEADER + CLAIM, a + taken, b, answered].join('');
    const { entries, holder } = readJournal(Buffer.from(text), 'j');
    expect([...entries].map(([name, entry]) => [name, entry.result?.outcome])).toEqual([
      ['a', 'done'],
    ]);
    expect(holder?.id).toBe('s');
  });
});

test('the first run owns a journal until the run ends or dies', () => {
  const claim = (id: string, over: string | null = null) => ({
    claim: id,
    over,
    pid: 1,
    host: 'h',
    beat_ms: 1500,
  });
  const cases: [string, object[], string | undefined][] = [
    ['nobody', [], undefined],
    ['the first', [claim('a'), claim('b')], 'a'],
    ['one that let go', [claim('a'), { released: 'a' }, claim('b')], 'b'],
    ['one that found it dead', [claim('a'), claim('b', 'a')], 'b'],
    [
      'five that found it dead',
      [claim('a'), claim('b', 'a'), claim('c', 'a'), claim('d', 'a')],
      'b',
    ],
    ['one that found a dead one dead', [claim('a'), claim('b', 'a'), claim('c', 'b')], 'c'],
    ['another that let go', [claim('a'), claim('b'), { released: 'b' }], 'a'],
  ];
  for (const [name, records, id] of cases) {
    const holder = records.reduce<Holder | undefined>(
      (before, record) => followHolder(before, record as { [field: string]: unknown }),
      undefined,
    );
    expect([name, holder?.id]).toEqual([name, id]);
  }
});

test.each([-1e15, 0, 1e15, 1500])(
  'clamps a recorded heartbeat interval of %d ms to the allowed range',
  (beat_ms) => {
    const beatMs = followHolder(undefined, { claim: 'a', over: null, beat_ms })?.beatMs ?? 0;
    expect(beatMs).toBeGreaterThanOrEqual(1500);
    expect(beatMs).toBeLessThanOrEqual(60_000);
  },
);

describe('opening a journal', () => {
  test('writes each record to disk before its promise resolves', async () => {
    const path = newJournal();
    const first = await open(path);
    await first.begin(START);
    await Promise.all([
      first.announce('a', NOTHING),
      first.announce('b', { name: 'Ada', before: { state: 'lost', version: '7' } }),
      first.record('a', DONE, { ...ANSWERED, name: 'Bea' }),
    ]);
    const text = await readFile(path, 'utf8');
    for (const word of ['"sending":"a"', '"sending":"b"', '"answered":"a"'])
      expect(text).toContain(word);
    await first.close();
    await appendFile(path, '{"sendi');
    const second = await open(path);
    const sending = { start: START, afterMs: expect.any(Number), before: null };
    const about = {
      uuid: null,
      how: 'answered',
      run: expect.any(String),
      atMs: expect.any(Number),
    };
    expect([...second.before]).toEqual([
      ['a', { ...about, name: 'Bea', result: DONE, sending }],
      [
        'b',
        {
          ...about,
          name: 'Ada',
          result: undefined,
          sending: { ...sending, before: { state: 'lost', version: '7' } },
        },
      ],
    ]);
    await second.begin(START);
    await second.announce('c', NOTHING);
    await second.close();
    expect([...readJournal(await readFile(path), path).entries.keys()]).toEqual(['a', 'b', 'c']);
  });

  test('reads a journal with CRLF line endings', async () => {
    const path = newJournal();
    await leaveJournal(path, { binding: {}, start: START, sending: ['a'] });
    const text = await readFile(path, 'utf8');
    const read = readJournal(Buffer.from(`\r\n${text.replaceAll('\n', '\r\n')}`), path);
    expect([...read.entries.keys()]).toEqual(['a']);
  });

  test("keeps the first run's start data when two runs announce a request", async () => {
    const path = newJournal();
    for (const newest of ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']) {
      const journal = await open(path);
      await journal.begin({ ...START, newest });
      await journal.announce('a', NOTHING);
      await journal.close();
    }
    expect(readJournal(await readFile(path), path).entries.get('a')?.sending.start).toEqual(START);
  });

  test('allows only one run per journal, even through symlinks and hard links', async () => {
    const path = newJournal();
    await symlink(path, `${path}.dangling`);
    const first = await open(`${path}.dangling`, BINDING, 1);
    await symlink(path, `${path}.symlink`);
    await link(path, `${path}.link`);
    const names = [path, `${path}.symlink`, `${path}.link`, `${path}.dangling`];
    const tried = names.map((name) =>
      expect(open(name, BINDING, 1)).rejects.toThrow('is in use by another run'),
    );
    await Promise.all(tried);
    await first.close();
    await (await open(`${path}.link`)).close();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test('only one of several concurrent runs takes over the journal of a dead run', async () => {
    const path = newJournal();
    await leaveJournal(path, { binding: {}, start: START, sending: [] });
    const tried = await Promise.allSettled(Array.from({ length: 10 }, () => open(path)));
    const opened = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(opened).toHaveLength(1);
    await opened[0]?.close();
  });

  test.each([
    ['deleted', (path: string) => rm(path)],
    ['cut short', (path: string) => truncate(path, 200)],
    ['emptied', (path: string) => truncate(path)],
    ['moved away', (path: string) => rename(path, `${path}.old`)],
    [
      'replaced by a copy',
      async (path: string) => {
        await copyFile(path, `${path}.copy`);
        await rename(`${path}.copy`, path);
      },
    ],
  ])('a run ends when its journal is %s', async (_case, harm) => {
    const path = newJournal();
    const journal = await open(path);
    await journal.announce('a', NOTHING);
    await harm(path);
    await expect(journal.announce('b', NOTHING)).rejects.toMatchObject({ kind: 'output' });
    expect(journal.lost.aborted).toBe(true);
    await journal.close();
  });

  test('a suspended run sends no more requests after another run takes over', async () => {
    const path = newJournal();
    const journal = await open(path);
    const { holder } = readJournal(await readFile(path), path);
    const claim = {
      claim: 'other',
      over: holder?.id,
      pid: 1,
      host: 'h',
      beat_ms: 1500,
      n: 1,
      after: 2,
    };
    await appendFile(path, `\n${lineOf(claim)}`);
    await expect(journal.announce('a', NOTHING)).rejects.toThrow('was taken over by another run');
    await journal.close();
  });

  test("a later claim does not change a journal's owner", async () => {
    const path = newJournal();
    const journal = await open(path);
    await appendFile(
      path,
      `\n${lineOf({ claim: 'late', over: null, pid: 1, host: 'h', beat_ms: 1500, n: 1, after: 2 })}`,
    );
    await journal.announce('a', NOTHING);
    await journal.announce('b', NOTHING);
    await journal.close();
    expect([...readJournal(await readFile(path), path).entries.keys()]).toEqual(['a', 'b']);
  });

  test.each(['/dev/null', '/dev/full', '/dev/stdout', '/tmp'])(
    'rejects %s as a journal',
    async (path) => {
      await expect(open(path)).rejects.toThrow(
        /the journal \S+ (is not a regular file|cannot be opened)/,
      );
    },
  );
});

const A = 'aaaaaaaa-0000-4000-8000-000000000001';

describe('a journal shared by several processes', () => {
  test('records every sent change and exits with 10 when the disk is full', async () => {
    const path = newJournal();
    let posts = 0;
    const { url } = await openServer((response, { method }) => {
      if (method === 'POST') posts += 1;
      setTimeout(() => sendJson(response, 200, method === 'GET' ? [] : {}), 20);
    });
    const uuids = Array.from({ length: 60 }, (_, index) => A.replace(/..$/, String(10 + index)));
    const list = `${path}.uuids`;
    await writeFile(list, uuids.join('\n'));
    // Limits files of this process to 4 kB and ignores SIGXFSZ, so that a write fails as on a full
    // disk.
    const command = `trap '' XFSZ; ulimit -f 4; exec ${PROGRAM_LINE} bicycles act - rent --yes --json --journal "${path}" < "${list}"`;
    const env = {
      ...process.env,
      FLEET_BASE_URL: url,
      FLEET_TOKEN: 't',
      FLEET_CONFIG_DIR: '/nonexistent',
    };
    const child = spawn('bash', ['-c', command], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, stderr]).toEqual([10, expect.stringContaining('could not be written')]);
    const outcomes = jsonLines(stdout).map(({ outcome }) => outcome);
    expect(outcomes).toHaveLength(60);
    expect(posts).toBeGreaterThan(0);
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(posts);
    expect(outcomes.filter((outcome) => outcome === 'not-sent')).toHaveLength(60 - posts);
  });
});

test('the error about another run hides the secret fields of both runs', async () => {
  const path = newJournal();
  const bindingOf = (pin: string) => ({
    ...BINDING,
    fields: JSON.stringify([
      ['note', 'a "b"'],
      ['pin', pin],
    ]),
  });
  await (await open(path, bindingOf('4711'))).close();
  const { fields } = bindingOf('[hidden]');
  await expect(open(path, bindingOf('0815'))).rejects.toThrow(
    `belongs to another run: fields ${fields}, not ${fields}`,
  );
});
