// Tests `fleet bicycles create --from` with every kind of file, large files and journals. The
// transcripts test/transcripts/bicycles/create-from*.md show its use and the mistakes in rows.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { openQuickClock } from '../support/fast-clock.js';
import { newFolder } from '../support/folder.js';
import { jsonLines, type RunOptions, runFleet } from '../support/run.js';
import { openSandbox, useSandbox, withSandbox } from '../support/sandbox.js';
import { sendJson, withServer } from '../support/server.js';

const ORGANIZATION = 'aaaaaaaa-0000-4000-8000-00000000000a';

const folder = newFolder();

async function fileOf(text: string | Uint8Array): Promise<string> {
  const path = join(folder, `${Math.random().toString(36).slice(2)}.txt`);
  await writeFile(path, text);
  return path;
}

async function create(sandbox: Sandbox, args: readonly string[], options: RunOptions = {}) {
  const organization = sandbox.organizations[0]?.uuid ?? '';
  const env = {
    ...(await environmentOf(sandbox)),
    FLEET_ORGANIZATION: organization,
    ...options.env,
  };
  return runFleet(['bicycles', 'create', ...args], { clock: openQuickClock(), ...options, env });
}

function posted(sandbox: Sandbox): { name: string; [field: string]: string }[] {
  return sandbox.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => JSON.parse(body || '{}'));
}

const NAMES = ['Ada', 'Bea', 'Žofie 🚲', 'a,b "c"\nd'];
const CSV_CELLS = NAMES.map((name) => `"${name.replaceAll('"', '""')}"`);

test.each([
  ['CSV', `name\n${CSV_CELLS.join('\n')}\n`],
  [
    'CSV with a byte order mark, CR LF and semicolons',
    `\uFEFFname;description\r\n${CSV_CELLS.map((cell) => `${cell};`).join('\r\n')}\r\n`,
  ],
  [
    'CSV with headers in any case, and sep=',
    `sep=;\r\n NAME ;Description\r\n${CSV_CELLS.map((cell) => `${cell};`).join('\r\n')}\r\n`,
  ],
  [
    'a JSON array',
    JSON.stringify(
      NAMES.map((name) => ({ name })),
      null,
      2,
    ),
  ],
  ['JSON lines', NAMES.map((name) => JSON.stringify({ name, model: null })).join('\r\n')],
])(
  'creates all bicycles from %s and prints their UUIDs in the order of the file',
  async (_kind, text) => {
    const sandbox = await openSandbox({
      service: 'interface',
      bicycles: 5,
      faults: [{ kind: 'latency', milliseconds: 3 }],
    });
    const organization = `${sandbox.baseUrl}/organizations/${sandbox.organizations[0]?.uuid}/`;
    for (const [from, stdin] of [
      [await fileOf(text), ''],
      ['-', text],
    ] as const) {
      const before = posted(sandbox).length;
      const { code, stdout, stderr } = await create(
        sandbox,
        ['--from', from, '--yes', '-o', 'uuid'],
        { stdin },
      );
      expect([code, stderr]).toEqual([
        0,
        expect.stringMatching(/^4 bicycles: 4 done in [\d.]+ .+\n$/),
      ]);
      const created = stdout.trim().split('\n');
      expect(created.map((uuid) => sandbox.bicycle(uuid)?.name)).toEqual(NAMES);
      const sent = posted(sandbox).slice(before);
      expect(sent.map((body) => body['organization'])).toEqual(sent.map(() => organization));
    }
  },
);

test('accepts model names in rows and uses flags as default values', async () => {
  const sandbox = await openSandbox({ bicycles: 5 });
  const [{ uuid: model = '' } = {}, other] = sandbox.models;
  const lock = '00000000-0000-4000-8000-00000000000a';
  const text = `name,serial_number,model,lock\nAda,1,,${lock}\nBea,2,${other?.name},\n`;
  const flags = ['--model', model, '--description', 'new', '--concurrency', '1'];
  expect((await create(sandbox, ['--from', await fileOf(text), '--yes', ...flags])).code).toBe(0);
  const organization = `${sandbox.baseUrl}/organizations/${sandbox.organizations[0]?.uuid}/`;
  const model1 = `${sandbox.baseUrl}/bicycle_models/${model}/`;
  const model2 = `${sandbox.baseUrl}/bicycle_models/${other?.uuid}/`;
  const common = { organization, description: 'new' };
  expect(posted(sandbox)).toEqual([
    {
      ...common,
      name: 'Ada',
      serial_number: '1',
      lock: `${sandbox.baseUrl}/locks/${lock}/`,
      model: model1,
    },
    { ...common, name: 'Bea', serial_number: '2', model: model2 },
  ]);
});

