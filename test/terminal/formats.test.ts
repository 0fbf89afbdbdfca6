// Tests every output format: structure, exact values and escaped hostile text.

import { parse as parseCsv } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { clean, cleanCell } from '../../src/terminal/clean.js';
import { FORMATS, type Format, openRenderer, type Shape } from '../../src/terminal/formats.js';
import { ALERTS } from '../../src/views/alert.js';
import { BICYCLES } from '../../src/views/bicycle.js';
import { anyJson, anyText, EXACT_NUMBERS, findControls, NAUGHTY } from '../support/naughty.js';
import { failureOf } from '../support/refusal.js';
import { ALERT_VALUES, BICYCLE_VALUES, NOW, render, rowOf, rowsOf } from '../support/rows.js';

type Resource = { [field: string]: unknown };

/** Two fields as from `fleet api`, with one field that is shown. */
const PLAIN: Shape<Resource> = {
  noun: { one: 'thing', many: 'things' },
  fields: ['a', 'b'],
  columns: [{ header: 'AH', field: 'a', keep: 1, cell: ({ a }) => ({ text: clean(String(a)) }) }],
};
const SINGLE: Shape<Resource> = { ...PLAIN, single: true };
const UNKNOWN: Shape<Resource> = { ...PLAIN, fields: [], columns: [] };

describe('output of zero, one or many items', () => {
  const one = { a: 1 };
  const two = { a: 2 };
  it.each<[Format, string, string, string, string]>([
    ['json', '[]\n', '[\n{"a":1}\n]\n', '[\n{"a":1},\n{"a":2}\n]\n', '{"a":1}\n'],
    ['jsonl', '', '{"a":1}\n', '{"a":1}\n{"a":2}\n', '{"a":1}\n'],
    ['csv', 'a,b\n', 'a,b\n1,\n', 'a,b\n1,\n2,\n', 'a,b\n1,\n'],
    ['tsv', 'a\tb\n', 'a\tb\n1\t\n', 'a\tb\n1\t\n2\t\n', 'a\tb\n1\t\n'],
    ['yaml', '[]\n', '- a: 1\n', '- a: 1\n- a: 2\n', 'a: 1\n'],
    ['table', 'AH\n', 'AH\n1\n', 'AH\n1\n2\n', 'AH\n1\n'],
    [
      'uuid',
      '',
      '# 1 thing without a uuid left out\n',
      '# 2 things without a uuid left out\n',
      '# 1 thing without a uuid left out\n',
    ],
  ])('has the same structure in the format %s', async (format, none, ofOne, ofTwo, single) => {
    expect(await render(PLAIN, [], { format })).toBe(none);
    expect(await render(PLAIN, rowsOf([one]), { format })).toBe(ofOne);
    expect(await render(PLAIN, rowsOf([one, two]), { format })).toBe(ofTwo);
    expect(await render(PLAIN, rowsOf([one, two]), { format, batch: 1 })).toBe(ofTwo);
    expect(await render(SINGLE, rowsOf([one]), { format })).toBe(single);
  });

  it('geojson has the same structure for zero, one or many items', async () => {
    const point = (name: string) =>
      `{"type":"Feature","geometry":{"type":"Point","coordinates":[13.4,52.5]},"properties":{"name":"${name}"}}`;
    const rows = rowsOf<object>(
      ['A', 'B'].map((name) => ({ latitude: 52.5, longitude: 13.4, name })),
    );
    const collection = (features: string) =>
      `{"type":"FeatureCollection","features":[${features}]}\n`;
    const draw = (count: number, batch = 2) =>
      render(BICYCLES, rows.slice(0, count), { format: 'geojson', batch });
    expect(await draw(0)).toBe(collection(''));
    expect(await draw(1)).toBe(collection(`\n${point('A')}\n`));
    expect(await draw(2)).toBe(collection(`\n${point('A')},\n${point('B')}\n`));
    expect(await draw(2, 1)).toBe(collection(`\n${point('A')},\n${point('B')}\n`));
  });

  it('an empty list prints nothing as a table and an empty array as JSON', async () => {
    expect(await render(PLAIN, [], { width: 80 })).toBe('');
    expect(await render(PLAIN, [], { width: 80, format: 'json' })).toBe('[]\n');
  });

  it('shows all received fields of resources without a dedicated table', async () => {
    const rows = rowsOf<Resource>([{ z: 1, y: 'x\u001b' }, { w: [true] }]);
    expect(await render(UNKNOWN, rows)).toBe('Z  Y   W\n1  x␛  -\n-  -   [true]\n');
    expect(await render(UNKNOWN, rows, { format: 'csv' })).toBe('z,y,w\n1,x␛,\n,,[true]\n');
    expect(await render(UNKNOWN, [], { format: 'csv' })).toBe('');
  });
});

