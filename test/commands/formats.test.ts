// One matrix: every output format (`FORMATS`) of the commands that list something. All formats of a
// command show the same items in the same order, and the other formats are refused. Layouts are
// tested beside the formats: test/terminal and test/views.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { FORMATS, type Format } from '../../src/terminal/formats.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { keepJq } from '../support/jq.js';
import { jsonLines, runFleet } from '../support/run.js';
import { useSandbox } from '../support/sandbox.js';
import { readXlsx } from '../support/sheets.js';

type Row = { [field: string]: unknown };

/** The formats of fleet's own results, such as settings. */
const REPORTS: readonly Format[] = ['table', 'json', 'jsonl', 'csv', 'tsv', 'yaml', 'xlsx'];
/** The formats of the service's data without a position. */
const WITHOUT_POSITION: readonly Format[] = [...REPORTS, 'uuid'];

/** The commands, a field that differs between their items, and their formats. */
const COMMANDS: readonly (readonly [line: string, field: string, formats: readonly Format[]])[] = [
  ['bicycles list', 'uuid', FORMATS],
  ['bicycles list --all --state lost', 'uuid', FORMATS],
  ['bicycles stats', 'value', WITHOUT_POSITION],
  ['bicycles history BICYCLE', 'at', WITHOUT_POSITION],
  ['alerts list', 'uuid', FORMATS],
  ['organizations list', 'uuid', WITHOUT_POSITION],
  ['zones list', 'uuid', FORMATS],
  ['models list', 'uuid', WITHOUT_POSITION],
  ['profile list', 'name', REPORTS],
  ['alias list', 'name', REPORTS],
];

const sandbox = useSandbox({ bicycles: 40 });
let env: NodeJS.ProcessEnv;
keepJq();

/** Runs a line with flags. Fails when its exit code is not 0. */
async function run(line: string, ...flags: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runLine(line, flags);
  expect(code, stderr).toBe(0);
  return stdout;
}

function runLine(line: string, flags: readonly string[]) {
  const bicycle = sandbox().bicycles()[0]?.uuid ?? '';
  return runFleet([...line.replace('BICYCLE', bicycle).split(' '), ...flags, '-q'], { env });
}

beforeAll(async () => {
  env = { ...(await environmentOf(sandbox())), FLEET_CONFIG_DIR: newFolder() };
  await run('alias set lost', 'bicycles list --state lost');
  await run('config set retries 1');
  const [first] = sandbox().bicycles();
  sandbox().changeBicycle(first?.uuid ?? '', { state: 'available' });
  sandbox().act(first?.uuid ?? '', 'put_in_maintenance');
});

/** Checks a format of a command. `items` are the items of its json output. */
type Check = (line: string, field: string, items: readonly Row[]) => Promise<void>;

/** The check of each format. A new format needs a check. */
const CHECKS: { readonly [format in Format]: Check } = {
  async table(line, _field, items) {
    const [header, ...rows] = (await run(line)).trimEnd().split('\n');
    expect(header).toMatch(/^[A-Z][A-Z_ ()]+$/);
    expect(rows).toHaveLength(items.length);
  },
  async json(line, _field, items) {
    expect(JSON.parse(await run(line, '-o', 'json'))).toEqual(items);
  },
  async jsonl(line, _field, items) {
    expect(jsonLines(await run(line, '-o', 'jsonl'))).toEqual(items);
  },
  async yaml(line, _field, items) {
    const documents = parseAllDocuments(await run(line, '-o', 'yaml'));
    expect(documents.map((document) => document.toJS())).toEqual([items]);
  },
  csv: (line, field, items) => checkDelimited(line, field, items, ['csv', ',']),
  tsv: (line, field, items) => checkDelimited(line, field, items, ['tsv', '\t']),
  async xlsx(line, _field, items) {
    const path = join(newFolder(), 'items.xlsx');
    await run(line, '-o', 'xlsx', '--file', path);
    const [sheet] = await readXlsx(readFileSync(path));
    expect(sheet?.xml.match(/<row /g)).toHaveLength(1 + items.length);
  },
  async uuid(line, _field, items) {
    const uuids = items.flatMap(({ uuid }) => (typeof uuid === 'string' ? `${uuid}\n` : []));
    expect(await run(line, '-o', 'uuid')).toBe(uuids.join(''));
  },
  async geojson(line, field, items) {
    const { features } = JSON.parse(await run(line, '-o', 'geojson')) as {
      features: { properties: Row }[];
    };
    const shown = features.map(({ properties }) => properties[field]);
    // Items without a position are left out.
    expect(shown.length).toBeGreaterThan(items.length / 2);
    expect(shown).toEqual(
      items.map((item) => item[field]).filter((value) => shown.includes(value)),
    );
  },
};

async function checkDelimited(
  line: string,
  field: string,
  items: readonly Row[],
  [format, delimiter]: readonly [format: string, delimiter: string],
): Promise<void> {
  const text = await run(line, '-o', format, '--columns', field);
  const [header, ...rows] = parseCsv(text, { delimiter }) as string[][];
  expect(header).toEqual([field]);
  expect(rows.flat()).toEqual(valuesOf(items, field));
}

function valuesOf(items: readonly Row[], field: string): string[] {
  return items.map((item) => String(item[field]));
}

describe.each(COMMANDS)('fleet %s', (line, field, formats) => {
  let items: Row[];
  beforeAll(async () => {
    items = JSON.parse(await run(line, '--json'));
    expect(items.length).toBeGreaterThan(0);
  });

  test.each(formats)('-o %s shows the items of the json output', (format) =>
    CHECKS[format](line, field, items),
  );

  test.each(FORMATS.filter((format) => !formats.includes(format)))(
    '-o %s is refused',
    async (format) => {
      const { code, stdout, stderr } = await runLine(line, ['-o', format]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/not supported by this command|have no position to show as geojson/);
    },
  );

  test('wide output has at least the columns of the table', async () => {
    const [[plain = ''], [wide = '']] = (await Promise.all(
      [[], ['-o', 'wide']].map(async (flags) => (await run(line, ...flags)).split('\n')),
    )) as [string[], string[]];
    const columnsOf = (text: string) => text.split(/ {2,}/);
    expect(columnsOf(wide)).toEqual(expect.arrayContaining(columnsOf(plain)));
  });

  test('--jq receives the same items as -o json, and prints strings without quotes', async () => {
    const values = valuesOf(items, field);
    expect(await run(line, '--jq', `.[].${field}`)).toBe(`${values.join('\n')}\n`);
  });
});
