// Edits at services that normalize values or send no versions, and rows that contain a version.

import { expect, test } from 'vitest';
import { environmentOf } from '../support/environment.js';
import { newJournal } from '../support/journal.js';
import { jsonLines, type RunResult, runFleet } from '../support/run.js';
import { openSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const A = 'd238dc92-4ed5-4cec-a476-fe5f869ff26e';
const B = '3cbf2500-27cf-4651-a3e0-130b9c9b2b9d';
const MODEL = 'aaaaaaaa-0000-4000-8000-00000000000b';

type Fields = { [field: string]: unknown };

interface ServiceOptions {
  /** Fields of the bicycles in addition to the UUID. */
  fields?: Fields;
  /** Returns a value as the service stores it. */
  store?: (value: unknown) => unknown;
  /** Called after each reading of a bicycle. */
  afterRead?: (bicycle: Fields, readings: number) => void;
}

/** Starts a service with two bicycles, no versions, and PUT and PATCH. */
async function openBicycles({ fields = {}, store = (value) => value, afterRead }: ServiceOptions) {
  const bicycles = new Map<string, Fields>(
    [A, B].map((uuid) => [uuid, { uuid, name: 'old', description: '', ...fields }]),
  );
  const sent: Fields[] = [];
  let readings = 0;
  const { env } = await openServer((response, { method, path, body }) => {
    const bicycle = bicycles.get(path.split('/')[2] ?? '');
    if (bicycle === undefined) return sendJson(response, 404, { detail: 'No Bicycle matches' });
    if (method === 'GET') {
      sendJson(response, 200, bicycle);
      readings += 1;
      return afterRead?.(bicycle, readings);
    }
    const values = JSON.parse(body) as Fields;
    sent.push(values);
    for (const [field, value] of Object.entries(values)) bicycle[field] = store(value);
    sendJson(response, 200, bicycle);
  });
  return { env, bicycles, sent };
}

interface Result {
  outcome: string;
  status: number | null;
  message: string | null;
}

function resultsOf({ code, stdout, stderr }: RunResult) {
  const results = jsonLines<Result>(stdout);
  const notices = jsonLines<{ notice?: string }>(stderr).map(({ notice = '' }) => notice);
  return { code, results, outcomes: results.map(({ outcome }) => outcome), notices };
}

async function edit(env: NodeJS.ProcessEnv, rows: readonly Fields[], ...flags: string[]) {
  const args = ['bicycles', 'edit', '-', '--yes', '--json', '--concurrency', '1', ...flags];
  const stdin = rows.map((row) => JSON.stringify(row)).join('\n');
  return resultsOf(await runFleet(args, { env, stdin }));
}

test.each<[what: string, sent: string, store: (text: string) => unknown, notice: string]>([
  ['trims', 'Ada ', (text) => text.trim(), 'name "Ada " as "Ada"'],
  ['stores upper case', 'Ada', (text) => text.toUpperCase(), 'name "Ada" as "ADA"'],
  ['normalises', 'Jose\u0301', (text) => text.normalize('NFC'), 'as "José"'],
  ['stores CRLF', 'a\nb', (text) => text.replaceAll('\n', '\r\n'), 'name "a\\nb" as "a\\r\\nb"'],
])(
  'reports an edit as done and prints a notice for a service that %s',
  async (_what, sent, store, notice) => {
    const { env } = await openBicycles({ store: (value) => store(String(value)) });
    const { code, outcomes, notices } = await edit(env, [{ uuid: A, name: sent }]);
    expect([code, outcomes]).toEqual([0, ['done']]);
    expect(notices.join()).toContain(`the service stored ${notice.startsWith('as') ? '' : notice}`);
    expect(notices.join()).toContain(notice);
  },
);

test('reports an edit as done when the service trims a trailing space', async () => {
  const sandbox = await openSandbox({ bicycles: 5, faults: [{ kind: 'trim' }] });
  const [bicycle] = sandbox.bicycles();
  const rows = [{ uuid: bicycle?.uuid, name: `${bicycle?.name} ` }];
  const { code, outcomes } = await edit(await environmentOf(sandbox), rows);
  expect([code, outcomes]).toEqual([0, ['done']]);
});

test('reports an edit as done when the service stores null for an empty string', async () => {
  const { env } = await openBicycles({
    fields: { note: 'old' },
    store: (value) => (value === '' ? null : value),
  });
  const { code, outcomes } = await edit(env, [{ uuid: A, note: '' }]);
  expect([code, outcomes]).toEqual([0, ['done']]);
});

test.each<[what: string, store: (text: string) => unknown, message: string]>([
  ['cuts', (text) => text.slice(0, 4), 'note (cut to "A lo")'],
  ['replaces', () => 'something else', 'note (stored as "something else")'],
  ['ignores', () => 'old', 'the service ignored the new values of: note (old)'],
])('exits with 9 when the service %s the edited value', async (_what, store, message) => {
  const { env } = await openBicycles({
    fields: { note: 'old' },
    store: (value) => (value === 'A long note' ? store(value) : value),
  });
  const run = await edit(env, [{ uuid: A, note: 'A long note', name: 'new' }]);
  expect([run.code, run.outcomes]).toEqual([9, ['refused']]);
  expect(run.results[0]?.message).toContain(message);
});

test('does not send an edit when the bicycle already has the given model', async () => {
  const { env, sent } = await openBicycles({
    fields: { model: `https://other.example/api/bicycle_models/${MODEL}/` },
  });
  const flags = ['bicycles', 'edit', A, '--model', MODEL, '--yes'];
  const { code, stderr } = await runFleet(flags, { env });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('already has these values'),
  });
  expect(sent).toEqual([]);
});