it('indents JSON on a terminal and colors its keys', async () => {
  const rows = [rowOf<Resource>('{"a":1.50,"b":{"c":[]}}'), rowOf<Resource>('{}')];
  expect(await render(PLAIN, rows, { format: 'json', width: 80 })).toBe(
    '[\n  {\n    "a": 1.50,\n    "b": {\n      "c": []\n    }\n  },\n  {}\n]\n',
  );
  expect(await render(SINGLE, rows.slice(0, 1), { format: 'json', width: 80, colorLevel: 1 })).toBe(
    '{\n  \u001b[36m"a"\u001b[39m: 1.50,\n  \u001b[36m"b"\u001b[39m: {\n    \u001b[36m"c"\u001b[39m: []\n  }\n}\n',
  );
});

describe('values from the service', () => {
  it.each(EXACT_NUMBERS.map((number) => [number]))(
    'prints the number %s unchanged in every format',
    async (number) => {
      const latitude = number.length > 20 && Math.abs(Number(number)) <= 90 ? number : '1.50';
      const row = rowOf<Resource>(
        `{"uuid":${number},"name":${number},"latitude":${latitude},"longitude":"${latitude}","new":{"deep":[${number}]}}`,
      );
      const show = (format: Format, columns?: string[]) =>
        render(BICYCLES, [row], columns === undefined ? { format } : { format, columns });
      for (const format of ['json', 'jsonl'] as const)
        expect(await show(format)).toContain(row.json);
      expect(await show('uuid')).toBe(`${number}\n`);
      for (const format of ['table', 'csv', 'tsv'] as const) {
        const text = await show(format, ['name', 'new.deep.0', 'new', 'latitude']);
        expect(text.split('\n')[1]?.split(/ +|,|\t/)).toEqual([
          number,
          number,
          expect.stringContaining(number),
          latitude,
        ]);
      }
      expect(await show('table')).toContain(`${latitude}, ${latitude}`);
      expect(await show('yaml')).toContain(
        `\n  name: ${number}\n  latitude: ${latitude}\n  longitude: "${latitude}"\n`,
      );
      expect(await show('yaml')).toContain(`      - ${number}\n`);
      expect(await show('geojson')).toContain(
        `"coordinates":[${Number(latitude)},${Number(latitude)}]`,
      );
      expect(await show('geojson')).toContain(
        `"properties":{"uuid":${number},"name":${number},"new":{"deep":[${number}]}}`,
      );
    },
  );

  it('a list printed as JSON contains the same values that the service sent', () => {
    return fc.assert(
      fc.asyncProperty(fc.array(anyJson()), fc.boolean(), async (values, isTerminal) => {
        const text = await render<unknown>(PLAIN as Shape<unknown>, rowsOf(values), {
          format: 'json',
          batch: 2,
          ...(isTerminal ? { width: 80 } : {}),
        });
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(values)));
      }),
    );
  });

  it('`jsonl` prints one line per item when the service sends line breaks', async () => {
    const rows = [
      rowOf<Resource>('{\n  "a": "x\\ny",\r\n "b":  1.50 }'),
      rowOf<Resource>('{"a": 2}'),
    ];
    expect(await render(PLAIN, rows, { format: 'jsonl' })).toBe(
      '{"a":"x\\ny","b":1.50}\n{"a": 2}\n',
    );
    expect(await render(PLAIN, rows, { format: 'json' })).toBe(
      '[\n{"a":"x\\ny","b":1.50},\n{"a": 2}\n]\n',
    );
  });

  const anyCell = fc.oneof(
    fc.constantFrom(...NAUGHTY),
    anyText(),
    fc.string(),
    fc.constant(null),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
  );

  it.each([
    ['csv', ','],
    ['tsv', '\t'],
  ] as const)('as %s: another parser reads back every cell', (format, delimiter) => {
    return fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ a: anyCell, b: anyCell }), { minLength: 1 }),
        async (values) => {
          for (const fields of [['a', 'b'], ['b']]) {
            const text = await render<Resource>({ ...PLAIN, fields }, rowsOf(values), {
              format,
              batch: 3,
            });
            const read: unknown = parseCsv(text, {
              delimiter,
              record_delimiter: '\n',
              columns: true,
              skip_empty_lines: false,
            });
            const cells = JSON.parse(JSON.stringify(values)) as Resource[];
            expect(read).toEqual(
              cells.map((value) =>
                Object.fromEntries(
                  fields.map((field) => [field, cleanCell(String(value[field] ?? ''))]),
                ),
              ),
            );
          }
        },
      ),
    );
  });

  it('another YAML parser reads the same values from the YAML output', () => {
    const value = fc.oneof(anyCell, anyJson({ maxDepth: 2 }), fc.array(anyCell));
    const key = fc.oneof(
      fc.constantFrom(...NAUGHTY.filter((name) => name !== '__proto__')),
      fc.string(),
    );
    const resource = fc.dictionary(key, value, { noNullPrototype: true });
    return fc.assert(
      fc.asyncProperty(fc.array(resource), async (values) => {
        const text = await render<Resource>(PLAIN, rowsOf(values), { format: 'yaml', batch: 2 });
        expect(parseYaml(text)).toEqual(JSON.parse(JSON.stringify(values)));
        expect(findControls(text.replaceAll('\n', ''))).toEqual([]);
      }),
    );
  });

  it('points in GeoJSON start with the longitude, and other fields are properties', async () => {
    const text = await render(BICYCLES, rowsOf(BICYCLE_VALUES), { format: 'geojson' });
    const [json = '', notice] = text.split('# ');
    const { latitude, longitude, ...properties } = BICYCLE_VALUES[0] as Resource;
    const { features } = JSON.parse(json) as { features: Resource[] };
    expect(features).toHaveLength(2);
    expect(features[0]).toEqual({
      type: 'Feature',
      id: properties['uuid'],
      geometry: { type: 'Point', coordinates: [longitude, latitude] },
      properties,
    });
    expect(features[1]).toMatchObject({ geometry: { coordinates: [151.2093, -33.8688] } });
    expect(notice).toBe('4 bicycles without a position left out\n');
  });

  it('a GeoJSON alert takes its position from the `extra` field', async () => {
    const text = await render(ALERTS, rowsOf(ALERT_VALUES), { format: 'geojson' });
    const [json = '', notice] = text.split('# ');
    expect(JSON.parse(json)).toMatchObject({
      features: [
        {
          geometry: { type: 'Point', coordinates: [13.404954, 52.520008] },
          properties: ALERT_VALUES[0],
        },
      ],
    });
    expect(notice).toBe('2 alerts without a position left out\n');
  });
});

