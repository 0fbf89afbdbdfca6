// Tests the formats of `fleet rounds`: the map, the workbook, GPX, GeoJSON and the page.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SaxesParser } from 'saxes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../support/browser.js';
import { newFolder } from '../support/folder.js';
import { type RunOptions, runFleet } from '../support/run.js';
import { openServer, sendPage } from '../support/server.js';
import { readXlsx } from '../support/sheets.js';

const folder = newFolder();
const NOW = Date.UTC(2026, 10, 28, 5, 0, 0);

const BICYCLES = [
  ['Ada <1> & "2"', 52.521, 13.405],
  ['Emmy', 52.53, 13.41],
  ['=Grace', 52.515, 13.39],
  ['Ida', 52.51, 13.42],
  ['Without', null, null],
].map(([name, latitude, longitude], index) => ({
  uuid: `00000000-0000-4000-8000-00000000000${index}`,
  name,
  serial_number: `00${index}`,
  state: 'available',
  state_of_charge: 50 + index,
  latitude,
  longitude,
}));

async function rounds(words: string, options: RunOptions = {}) {
  const server = await openServer((response) => sendPage(response, BICYCLES));
  const env = { ...server.env, ...options.env };
  return runFleet(['rounds', '--from', '52.52,13.405', ...words.split(' ')], {
    ...options,
    env,
    now: () => NOW,
  });
}

/** Runs the command with a file and returns its text or bytes. */
async function written(words: string, name: string): Promise<Buffer> {
  const file = join(folder, name);
  const { code, stdout } = await rounds(`${words} --file ${file}`);
  expect([code, stdout]).toEqual([9, '']);
  return readFileSync(file);
}

const TWO_VANS = '--vans 2 --capacity 2';