test('an edit of a link is done although the service changed the host of the link', async () => {
  const { env } = await openBicycles({
    fields: { lock: null },
    store: (value) => (String(value).endsWith('/locks/7/') ? 'http://proxy/v2/locks/7/' : value),
  });
  const { code, outcomes } = await edit(env, [{ uuid: A, lock: 'https://x.example/locks/7/' }]);
  expect([code, outcomes]).toEqual([0, ['done']]);
});

test.each([
  ['another field', { note: 'by another user' }, 'note (none) -> by another user'],
  ['the same field', { description: 'by another user' }, 'description (empty) -> by another user'],
  ['the tags', { tags: ['x'] }, 'tags (none) -> ["x"]'],
])(
  'does not send a PUT when another user changed %s after the preview',
  async (_what, change, words) => {
    const { env, sent, bicycles } = await openBicycles({
      afterRead(bicycle, readings) {
        if (readings === 2) Object.assign(bicycles.get(A) ?? {}, change);
        if (readings > 2) bicycle['latitude'] = readings;
      },
    });
    const journal = newJournal();
    const rows = [A, B].map((uuid) => ({ uuid, description: 'mine' }));
    const run = await edit(env, rows, '--journal', journal);
    expect([run.code, run.outcomes]).toEqual([9, ['changed', 'done']]);
    expect(run.results[0]?.message).toContain(
      `was changed by another user since it was read: ${words}`,
    );
    expect(sent).toHaveLength(1);
    expect(bicycles.get(A)).toMatchObject(change);
    // Repeating the command reads the bicycle again and applies the edit to its new fields.
    const again = await edit(env, rows, '--journal', journal);
    expect([again.code, again.outcomes]).toEqual([0, ['done', 'skipped']]);
  },
);

test('does not edit a bicycle that another user changed after the preview', async () => {
  const { env, sent } = await openBicycles({
    afterRead: (bicycle) => Object.assign(bicycle, { note: 'by another user' }),
  });
  const args = ['bicycles', 'edit', A, '--description', 'mine', '--yes'];
  const { code, stderr } = await runFleet(args, { env });
  expect([code, sent]).toEqual([9, []]);
  expect(stderr).toContain('was changed by another user since it was read');
});

test('edits a bicycle even when it moved after the preview', async () => {
  const moving = await openBicycles({
    afterRead: (bicycle, readings) => Object.assign(bicycle, { latitude: readings, state: 'lost' }),
  });
  expect((await edit(moving.env, [{ uuid: A, description: 'mine' }])).outcomes).toEqual(['done']);
  const patched = await openBicycles({
    afterRead: (bicycle) => Object.assign(bicycle, { note: 'by another user' }),
  });
  const rows = [{ uuid: A, description: 'mine' }];
  expect((await edit(patched.env, rows, '--method', 'PATCH')).outcomes).toEqual(['done']);
  expect(patched.sent).toEqual([{ description: 'mine' }]);
});

