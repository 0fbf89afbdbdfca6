// One matrix: every output format of every command that lists something. All formats of a command
// show the same items in the same order. Layouts are tested beside the formats: test/terminal and
// test/views.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { keepJq } from '../support/jq.js';
import { jsonLines, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { readXlsx } from '../support/sheets.js';

type Row = { [field: string]: unknown };

/** The commands, and a field that differs between their items. */
const COMMANDS: readonly (readonly [line: string, field: string])[] = [
  ['bicycles list', 'uuid'],
  ['bicycles list --all --state lost', 'uuid'],
  ['bicycles history BICYCLE', 'at'],
  ['alerts list', 'uuid'],
  ['organizations list', 'uuid'],
  ['zones list', 'uuid'],
  ['models list', 'uuid'],
];

const sandbox = useSandbox({ bicycles: 40 });
let env: NodeJS.ProcessEnv;
keepJq();

async function run(line: string, ...flags: readonly string[]): Promise<string> {
  const bicycle = sandbox().bicycles()[0]?.uuid ?? '';
  const { code, stdout, stderr } = await runFleet(
    [...line.replace('BICYCLE', bicycle).split(' '), ...flags, '-q'],
    { env },
  );
  expect(code, stderr).toBe(0);
  return stdout;
}

beforeAll(async () => {
  env = await environmentOf(sandbox());
  const [first] = sandbox().bicycles();
  sandbox().changeBicycle(first?.uuid ?? '', { state: 'available' });
  sandbox().act(first?.uuid ?? '', 'put_in_maintenance');
});

describe.each(COMMANDS)('fleet %s', (line, field) => {
  let items: Row[];
  let expected: string[];
  beforeAll(async () => {
    items = JSON.parse(await run(line, '--json'));
    expected = items.map((item) => String(item[field]));
    expect(expected.length).toBeGreaterThan(0);
  });

  test('jsonl output has one line for each item of the json output', async () => {
    expect(jsonLines(await run(line, '-o', 'jsonl'))).toEqual(items);
  });

  test('yaml output has the same items as json output', async () => {
    const documents = parseAllDocuments(await run(line, '-o', 'yaml'));
    expect(documents.map((document) => document.toJS())).toEqual([items]);
  });

  test.each([
    ['csv', ','],
    ['tsv', '\t'],
  ])('%s output has a header and one row for each item', async (format, delimiter) => {
    const text = await run(line, '-o', format, '--columns', field);
    const [header, ...rows] = parseCsv(text, { delimiter }) as string[][];
    expect(header).toEqual([field]);
    expect(rows.flat()).toEqual(expected);
  });

  test('table output has a header and one line for each item', async () => {
    const [header, ...rows] = (await run(line)).trimEnd().split('\n');
    expect(header).toMatch(/^[A-Z][A-Z ()]+$/);
    expect(rows).toHaveLength(items.length);
  });

  test('wide output has at least the columns of the table', async () => {
    const [[plain = ''], [wide = '']] = (await Promise.all(
      [[], ['-o', 'wide']].map(async (flags) => (await run(line, ...flags)).split('\n')),
    )) as [string[], string[]];
    const columnsOf = (text: string) => text.split(/ {2,}/);
    expect(columnsOf(wide)).toEqual(expect.arrayContaining(columnsOf(plain)));
  });

  test('xlsx output has a header and one row for each item', async () => {
    const path = join(newFolder(), 'items.xlsx');
    await run(line, '-o', 'xlsx', '--file', path);
    const [sheet] = await readXlsx(readFileSync(path));
    expect(sheet?.xml.match(/<row /g)).toHaveLength(1 + items.length);
  });

  test('--jq receives the same items as -o json, and prints strings without quotes', async () => {
    expect(await run(line, '--jq', `.[].${field}`)).toBe(`${expected.join('\n')}\n`);
  });

  if (field === 'uuid')
    test('-o uuid has one line for each item', async () => {
      expect(await run(line, '-o', 'uuid')).toBe(expected.map((uuid) => `${uuid}\n`).join(''));
    });
});