describe('`bicycles create --from` reports the position of an error in the file and sends nothing', () => {
  const sandbox = useSandbox({ bicycles: 5 });

  test.each([
    [
      'name,serial-number\nAda,1\n',
      ':1: unknown field "serial-number": did you mean "serial_number"?',
    ],
    ['name,model\nAda,city\n', ':2: no model is named "city"'],
  ])('%j', async (text, words) => {
    const path = await fileOf(text);
    const { code, stdout, stderr } = await create(sandbox(), ['--from', path, '--yes', '--json']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(JSON.parse(stderr).error.message).toContain(`${path}${words}`);
    expect(posted(sandbox())).toEqual([]);
  });

  test('rejects a duplicate row even when it omits the organization', async () => {
    const organization = `http://127.0.0.1/organizations/${ORGANIZATION}/`;
    await withServer(
      (response) => sendJson(response, 200, [{ uuid: ORGANIZATION, organization }]),
      async ({ url, asked }) => {
        const path = await fileOf(
          `{"organization":"${ORGANIZATION}","name":"Ada"}\n{"name":"Ada"}\n`,
        );
        const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't' };
        const { code, stderr } = await runFleet(['bicycles', 'create', '--from', path, '--yes'], {
          env,
        });
        const said = expect.stringContaining(':2: the same bicycle as in line 1');
        expect({ code, stderr, sent: asked.filter(({ method }) => method === 'POST') }).toEqual({
          ...{ code: 2, stderr: said },
          sent: [],
        });
      },
    );
  });

  test('reports the errors of a file in line order', async () => {
    const long = '-'.repeat(200);
    const rows = Array.from(
      { length: 8_000 },
      (_, row) => `Bicycle ${row} 🚲\u2028${long},S${row},`,
    );
    const path = await fileOf(
      ['name,serial_number,model', ...rows, 'x,S7,', 'y,,z', rows[9], 'u,S9,'].join('\n'),
    );
    const { code, stderr } = await create(sandbox(), ['--from', path, '--yes', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr).error.detail).toEqual([
      `${path}:8002: serial_number "S7" is already used in line 9`,
      `${path}:8003: no model is named "z"`,
      `${path}:8004: the same bicycle as in line 11`,
      `${path}:8005: serial_number "S9" is already used in line 11`,
    ]);
    const good = await create(sandbox(), ['--from', '-', '--dry-run', '-o', 'jsonl'], {
      stdin: ['name,serial_number,model', ...rows].join('\n'),
    });
    expect(jsonLines<{ body: { name: string } }>(good.stdout).map(({ body }) => body.name)).toEqual(
      rows.map((row) => row.split(',')[0]),
    );
    expect(posted(sandbox())).toEqual([]);
  });
});