test('a bicycle deleted after the preview does not block the other edits', async () => {
  const { env, bicycles } = await openBicycles({
    afterRead(_bicycle, readings) {
      if (readings === 2) bicycles.delete(A);
    },
  });
  const { outcomes } = await edit(
    env,
    [A, B].map((uuid) => ({ uuid, description: 'mine' })),
  );
  expect(outcomes).toEqual(['refused', 'done']);
});

test.each(['jsonl', 'csv', 'json', 'xlsx'])(
  'does not overwrite a newer edit with a row from an older %s export',
  async (format) => {
    const sandbox = await openSandbox({ bicycles: 3 });
    const env = await environmentOf(sandbox);
    const file = `${newJournal()}.${format}`;
    for (const { uuid } of sandbox.bicycles())
      sandbox.changeBicycle(uuid, { description: 'exported' });
    // The other formats contain all fields.
    const isTable = format === 'csv' || format === 'xlsx';
    const columns = isTable ? ['--columns', 'uuid,description,concurrency_version'] : [];
    const list = ['bicycles', 'list', '--all', '-o', format, '--file', file, ...columns];
    await runFleet(list, { env });
    const [one] = sandbox.bicycles();
    sandbox.changeBicycle(one?.uuid ?? '', { description: 'by another user' });
    const from = ['bicycles', 'edit', '--from', file, '--yes', '--json'];
    const run = resultsOf(await runFleet(from, { env }));
    expect([run.code, run.outcomes.sort()]).toEqual([9, ['failed', 'unchanged', 'unchanged']]);
    const found = run.results.find(({ status }) => status === 409);
    expect(found?.message).toMatch(/concurren/i);
    expect(sandbox.bicycle(one?.uuid ?? '')?.description).toBe('by another user');
  },
);

/** Edits a bicycle by a text with one row. Returns its exit code, messages and sent values. */
async function editByCell(present: Fields, text: string) {
  const { env, sent } = await openBicycles({ fields: present });
  const args = ['bicycles', 'edit', '-', '--yes', '--empty', 'clear'];
  const { code, stderr } = await runFleet(args, { env, stdin: text });
  return { code, stderr, sent };
}

test.each(['007', '0o17', '0x1F', '+5', '.5', '1.50', '.inf', '12345678901234567890'])(
  'a YAML number keeps its spelling in a text field: %s',
  async (number) => {
    const text = `- uuid: ${A}\n  serial_number: ${number}\n`;
    const run = await editByCell({ serial_number: 'old' }, text);
    expect([run.code, run.sent]).toEqual([0, [expect.objectContaining({ serial_number: number })]]);
    const { code, sent } = await editByCell({ serial_number: number }, text);
    expect([code, sent]).toEqual([0, []]);
  },
);

test.each([
  ['007', 7],
  ['0x1F', 31],
  ['0o17', 15],
  ['.5', 0.5],
])('a number in YAML sets a number field: %s', async (number, value) => {
  const text = `- uuid: ${A}\n  num: ${number}\n`;
  const run = await editByCell({ num: 1 }, text);
  expect([run.code, run.sent]).toEqual([0, [expect.objectContaining({ num: value })]]);
  const { code, sent } = await editByCell({ num: value }, text);
  expect([code, sent]).toEqual([0, []]);
});

test('accepts a YAML number as a serial number', async () => {
  const sandbox = await openSandbox({ bicycles: 3 });
  const env = {
    ...(await environmentOf(sandbox)),
    FLEET_ORGANIZATION: sandbox.organizations[0]?.uuid,
  };
  const create = ['bicycles', 'create', '--from', '-', '--yes'];
  const created = await runFleet(create, { env, stdin: '- name: 0x10\n  serial_number: 007\n' });
  expect(created.code).toBe(0);
  const find = () => sandbox.bicycles().find(({ name }) => name === '0x10');
  expect(find()?.serial_number).toBe('007');
  const args = ['bicycles', 'edit', '-', '--yes'];
  const stdin = '- serial_number: 007\n  description: found\n';
  expect((await runFleet(args, { env, stdin })).code).toBe(0);
  expect(find()?.description).toBe('found');
});