test('`rounds` shows a route map above the list of stops', async () => {
  const terminal = { columns: 120, rows: 50 };
  const { stdout, stderr } = await rounds(TWO_VANS, { terminal, env: { LANG: 'C.UTF-8' } });
  expect(stdout).toMatch(/[\u2801-\u28ff]/);
  expect(stdout).toContain('VAN');
  expect(stdout.indexOf('available')).toBeLessThan(stdout.indexOf('VAN'));
  expect(stdout).toMatch(/\x1b\[36m[\u2801-\u28ff]/);
  expect(stdout).toMatch(/\x1b\[35m[\u2801-\u28ff]/);
  expect(stderr).toContain('Without');
  expect(stderr).toContain('it has no position');
});

test('the workbook has a sheet for each van, and each row has a map link', async () => {
  const sheets = await readXlsx(await written(TWO_VANS, 'rounds.xlsx'));
  expect(sheets.map(({ name }) => name)).toEqual(['Van 1', 'Van 2', 'Left out', 'Summary']);
  for (const { xml } of sheets.slice(0, 2)) {
    expect([...xml.matchAll(/HYPERLINK\(/g)]).toHaveLength(2);
    expect(xml).toContain('https://www.openstreetmap.org/?mlat=52.');
  }
  // A name that looks like a formula stays a text.
  expect(sheets.every(({ xml }) => !/<f>=?Grace/.test(xml))).toBe(true);
});

/** The order of elements in the schema of GPX 1.1. */
const GPX_ORDER: { readonly [element: string]: readonly string[] } = {
  gpx: ['metadata', 'wpt', 'rte', 'trk', 'extensions'],
  metadata: ['name', 'desc', 'author', 'copyright', 'link', 'time', 'keywords', 'bounds'],
  rte: ['name', 'cmt', 'desc', 'src', 'link', 'number', 'type', 'extensions', 'rtept'],
  wpt: [
    'ele',
    'time',
    'magvar',
    'geoidheight',
    'name',
    'cmt',
    'desc',
    'src',
    'link',
    'sym',
    'type',
  ],
};

test('the GPX file follows the element order of the GPX 1.1 schema', async () => {
  const text = (await written(TWO_VANS, 'rounds.gpx')).toString();
  const parser = new SaxesParser({ xmlns: true });
  const open: { name: string; last: number }[] = [];
  const problems: string[] = [];
  const names: string[] = [];
  let points = 0;
  parser.on('error', (error) => problems.push(error.message));
  parser.on('text', (each) => {
    if (open.at(-1)?.name === 'name') names.push(each);
  });
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (uri !== 'http://www.topografix.com/GPX/1/1') problems.push(`namespace of ${local}`);
    const parent = open.at(-1);
    const order = GPX_ORDER[parent?.name === 'rtept' ? 'wpt' : (parent?.name ?? '')];
    const at = order?.indexOf(local) ?? 0;
    if (at < (parent?.last ?? 0)) problems.push(`${local} in ${parent?.name}`);
    if (parent !== undefined) parent.last = at;
    if (local === 'rtept') {
      points += 1;
      const [lat, lon] = [Number(attributes['lat']?.value), Number(attributes['lon']?.value)];
      if (!(Math.abs(lat) <= 90 && lon >= -180 && lon < 180)) problems.push('a position');
    }
    open.push({ name: local, last: 0 });
  });
  parser.on('closetag', () => void open.pop());
  parser.write(text).close();
  expect(problems).toEqual([]);
  // Four stops, and a start and an end for each van.
  expect(points).toBe(8);
  expect(names.some((name) => name.endsWith('Ada <1> & "2"'))).toBe(true);
});

test('GPX and HTML contain only valid coordinates, even near the poles', async () => {
  const edges = [
    [10, 179.99999999],
    [90, -180],
    [-90, 180],
  ].map(([latitude, longitude], index) => ({ ...BICYCLES[index], latitude, longitude }));
  const server = await openServer((response) => sendPage(response, edges));
  const words = ['rounds', '--from', '10,180', '--yes', '-o'];
  const gpx = await runFleet([...words, 'gpx'], { env: server.env });
  const longitudes = [...gpx.stdout.matchAll(/ lon="([^"]+)"/g)].map(([, text]) => Number(text));
  expect(longitudes).toEqual(Array(5).fill(-180));
  const page = await runFleet([...words, 'html'], { env: server.env });
  expect(page.code).toBe(0);
  expect(page.stdout).not.toMatch(/NaN|Infinity/);
  const terminal = { columns: 120, rows: 40 };
  const table = await runFleet([...words, 'table'], { env: server.env, terminal });
  expect(table.code).toBe(0);
});

test('geojson has a line for each van and a point for each bicycle', async () => {
  const { type, features } = JSON.parse((await written(TWO_VANS, 'rounds.geojson')).toString());
  expect(type).toBe('FeatureCollection');
  const lines = features.filter(
    (each: { geometry: { type: string } }) => each.geometry.type === 'LineString',
  );
  expect(
    lines.map(
      ({ geometry }: { geometry: { coordinates: number[][] } }) => geometry.coordinates.length,
    ),
  ).toEqual([4, 4]);
  expect(lines[0].geometry.coordinates[0]).toEqual([13.405, 52.52]);
  expect(features).toHaveLength(6);
});

describe('the page', () => {
  let browser: Awaited<ReturnType<typeof startBrowser>>;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  test('the page escapes names and loads nothing from other servers', async () => {
    const text = (await written(TWO_VANS, 'rounds.html')).toString();
    expect(text).toContain('Ada &lt;1&gt; &amp; &quot;2&quot;');
    expect(text).not.toContain('<script');
    expect(text).toContain("default-src 'none'");
  });

  test.each([390, 1280])(
    'the HTML page of `fleet rounds` fits a window of %i pixels',
    async (width) => {
      if (browser === undefined) return;
      await written(TWO_VANS, 'page.html');
      const page = await browser.newPage({ viewport: { width, height: 800 } });
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      await page.goto(`file://${join(folder, 'page.html')}`);
      const sizes = await page.evaluate(
        `[document.documentElement.scrollWidth, ...[...document.querySelectorAll('.scroll')].map((each) => each.scrollWidth - each.clientWidth)]`,
      );
      expect(sizes).toEqual([width, 0, 0, 0]);
      expect(await page.locator('section.van svg text').first().textContent()).toBe('1');
      expect(complaints).toEqual([]);
      await page.close();
    },
  );

  test('prints the tour of each van on its own sheet of paper', async () => {
    if (browser === undefined) return;
    await written(TWO_VANS, 'print.html');
    const page = await browser.newPage();
    await page.goto(`file://${join(folder, 'print.html')}`);
    const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
    // The overview, two vans, and the bicycles that are left out.
    expect([...pdf.matchAll(/\/Type \/Page\b/g)]).toHaveLength(4);
    await page.close();
  });
});
