// Tests edits of workbooks, and journals of edits. The transcripts
// test/transcripts/bicycles/edit-many*.md show edits of rows and their mistakes.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import readXlsxFile from 'read-excel-file/node';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import writeXlsxFile from 'write-excel-file/node';
import { startSandbox } from '../../src/sandbox/index.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer, sendJson } from '../support/server.js';

const service = useSandbox({ bicycles: 30 });
let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const edit = async (
  input: string | Buffer,
  args: readonly string[] = ['--yes'],
  env: NodeJS.ProcessEnv = {},
) =>
  runFleet(['bicycles', 'edit', '-', ...args], {
    env: { ...(await environmentOf(service())), ...env },
    stdin: Readable.from([input]),
  });
const usual = () =>
  service()
    .bicycles()
    .filter(({ name, serial_number, bleid }) => /^\w+ \d{4}$/.test(name) && serial_number && bleid);
const now = (uuid = '') =>
  service()
    .bicycles()
    .find((one) => one.uuid === uuid);

test.each(['csv', 'jsonl', 'xlsx'])(
  'edits rows of %s that identify bicycles by any kind of name',
  async (format) => {
    const [one, two, three] = usual();
    const rows: { [field: string]: string }[] = [
      { uuid: one?.uuid ?? '', name: `Ada, "${format}"`, description: `new ${format}` },
      { serial_number: two?.serial_number ?? '', name: `Bob ${format}` },
      { bleid: three?.bleid ?? '', description: `front ${format}` },
    ];
    const header = ['uuid', 'serial_number', 'bleid', 'name', 'description'];
    const cells = [header, ...rows.map((row) => header.map((field) => row[field] ?? ''))];
    const path = join(folder, 'in.xlsx');
    if (format === 'xlsx')
      await (
        await writeXlsxFile(cells.map((row) => row.map((value) => ({ value }))) as never)
      ).toFile(path);
    const input = {
      csv: cells
        .map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','))
        .join('\n'),
      jsonl: rows.map((row) => JSON.stringify(row)).join('\n'),
      xlsx: format === 'xlsx' ? await readFile(path) : '',
    }[format];
    const run = await edit(input ?? '');
    expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('3 bicycles: 3 done')]);
    expect(run.stderr).toMatch(new RegExp(`name +${two?.name} -> Bob ${format}`));
    expect(now(one?.uuid)).toMatchObject({
      name: `Ada, "${format}"`,
      description: `new ${format}`,
    });
    expect(now(two?.uuid)).toMatchObject({
      name: `Bob ${format}`,
      serial_number: two?.serial_number,
    });
    expect(now(three?.uuid)).toMatchObject({ name: three?.name, description: `front ${format}` });
  },
);

test('accepts an exported list with columns that the service does not have', async () => {
  const plain = await startSandbox({ bicycles: 10, rate: 0, service: 'interface' });
  onTestFinished(() => plain.close());
  const env = await environmentOf(plain);
  const path = join(folder, 'fleet.xlsx');
  await runFleet(['bicycles', 'list', '--all', '--headings', '--file', path], { env });
  const { code, stderr } = await runFleet(['bicycles', 'edit', '--from', path, '--dry-run'], {
    env,
  });
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('unknown column')]);
  expect(plain.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
});

const UUIDS = ['d238dc92-4ed5-4cec-a476-fe5f869ff26e', '3cbf2500-27cf-4651-a3e0-130b9c9b2b9d'];

/** Creates two bicycles and a scripted answer for each edit. */
async function openBicycles(
  answer: (edit: {
    method: string;
    path: string;
    body: { [field: string]: unknown };
  }) => [number, unknown],
) {
  const edits: string[] = [];
  const { env } = await openServer((response, { method, path, body }) => {
    const uuid = UUIDS.find((each) => path.includes(each));
    if (method === 'GET' && uuid === undefined)
      return sendJson(response, 200, { count: 0, results: [] });
    if (method === 'GET')
      return sendJson(response, 200, {
        uuid,
        name: 'old',
        description: '',
        concurrency_version: 7,
      });
    edits.push(`${method} ${uuid?.slice(0, 4)}`);
    const [status, sent] = answer({ method, path, body: JSON.parse(body) });
    sendJson(response, status, { uuid, ...(sent as object) });
  });
  return { env, edits };
}

const TWO = UUIDS.map((uuid) => JSON.stringify({ uuid, name: 'new', description: 'd' })).join('\n');

test('exits with 9 when the response to an edit omits the edited field', async () => {
  const { env } = await openBicycles(() => [200, { name: 'new' }]);
  const run = await edit(TWO, ['--yes'], env);
  expect([run.code, run.stderr]).toEqual([9, expect.stringContaining('2 refused')]);
  expect(run.stdout).toContain('description (not in its answer)');
});

test('edits with PATCH when the service does not support PUT', async () => {
  const { env, edits } = await openBicycles(({ method, body }) =>
    method === 'PUT' ? [405, {}] : [200, body],
  );
  expect(await edit(TWO, ['--yes', '--concurrency', '1'], env)).toMatchObject({ code: 0 });
  expect(edits).toEqual(['PUT d238', 'PATCH d238', 'PATCH 3cbf']);
});

test('does not repeat an edit that the journal records as done', async () => {
  const journal = join(folder, 'j.jsonl');
  const { env, edits } = await openBicycles(({ body, path }) =>
    path.includes(UUIDS[1] ?? '') ? [423, {}] : [200, body],
  );
  const args = ['--yes', '--journal', journal, '--concurrency', '1'];
  expect(await edit(TWO, args, env)).toMatchObject({ code: 9 });
  expect(await edit(TWO, args, env)).toMatchObject({ code: 9 });
  expect(edits).toEqual(['PUT d238', 'PUT 3cbf', 'PUT 3cbf']);
  const shown = await runFleet(
    ['journal', 'show', journal, '-o', 'csv', '--columns', 'uuid,outcome'],
    { env },
  );
  expect(shown.stdout).toBe(`uuid,outcome\n${UUIDS[0]},done\n${UUIDS[1]},failed\n`);
  const sheet = join(folder, 'journal.xlsx');
  const columns = ['--columns', 'uuid,status'];
  await runFleet(['journal', 'show', journal, '-o', 'xlsx', '--file', sheet, ...columns], { env });
  const [page] = await readXlsxFile(await readFile(sheet));
  const [header = [], first = []] = page?.data ?? [];
  expect(first[header.indexOf('uuid')]).toBe(UUIDS[0]);
  expect(first[header.indexOf('status')]).toBe(200);
  expect(page?.data).toHaveLength(3);
  await edit(TWO.replace('"d"', '"e"'), args, env);
  expect(edits.slice(3)).toEqual(['PUT d238', 'PUT 3cbf']);
});

test("repeats an unanswered edit when the bicycle's version is unchanged", async () => {
  const journal = join(folder, 'j.jsonl');
  let status = 502;
  const { env, edits } = await openBicycles(({ body }) => [status, body]);
  const args = ['--yes', '--journal', journal, '--settle', '0'];
  expect(await edit(TWO, args, env)).toMatchObject({
    code: 9,
    stderr: expect.stringContaining('2 unknown'),
  });
  status = 200;
  const again = await edit(TWO, args, env);
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('2 not done, sent now')]);
  expect(edits).toHaveLength(4);
});