describe('hostile text', () => {
  const named = NAUGHTY.map((name, index) => ({
    uuid: `u${index}`,
    name,
    latitude: 1,
    longitude: 2,
    [name]: name,
  }));
  it.each(FORMATS.map((format) => [format]))(
    'hostile text is escaped and does not add lines in %s',
    async (format) => {
      for (const width of [undefined, 100]) {
        const text = await render(BICYCLES, rowsOf<object>(named), {
          format,
          ...(width === undefined ? {} : { width }),
        });
        const isValues = format === 'csv' || format === 'tsv';
        // In a file, quoted cells keep line breaks and tabs.
        const hasBreaks = isValues && width === undefined;
        const structural = hasBreaks ? /[\n\r\t]/g : format === 'tsv' ? /[\n\t]/g : /\n/g;
        expect(findControls(text.replaceAll(structural, ''))).toEqual([]);
        if (hasBreaks) {
          const delimiter = format === 'tsv' ? '\t' : ',';
          expect(parseCsv(text, { delimiter, record_delimiter: '\n' })).toHaveLength(
            named.length + 1,
          );
        } else if (isValues || format === 'table') {
          expect(
            text.split('\n').filter((line) => line !== '' && !line.startsWith('# hidden at')),
          ).toHaveLength(named.length + 1);
        }
        if (['jsonl', 'uuid'].includes(format))
          expect(text.split('\n')).toHaveLength(named.length + 1);
      }
    },
  );

  it('does not change text that a spreadsheet would treat as a formula', async () => {
    const rows = rowsOf<Resource>([{ a: '=1+1', b: '@SUM(A1)' }]);
    expect(await render(PLAIN, rows, { format: 'csv' })).toBe('a,b\n=1+1,@SUM(A1)\n');
  });
});