test.each([
  [true, 'FALSE', false],
  [true, 'falsch', false],
  [true, 'FAUX', false],
  [true, 'Falso', false],
  [false, 'TRUE', true],
  [false, 'Wahr', true],
  [false, 'VRAI', true],
  [false, 'VERO', true],
  [false, 'VERDADERO', true],
])('a boolean field with the value %s and the cell %s becomes %s', async (flag, cell, value) => {
  const { code, sent } = await editByCell({ flag }, `uuid,flag\n${A},${cell}\n`);
  expect([code, sent]).toEqual([0, [expect.objectContaining({ flag: value })]]);
});

test.each(['WAHR', 'true', ' TRUE '])(
  'a true field with the cell "%s" is unchanged',
  async (cell) => {
    const { code, sent } = await editByCell({ flag: true }, `uuid,flag\n${A},${cell}\n`);
    expect([code, sent]).toEqual([0, []]);
  },
);

test.each([
  ['uuid;num', '2,5', 2.5],
  ['uuid;num', '1,000', 1],
  ['uuid;num', '2.5', 2.5],
  ['uuid,num', '"2,5"', 2.5],
  ['uuid,num', '1.000', 1],
  ['uuid,num', '-0.005', -0.005],
  ['uuid,num', '"0,005"', 0.005],
  ['uuid\tnum', '13.404', 13.404],
  ['uuid,num', '2e-7', 2e-7],
])('with the header %j, the cell %s is read as the number %d', async (header, cell, value) => {
  const delimiter = header[4] ?? '';
  const { code, sent } = await editByCell({ num: 9 }, `${header}\n${A}${delimiter}${cell}\n`);
  expect([code, sent]).toEqual([0, [expect.objectContaining({ num: value })]]);
});

test.each([
  ['uuid;num', '1,5'],
  ['uuid;num', '1.5'],
  ['uuid;num', '1,500'],
  ['uuid,num', '1.50'],
  ['uuid,num', '"1,5"'],
])('with the header %j, the cell %s is read as 1.5 and changes nothing', async (header, cell) => {
  const delimiter = header[4] ?? '';
  const { code, sent } = await editByCell({ num: 1.5 }, `${header}\n${A}${delimiter}${cell}\n`);
  expect([code, sent]).toEqual([0, []]);
});

test.each([
  ['uuid,num', '"1,000"', 'num "1,000" is ambiguous', 'write 1000 or 1.0000'],
  ['uuid\tnum', '1,000', 'num "1,000" is ambiguous', 'write 1000 or 1.0000'],
  ['uuid;num', '1.000', 'num "1.000" is ambiguous', 'write 1000 or 1,0000'],
  ['uuid,num', '"1,234.5"', 'num must be a number', 'without thousands separators'],
  ['uuid,num', 'TRUE', 'num must be a number, not "TRUE"', ''],
  ['uuid,num', '5 kg', 'num must be a number', 'without thousands separators or a unit'],
  ['uuid,num', '007', 'num must be a number', ''],
  [
    'uuid,num',
    '3.57E+14',
    'num "3.57E+14" is a shortened number: some digits are missing',
    'format the column as text',
  ],
  ['uuid,flag', '1', 'flag must be true or false, not "1"', ''],
  ['uuid,flag', 'SANT', 'flag must be true or false, not "SANT"', ''],
])('with the header %j, the cell %s is refused', async (header, cell, message, hint) => {
  const delimiter = header[4] ?? '';
  const present = { num: 1, flag: true };
  const run = await editByCell(present, `${header}\n${A}${delimiter}${cell}\n`);
  expect([run.code, run.sent]).toEqual([2, []]);
  expect(run.stderr).toContain(`line 2 of stdin: ${message}`);
  expect(run.stderr).toContain(hint);
});

test('rejects a version number with a thousands separator', async () => {
  const text = `uuid;concurrency_version;note\n${A};1,000;new\n`;
  const { code, stderr, sent } = await editByCell({ concurrency_version: 1 }, text);
  expect([code, sent]).toEqual([2, []]);
  expect(stderr).toContain('concurrency_version "1,000" is not a whole number');
});