describe.concurrent('`bicycles create --from` with a journal', () => {
  const rows = Array.from({ length: 40 }, (_, index) => ({
    name: `New ${index}`,
    serial_number: `S-${index}`,
  }));

  test.each([
    ['503', { kind: 'error', status: 503, share: 0.2 }],
    ['connections that die', { kind: 'cut', share: 0.2 }],
  ] as const)(
    'creates each bicycle once and prints the UUIDs in the order of the file after %s',
    async (_case, fault) => {
      await withSandbox(
        { bicycles: 30, faults: [{ ...fault, only: ({ method }) => method === 'POST' }] },
        async (sandbox) => {
          const path = await fileOf(JSON.stringify(rows));
          const args = ['--from', path, '--yes', '--journal', `${path}.journal`, '-o', 'uuid'];
          const runs = [await create(sandbox, args)];
          while (runs.at(-1)?.code !== 0 && runs.length < 12)
            runs.push(await create(sandbox, args));
          expect(runs.map(({ code }) => code)).toEqual([...runs.slice(1).map(() => 9), 0]);
          expect(runs.length).toBeGreaterThan(1);
          const made = sandbox.bicycles().filter(({ name }) => name.startsWith('New '));
          expect(made.map(({ name }) => name).sort()).toEqual(rows.map(({ name }) => name).sort());
          const last = runs.at(-1)?.stdout.trim().split('\n');
          expect(last?.map((uuid) => sandbox.bicycle(uuid)?.name)).toEqual(
            rows.map(({ name }) => name),
          );
        },
      );
    },
  );

  test('a resumed run creates only the bicycles that the first run did not create', async () => {
    const made: object[] = [];
    let posts = 0;
    await withServer(
      (response, { method, body }, socket) => {
        if (method === 'GET') return sendJson(response, 200, made);
        posts += 1;
        // The first request is lost; the answer to the second is lost.
        if (posts === 1) return void socket.destroy();
        const bicycle = {
          ...JSON.parse(body),
          uuid: `u${posts}`,
          created: new Date().toISOString(),
        };
        made.unshift(bicycle);
        if (posts === 2) return void socket.destroy();
        sendJson(response, 201, bicycle);
      },
      async ({ url }) => {
        const env = { FLEET_BASE_URL: url, FLEET_TOKEN: 't', FLEET_ORGANIZATION: ORGANIZATION };
        const path = await fileOf('name\nAda\nBea\nCid\n');
        const args = [
          'bicycles',
          'create',
          '--from',
          path,
          '--yes',
          '--journal',
          `${path}.journal`,
        ];
        const run = () =>
          runFleet([...args, '--concurrency', '1'], { env, clock: openQuickClock() });
        expect((await run()).code).toBe(9);
        expect(await run()).toMatchObject({
          code: 0,
          stderr: expect.stringContaining(
            'an earlier run got no answer to 2 requests; 1 done; 1 not done, sent now; 0 still unknown',
          ),
        });
        expect(made).toHaveLength(3);
      },
    );
  });

  test('a resumed run rejects a row that changed since the first run', async () => {
    await withSandbox({ bicycles: 5 }, async (sandbox) => {
      const path = await fileOf('name\nAda\nBea\n');
      const args = ['--from', path, '--yes', '--journal', `${path}.journal`];
      expect((await create(sandbox, args)).code).toBe(0);
      await writeFile(path, 'name\nAda\nCid\nDot\n');
      const changed = await create(sandbox, args);
      expect([changed.code, posted(sandbox).length]).toEqual([2, 2]);
      expect(changed.stderr).toContain(
        `row 2 of ${path} has changed since the journal was started`,
      );
      await writeFile(path, 'name\nAda\n');
      expect((await create(sandbox, args)).stderr).toContain('row 2 of');
      // Rows that were added at the end are created.
      await writeFile(path, 'name\nAda\nBea\nCid\n');
      expect((await create(sandbox, args)).code).toBe(0);
      // Two concurrent creations may arrive in any order.
      const names = posted(sandbox).map(({ name }) => name);
      expect(names.sort()).toEqual(['Ada', 'Bea', 'Cid']);
    });
  });

  test('does not mistake another bicycle for the result of an unanswered create request', async () => {
    await withSandbox({ service: 'interface', bicycles: 5 }, async (sandbox) => {
      await create(sandbox, ['--name', 'Ada']);
      // The service distinguishes the bicycles before the run by their time in seconds.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const path = await fileOf('name,serial_number\nAda,\nAda,7\n');
      const journal = `${path}.journal`;
      sandbox.setFaults([
        { kind: 'error', status: 503, share: 1, times: 1, only: ({ method }) => method === 'POST' },
      ]);
      const args = ['--from', path, '--yes', '--journal', journal, '--concurrency', '1'];
      const first = await create(sandbox, args);
      expect([first.code, posted(sandbox).length]).toEqual([9, 3]);
      const second = await create(sandbox, args);
      expect([second.code, second.stderr]).toEqual([
        0,
        expect.stringContaining('1 not done, sent now'),
      ]);
      expect(sandbox.bicycles().filter(({ name }) => name === 'Ada')).toHaveLength(3);
    });
  });
});
