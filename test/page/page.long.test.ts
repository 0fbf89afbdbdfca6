// Tests the page in a real browser with 100,000 bicycles and at every width, which is too slow for
// `npm run test:all`.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import type { Bicycle } from '../../src/api/bicycle.js';
import { drawPage, readTemplate, STILL } from '../../src/commands/map/html.js';
import { packFleet } from '../../src/views/map/pack.js';
import { openPage, useBrowser } from '../support/browser.js';
import { newFolder } from '../support/folder.js';

const CITIES = [
  [13.4, 52.52],
  [4.9, 52.37],
  [-70.66, -33.45],
  [151.2, -33.87],
  [179.99, -16.8],
] as const;
const STATES = [
  'available',
  'available',
  'available',
  'rented',
  'reserved',
  'in_maintenance',
  'lost',
  'retired',
];
const NOW = Date.parse('2026-11-21T12:00:00Z');

// No deadline here, because the time is measured.
const chromium = useBrowser([]);
const folder = newFolder();

/** Bicycles around five cities, the same in every run. */
function makeFleet(count: number): Bicycle[] {
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const spread = () => (random() + random() + random() - 1.5) * 0.12;
  return Array.from({ length: count }, (_, index) => {
    const [longitude, latitude] = CITIES[index % CITIES.length] ?? [0, 0];
    const east = longitude + spread() * 1.5;
    return {
      uuid: `6f1c0b5e-2f0e-4c56-9d3a-${index.toString(16).padStart(12, '0')}`,
      name: `Ada ${String(index).padStart(6, '0')}`,
      state: STATES[Math.floor(random() * STATES.length)] ?? '',
      state_of_charge: Math.round(random() * 1000) / 10,
      latest_gps_timestamp: new Date(NOW - random() ** 3 * 9e8).toISOString(),
      longitude: east > 180 ? east - 360 : east,
      latitude: latitude + spread(),
      model: 'http://127.0.0.1:4010/bicycle_models/6d010770-feac-4771-b48c-a60a7d213b2e/',
    };
  });
}

async function write(name: string, count: number): Promise<string> {
  const bicycles = makeFleet(count);
  const items = bicycles.map((value) => ({ json: JSON.stringify(value), value }));
  const alerts = { rows: [], byType: [], note: null };
  const payload = {
    ...STILL,
    title: 'a fleet',
    atMs: NOW,
    note: null,
    rows: [],
    alerts,
    tiles: null,
    timeZone: null,
  };
  const path = join(folder, name);
  writeFileSync(
    path,
    [...drawPage(await readTemplate(), payload, { ...packFleet(items), embeddedTiles: '' })].join(
      '',
    ),
  );
  return `file://${path}`;
}

describe('a page with 100,000 bicycles', () => {
  let address = '';
  beforeAll(async () => {
    address = await write('large.html', 100_000);
  }, 60_000);

  test('filters, sorts, zooms and scrolls 100,000 bicycles without a noticeable delay', async (context) => {
    const {
      page,
      complaints,
      context: opened,
    } = await openPage(chromium(context), address, { pixelRatio: 1 });
    const took = (script: string): Promise<number> =>
      page.evaluate(`(async () => {
        const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
        await frame();
        const start = performance.now();
        ${script};
        await frame(); await frame(); await frame();
        return performance.now() - start;
      })()`);
    const times = {
      text: await took(
        "const search = document.querySelector('#search'); search.value = '0777'; search.dispatchEvent(new Event('input'))",
      ),
      clear: await took("document.querySelector('.reset').click()"),
      state: await took("document.querySelector('.bar[data-word=lost]').click()"),
      name: await took("document.querySelector('.cell-name .sort').click()"),
      scroll: await took("document.querySelector('.table').scrollTop = 200000"),
      zoom: await took("document.querySelector('#nearer').click()"),
    };
    context.annotate(JSON.stringify(times));
    process.stderr.write(`${JSON.stringify(times)}\n`);
    // The first sort by name compares all bicycles; everything else takes a few frames.
    for (const time of Object.values(times)) expect(time).toBeLessThan(2_500);
    expect(complaints).toEqual([]);
    await opened.close();
  }, 120_000);
});

test('shows the table, the filters and the cards without WebGL', async (context) => {
  const started = chromium(context);
  const opened = await started.newContext();
  await opened.addInitScript('HTMLCanvasElement.prototype.getContext = () => null');
  const { page } = await openPage(started, await write('plain.html', 400), { context: opened });
  expect(await page.locator('#map').textContent()).toContain('draws no map');
  await page.locator('.rows .row').nth(2).click();
  expect(await page.locator('#card-title').textContent()).toContain('Ada');
  await opened.close();
});

describe('the page at every width', () => {
  test.each(
    [390, 760, 1080, 1280, 2560].flatMap((width) =>
      (['dark', 'light'] as const).map((scheme) => [width, scheme] as const),
    ),
  )(
    'the page does not overflow at %i pixels in %s mode',
    async (...given) => {
      const [width, scheme, test] = given as unknown as [number, 'dark' | 'light', TestContext];
      const options = { width, height: 800, scheme, pixelRatio: 1 };
      const address = await write('widths.html', 400);
      const { page, complaints, requests, context } = await openPage(
        chromium(test),
        address,
        options,
      );
      await page.locator('.rows .row').nth(2).click();
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(await page.evaluate('document.documentElement.scrollHeight <= innerHeight')).toBe(
        true,
      );
      const isReachable = async (selector: string) =>
        (await page.locator(selector).boundingBox()) !== null;
      expect(await isReachable('#card')).toBe(true);
      expect((await page.locator('.rows .cell-name').first().boundingBox())?.width).toBeGreaterThan(
        80,
      );
      expect((await isReachable('#facets')) || (await isReachable('#tab-filters'))).toBe(true);
      await page.screenshot({
        path: join(process.env['FLEET_SCREENSHOTS'] ?? folder, `${width}-${scheme}.png`),
      });
      expect({ complaints, requests }).toEqual({ complaints: [], requests: [] });
      await context.close();
    },
    60_000,
  );
});