describe('--columns', () => {
  const rows = rowsOf<object>([
    {
      ...BICYCLE_VALUES[0],
      battery: { cells: [3.7, 3.8], 'a.b': 1 },
      created: '2026-03-01T11:00:00Z',
    },
  ]);
  it.each<[string[], string, string]>([
    [['uuid'], 'UUID', '0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4'],
    [['state', 'name'], 'STATE,NAME', 'available,Berlin 0001'],
    // Headers of the table, in any case, select its columns. In a file the columns have the names
    // of their fields.
    [['SEEN', 'charge'], 'SEEN,CHARGE', '3 min ago,57 %'],
    [['Position'], 'POSITION', '52.52001, 13.40495'],
    // A field that is selected by its own name keeps the name, and is shown as in the table.
    [
      ['state_of_charge', 'latest_gps_timestamp'],
      'STATE_OF_CHARGE,LATEST_GPS_TIMESTAMP',
      '57 %,3 min ago',
    ],
    [['created', 'LATITUDE'], 'CREATED,LATITUDE', '1 h ago,52.520008'],
    // A field that the document does not name is shown when the service sends it.
    [['organization_zone', 'battery.cells.1'], 'ORGANIZATION_ZONE,BATTERY.CELLS.1', 'Mitte,3.8'],
    [['battery', 'battery.a.b'], 'BATTERY,BATTERY.A.B', '{"cells":[3.7,3.8],"a.b":1},1'],
    [
      ['description', 'lock.nothing', 'name.length'],
      'DESCRIPTION,LOCK.NOTHING,NAME.LENGTH',
      '-,-,-',
    ],
    [
      ['name,state', ' uuid '],
      'NAME,STATE,UUID',
      'Berlin 0001,available,0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4',
    ],
  ])('selects the columns %j in a table', async (columns, header, cells) => {
    const lines = (await render(BICYCLES, rows, { width: 200, columns })).split('\n');
    expect(lines.map((line) => line.trimStart().replaceAll(/ {2,}/g, ','))).toEqual([
      header,
      cells,
      '',
    ]);
  });

  it.each<[string[], string]>([
    [
      ['SEEN', 'CHARGE', 'NAME'],
      'latest_gps_timestamp,state_of_charge,name\n2026-03-01T11:57:00Z,57.4,Berlin 0001\n',
    ],
    [['POSITION'], 'position\n"52.520008, 13.404954"\n'],
    [['description'], 'description\n""\n'],
    [['description', 'battery.cells'], 'description,battery.cells\n,"[3.7,3.8]"\n'],
  ])('selects the columns %j in csv', async (columns, text) => {
    expect(await render(BICYCLES, rows, { format: 'csv', columns })).toBe(text);
  });

  it('--columns for alerts distinguishes BICYCLE from bicycle', async () => {
    const alerts = rowsOf<object>(ALERT_VALUES.slice(0, 1));
    const columns = ['BICYCLE', 'bicycle', 'extra.location.coordinates', 'roles.0'];
    expect(await render(ALERTS, alerts, { format: 'csv', columns })).toBe(
      'bicycle_name,bicycle,extra.location.coordinates,roles.0\n' +
        'Berlin 0001,https://api.example.com/bicycles/0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4/,"[13.404954,52.520008]",admin\n',
    );
  });

  it('keeps the requested columns and complete UUIDs on a narrow terminal', async () => {
    expect(await render(BICYCLES, rows, { width: 40, columns: ['uuid', 'name', 'state'] })).toMatch(
      /^UUID +NAME +STATE\n0b9f2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4 {2}Berlin 0001 +available\n$/,
    );
  });

  const refused = (format: Format, columns: string[]) =>
    failureOf(render(BICYCLES, rows, { format, columns }));

  it.each<[string, string]>([
    ['nmae', 'did you mean "name"? columns: uuid'],
    ['stat', 'did you mean "state"? columns: uuid'],
    ['odometer', 'columns: uuid, created'],
    ['organization_zon', 'did you mean "organization_zone"? columns: uuid'],
    ['batery.cells', 'did you mean "battery"? columns: uuid'],
  ])('rejects %s', async (word, words) => {
    const message = `unknown column "${word.split('.')[0]}"`;
    for (const format of ['table', 'csv', 'tsv'] as const)
      expect(await refused(format, ['uuid', word])).toMatchObject({
        kind: 'usage',
        message,
        hint: expect.stringContaining(words),
      });
  });

  it('rejects --columns when it is empty or the format has no columns', async () => {
    expect(await refused('csv', [','])).toMatchObject({
      kind: 'usage',
      message: '--columns needs at least one column',
    });
    for (const format of ['json', 'jsonl', 'yaml', 'geojson', 'uuid'] as const) {
      expect(await refused(format, ['uuid'])).toMatchObject({ kind: 'usage' });
    }
  });

  it('accepts unknown columns when the list is empty', async () => {
    expect(await render(BICYCLES, [], { format: 'csv', columns: ['uuid', 'zone'] })).toBe(
      'uuid,zone\n',
    );
  });
});

it('rejects geojson for resources without a position', async () => {
  const options = { terminal: false, width: undefined, colorLevel: 0, now: NOW } as const;
  await expect(openRenderer('geojson', PLAIN, options)).rejects.toMatchObject({ kind: 'usage' });
});

it('escapes characters that YAML 1.1 parsers read differently', async () => {
  const rows = rowsOf<Resource>([{ a: '=', b: 'x\ufffey\uffffz', '=': '\ufffe' }]);
  expect(await render(UNKNOWN, rows, { format: 'yaml' })).toBe(
    '- a: "="\n  b: "x\\ufffey\\uffffz"\n  "=": "\\ufffe"\n',
  );
});
