// Tests the page of `fleet map` in a real browser, from disk and served. It must send no other
// requests and run no text of the service.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { readTemplate, STILL } from '../../src/commands/map/html.js';
import { openPageServer } from '../../src/commands/map/page-server.js';
import type { Payload } from '../../src/page/payload.js';
import type { StatsRow } from '../../src/views/stats.js';
import { type OpenedPage, openPage, useBrowser } from '../support/browser.js';
import { environmentOf } from '../support/environment.js';
import { newFolder } from '../support/folder.js';
import { isLong, mostly } from '../support/often.js';
import { makeArchive } from '../support/pmtiles.js';
import { runFleet } from '../support/run.js';
import { startFleet } from '../support/running.js';
import { useSandbox } from '../support/sandbox.js';
import { openServer } from '../support/server.js';

const HOSTILE = [
  '<img src=x onerror="window.hacked=1">',
  '</script><script>window.hacked=2</script>',
  '<!--<script>window.hacked=3',
  `line\u2028separator\u2029end \${window.hacked=4}`,
  '{{fleet:data}}',
];

/** An image of one pixel for every tile. */
const TILE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const sandbox = useSandbox({ bicycles: 80 });
const chromium = useBrowser();
const folder = newFolder();

/** Waits for a condition with a generous limit for a busy machine. */
function soon<T>(value: () => T) {
  return expect.poll(value);
}

async function environment(): Promise<NodeJS.ProcessEnv> {
  const { organizations } = sandbox();
  return { ...(await environmentOf(sandbox())), FLEET_ORGANIZATION: organizations[0]?.uuid };
}

/** Bicycles of the organization of the page. */
function bicycles() {
  return sandbox().bicycles(sandbox().organizations[0]?.uuid);
}

async function draw(name: string, ...flags: string[]): Promise<string> {
  const path = join(folder, name);
  const args = ['map', '-o', 'html', '--file', path, ...flags];
  const { code, stderr } = await runFleet(args, { env: await environment() });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return `file://${path}`;
}

async function readStats(): Promise<StatsRow[]> {
  const { stdout } = await runFleet(['bicycles', 'stats', '--json'], { env: await environment() });
  return JSON.parse(stdout);
}

/** Reads the numbers of the page by group and value, like those of `bicycles stats`. */
function numbersOf(page: Page): Promise<StatsRow[]> {
  return page.evaluate(`(() => {
    const bars = (name) => [...document.querySelectorAll('section[aria-label=' + name + '] .bar')].map((bar) => ({
      group: name.toLowerCase(), value: bar.dataset.word, count: Number(bar.dataset.count) }));
    const alerts = [...document.querySelectorAll('.types li')].map((type) => ({
      group: 'open alerts by type', value: type.dataset.type, count: Number(type.dataset.count) }));
    return [...['State', 'Charge', 'Silence'].flatMap(bars), ...alerts];
  })()`);
}

/** Groups that page and terminal both show; the page omits empty ones. */
function comparable(rows: readonly StatsRow[]): string[] {
  return rows
    .filter(({ count, value }) => count > 0 && value !== '(none)')
    .map(({ group, value, count }) => `${group} ${value}: ${count}`)
    .sort();
}

async function rowNames(page: Page): Promise<string[]> {
  return page.locator('.rows .row .cell-name').allTextContents();
}

function expectQuiet(
  { complaints, requests }: OpenedPage,
  isOwn: (url: string) => boolean = () => false,
): void {
  expect(complaints).toEqual([]);
  expect(requests.filter((url) => !isOwn(url))).toEqual([]);
}

describe('a page opened from disk', () => {
  let shared: OpenedPage | undefined;
  /** One page for all tests that do not change it, because drawing takes most of their time. */
  const open = async (context: TestContext) => {
    if (shared !== undefined) return shared;
    const chrome = chromium(context);
    const low = bicycles().filter(
      ({ state_of_charge: charge }) => charge !== null && Number(charge) < 5,
    );
    for (const { uuid } of low) sandbox().changeBicycle(uuid, { state_of_charge: 5 });
    for (const [index, name] of HOSTILE.entries()) {
      const uuid = bicycles()[index]?.uuid ?? '';
      sandbox().changeBicycle(uuid, { name, description: name, state_of_charge: index });
      sandbox().raiseAlert(uuid, 'bicycle.too_long_idle', { message: name });
    }
    shared = await openPage(chrome, await draw('fleet.html'));
    return shared;
  };
  afterAll(() => shared?.context.close());
  /** Runs a test on that page and checks that it reports no errors and sends no requests. */
  const testPage = (name: string, use: (page: Page) => Promise<void>) =>
    test(name, async (context) => {
      const opened = await open(context);
      await use(opened.page);
      expectQuiet(opened);
    });

  testPage('shows the numbers of `bicycles stats` and sends no requests', async (page) => {
    expect(comparable(await numbersOf(page))).toEqual(comparable(await readStats()));
    // The table fills its height, although it was empty and as high as its head at first.
    await soon(() =>
      page.evaluate(
        "document.querySelectorAll('.rows .row').length * 36 >= document.querySelector('.table').clientHeight - 30",
      ),
    ).toBe(true);
    expect(await page.locator('#total').textContent()).toBe(String(bicycles().length));
    const unplaced = bicycles().filter(({ latitude }) => latitude === null).length;
    expect(await page.locator('#sums').textContent()).toContain(`${unplaced} without a position`);
  });

  testPage('filters by state, charge, silence and text, also in the table', async (page) => {
    await page.locator('#follows').uncheck();
    const count = async () => Number(await page.locator('#count-bicycles').textContent());
    const all = bicycles();
    const settle = async (wanted: number) => soon(count).toBe(wanted);
    await settle(all.length);
    await page.locator('.bar[data-word=lost]').click();
    await settle(all.filter(({ state }) => state === 'lost').length);
    await page.locator('.bar[data-word=retired]').click();
    await settle(all.filter(({ state }) => state === 'lost' || state === 'retired').length);
    await page.locator('.reset').click();
    await page.locator('.bar[data-word="0-9"]').click();
    await settle(
      all.filter(({ state_of_charge: charge }) => charge !== null && Number(charge) < 10).length,
    );
    await page.locator('.reset').click();
    const wanted = all.find(({ name }) => /^\w+ \d+$/.test(name))?.name ?? '';
    await page.keyboard.press('/');
    await page.locator('#search').fill(wanted.toUpperCase());
    await soon(() => rowNames(page)).toEqual([wanted]);
    await page.locator('.reset').click();
    await page.getByRole('button', { name: 'Name' }).click();
    const { compare } = new Intl.Collator('en', { numeric: true });
    await expect
      .poll(() => rowNames(page))
      .toSatisfy((all: string[]) => {
        const names = all.filter((name) => /^\w+ \d+$/.test(name));
        return names.length > 9 && names.join() === names.toSorted(compare).join();
      });
    // The table contains only bicycles that the map shows.
    await page.locator('#follows').check();
    await page.locator('.bubble').first().click();
    await soon(count).toBeLessThan(all.length / 2);
    await page.locator('#fit').click();
    await soon(count).toBeGreaterThan(all.length / 2);
  });

  testPage(
    'finds serial numbers, bleids and bicycles without a position, and opens one with Enter',
    async (page) => {
      const lost = bicycles().find(
        ({ latitude, serial_number: serial }) => latitude === null && serial,
      );
      const search = page.locator('#search');
      for (const text of [lost?.serial_number, lost?.bleid, lost?.uuid]) {
        await search.fill(String(text).toLowerCase());
        await soon(() => rowNames(page)).toEqual([lost?.name]);
        expect(await page.locator('#sums').textContent()).toContain('1 match');
        expect(await page.locator('#away').textContent()).toBe('1 is not on the map');
      }
      await page.keyboard.press('Enter');
      await soon(() => page.locator('#card-title').textContent()).toBe(lost?.name);
      await search.fill('no bicycle has this name');
      await soon(() => page.locator('#table .empty').textContent()).toBe('No bicycles match.');
      await page.keyboard.press('Escape');
      await search.fill('');
      // Search also finds a bicycle outside the visible area.
      await page.locator('.bubble').first().click();
      await soon(() => rowNames(page)).not.toHaveLength(0);
      const seen = await rowNames(page);
      const far = bicycles().find(
        ({ name, latitude }) => latitude !== null && /^\w+ \d+$/.test(name) && !seen.includes(name),
      );
      await search.fill(far?.name ?? '');
      await page.keyboard.press('Enter');
      await soon(() => page.locator('#card-title').textContent()).toBe(far?.name);
      await soon(() => page.locator('#away').textContent()).toBe('');
      await page.keyboard.press('Escape');
      await page.locator('.reset').click();
      await page.locator('#fit').click();
    },
  );

  const SCREENS = [
    [1280, 800, 'dark'],
    [390, 844, 'light'],
  ] as const;
  test.each(mostly(SCREENS, ([width]) => width < 1000))(
    'shows complete names and passes axe checks at %i pixels',
    async (...given) => {
      const [width, height, colorScheme, context] = given as unknown as [
        number,
        number,
        'dark',
        TestContext,
      ];
      const opened = await open(context);
      const { page } = opened;
      const before = page.viewportSize();
      await page.setViewportSize({ width, height });
      const cut = `[...document.querySelectorAll('h1, .names p, .row-head .sort, .rows .cell-name, .rows .cell-state')]
      .filter((one) => one.scrollWidth > one.clientWidth && !/[<{]|separator/.test(one.textContent)).map((one) => one.textContent)`;
      const isNarrow = await page.locator('#tab-filters').isVisible();
      if (isNarrow) await page.locator('#tab-filters').click();
      await page.locator('#search').fill('00');
      await page.evaluate(
        readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
      );
      const complaints = () =>
        page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
        violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 200))]))`);
      for (const scheme of isLong ? (['dark', 'light'] as const) : [colorScheme]) {
        await page.emulateMedia({ colorScheme: scheme });
        if (isNarrow) expect(await complaints(), `${scheme}, filters`).toEqual([]);
        await page.locator('#tab-alerts').click();
        expect(await complaints(), `${scheme}, alerts`).toEqual([]);
        await page.locator('#tab-bicycles').click();
        await soon(() => rowNames(page)).not.toHaveLength(0);
        await soon(() => page.evaluate(cut)).toEqual([]);
        await page.locator('.rows .row').first().click();
        await soon(() => page.locator('.card .fields').count()).toBe(1);
        expect(await complaints(), `${scheme}, table and card`).toEqual([]);
        await page.keyboard.press('Escape');
      }
      await page.emulateMedia({ colorScheme: 'dark' });
      if (isNarrow) await page.locator('#tab-filters').click();
      await page.locator('.reset').click();
      await page.locator('#tab-bicycles').click();
      await page.setViewportSize(before ?? { width: 1090, height: 480 });
      expectQuiet(opened);
    },
  );

  testPage(
    'opens a card with all unchanged fields by keyboard and returns to the table',
    async (page) => {
      await page.locator('.table').focus();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      const name = await page.locator('#card-title').textContent();
      const bicycle = bicycles().find((one) => one.name === name);
      const fields = page.locator('.card .fields');
      await soon(() => fields.textContent()).toContain(String(bicycle?.serial_number));
      for (const text of [
        bicycle?.uuid,
        bicycle?.bleid,
        bicycle?.latest_gps_timestamp,
        bicycle?.created,
        bicycle?.lock?.split('/').at(-2),
      ])
        if (text !== null) expect(await fields.textContent()).toContain(text);
      await page.keyboard.press('Escape');
      expect(await page.locator('#card').isHidden()).toBe(true);
      expect(await page.evaluate('document.activeElement.className')).toBe('table');
    },
  );

  testPage('begins the card with state, charge, seen, place, lock and alerts', async (page) => {
    const bicycle = bicycles().find(
      ({ latitude, lock, name }) => latitude !== null && lock !== null && /^\w+ \d+$/.test(name),
    );
    await page.locator('#search').fill(bicycle?.name ?? '');
    await page.keyboard.press('Enter');
    await soon(() => page.locator('.card .facts dt').allTextContents()).toEqual([
      'State',
      'Charge',
      'Seen',
      'Place',
      'Lock',
      'Alerts',
    ]);
    await soon(() => page.locator('.card .facts').textContent()).toContain(
      bicycle?.lock?.split('/').at(-2),
    );
    await page.keyboard.press('Escape');
    await page.locator('.reset').click();
    await page.locator('#fit').click();
  });

  testPage('shows only the alerts of the bicycles that match the search', async (page) => {
    const all = await page.locator('#count-alerts').textContent();
    await page.locator('#search').fill(HOSTILE[4] ?? '');
    await soon(() => page.locator('#count-alerts').textContent()).not.toBe(all);
    await page.locator('#tab-alerts').click();
    expect(await page.locator('#alerts .item').count()).toBe(
      Number(await page.locator('#count-alerts').textContent()),
    );
    expect(await page.locator('#alerts .items').textContent()).toContain(HOSTILE[4]);
    await page.locator('#tab-bicycles').click();
    await page.locator('.reset').click();
    await soon(() => page.locator('#count-alerts').textContent()).toBe(all);
  });

  testPage('keeps the filter in the address, and reads it from there', async (page) => {
    const fragment = () => page.evaluate('location.hash') as Promise<string>;
    await page.locator('.bar[data-word=lost]').click();
    await soon(fragment).toBe('#state=lost');
    await page.locator('#search').fill('a & b');
    await soon(fragment).toBe('#state=lost&q=a+%26+b');
    const address = page.url();
    await page.locator('.reset').click();
    await soon(fragment).toBe('');
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(address).hash)}`);
    await soon(() => page.locator('#search').inputValue()).toBe('a & b');
    expect(await page.locator('.bar[aria-pressed=true]').getAttribute('data-word')).toBe('lost');
    await page.locator('.reset').click();
    await soon(fragment).toBe('');
  });

  test('applies the filter from the URL and shows complete state names', async (context) => {
    const address = `${await draw('shared.html')}#state=in_maintenance`;
    const { page, context: own } = await openPage(chromium(context), address, { width: 1920 });
    const count = bicycles().filter(({ state }) => state === 'in_maintenance').length;
    await soon(() => page.locator('#sums').textContent()).toContain(`${count} match`);
    const cut = `[...document.querySelectorAll('.cell-state')].filter((one) => one.scrollWidth > one.clientWidth).length`;
    await soon(() => page.locator('.rows .cell-state').count()).toBeGreaterThan(0);
    expect(await page.evaluate(cut)).toBe(0);
    await own.close();
  });

  test('draws the land before it shows town names', async (context) => {
    const browser = chromium(context);
    const own = await browser.newContext({ viewport: { width: 1090, height: 480 } });
    // A busy machine: the worker that cuts the land into tiles answers late.
    await own.addInitScript(`
      const { prototype } = Worker;
      const { postMessage } = prototype;
      prototype.postMessage = function (...message) {
        setTimeout(() => postMessage.apply(this, message), 1_000);
      };
      new MutationObserver(() => {
        if (document.querySelector('.town') !== null && performance.getEntriesByName('towns').length === 0)
          performance.mark('towns');
      }).observe(document, { childList: true, subtree: true });`);
    const { page } = await openPage(browser, await draw('late.html'), { context: own });
    await soon(() => page.locator('.town').count()).toBeGreaterThan(0);
    const startOf = (mark: string) =>
      page.evaluate(`performance.getEntriesByName('${mark}')[0]?.startTime`) as Promise<number>;
    expect(await startOf('towns')).toBeGreaterThan(await startOf('land'));
    await own.close();
  });

  test('shows one message and no map controls when the browser lacks WebGL', async (context) => {
    const own = await chromium(context).newContext();
    await own.addInitScript('HTMLCanvasElement.prototype.getContext = () => null');
    const { page } = await openPage(chromium(context), await draw('plain.html'), { context: own });
    expect(await page.locator('#map').textContent()).toBe(
      'This browser draws no map, because it does not offer WebGL 2. The table and the filters work without it.',
    );
    for (const selector of ['.tools', '#attribution', '.follows label'])
      expect(await page.locator(selector).isVisible()).toBe(false);
    await soon(() => page.locator('#count-bicycles').textContent()).toBe(String(bicycles().length));
    await own.close();
  });

  test('shows zones and zone names when there are no tiles', async (context) => {
    const zone = sandbox().zones.find(
      ({ organization }) => organization === sandbox().organizations[0]?.uuid,
    );
    const { west = 0, south = 0, east = 0, north = 0 } = zone?.box ?? {};
    const flags = ['--near', `${(south + north) / 2},${(west + east) / 2}`, '--radius', '30km'];
    const { page, context: own } = await openPage(
      chromium(context),
      await draw('zones.html', ...flags),
    );
    await soon(() => page.locator('.zone').allTextContents()).toContain(zone?.name);
    await own.close();
  });

  testPage('shows any text of the service as plain text', async (page) => {
    await page.locator('.bar[data-word="0-9"]').click();
    await soon(() => rowNames(page)).toEqual(expect.arrayContaining([...HOSTILE]));
    const names = await rowNames(page);
    for (const [index, name] of HOSTILE.entries()) {
      expect(names).toContain(name);
      await page.locator('.rows .row').nth(names.indexOf(name)).click();
      await soon(() => page.locator('.card .fields').textContent()).toContain(name);
      if (index === 0) expect(await page.locator('.card img').count()).toBe(0);
    }
    await page.keyboard.press('Escape');
    await page.locator('.reset').click();
    await page.locator('#tab-alerts').click();
    for (const name of HOSTILE) expect(await page.locator('#alerts').textContent()).toContain(name);
    expect(await page.evaluate('typeof window.hacked')).toBe('undefined');
    await page.locator('#tab-bicycles').click();
  });

  testPage('names towns only where neither a cluster nor another name is', async (page) => {
    const boxes = (selector: string) =>
      `[...document.querySelectorAll('${selector}')].map((one) => one.getBoundingClientRect())`;
    await soon(() => page.locator('.town').count()).toBeGreaterThan(3);
    const meeting = `(() => {
      const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      const names = ${boxes('.town')}, bubbles = ${boxes('.bubble')};
      return names.filter((one, at) => bubbles.some((each) => meets(one, each)) || names.slice(0, at).some((each) => meets(one, each))).length;
    })()`;
    expect(await page.evaluate(meeting)).toBe(0);
    expect(await page.locator('#attribution').textContent()).toContain('towns: Natural Earth');
  });

  test('embeds the --tiles archive and does not send any requests', async (context) => {
    const path = join(folder, 'city.pmtiles');
    writeFileSync(path, makeArchive('© <a href="https://x.example">Mappers</a>'));
    for (const scheme of ['light', 'dark'] as const) {
      const pictures = [];
      for (const flags of [[], ['--tiles', path]]) {
        const address = await draw(`streets-${flags.length}.html`, ...flags);
        const opened = await openPage(chromium(context), address, { scheme });
        await soon(() =>
          opened.page.evaluate("performance.getEntriesByName('land').length"),
        ).toBeGreaterThan(0);
        if (flags.length > 0)
          await soon(() =>
            opened.page.evaluate("performance.getEntriesByName('tiles').length"),
          ).toBeGreaterThan(0);
        const credits = await opened.page.locator('#attribution').textContent();
        expect(credits?.includes('© Mappers')).toBe(flags.length > 0);
        pictures.push(await opened.page.locator('#map canvas').screenshot());
        expectQuiet(opened);
        await opened.context.close();
      }
      expect(pictures[0]?.equals(pictures[1] ?? Buffer.alloc(0))).toBe(false);
    }
  });

  test('allows requests only to the --tiles server and credits the tile source', async (context) => {
    const { url: origin, asked } = await openServer((response) => {
      response.writeHead(200, { 'Content-Type': 'image/png', 'Access-Control-Allow-Origin': '*' });
      response.end(Buffer.from(TILE, 'base64'));
    });
    const flags = ['--tiles', `${origin}/{z}/{x}/{y}.png`, '--attribution', '© <b>Somebody</b>'];
    const opened = await openPage(chromium(context), await draw('tiles.html', ...flags));
    const { page } = opened;
    await soon(() => asked.length).toBeGreaterThan(0);
    expect(asked.every(({ path }) => /^\/\d+\/\d+\/\d+\.png$/.test(path))).toBe(true);
    expect(await page.locator('#attribution').textContent()).toContain('© <b>Somebody</b>');
    const policy = await page.locator('meta[http-equiv]').getAttribute('content');
    expect(policy).toContain(`connect-src blob: ${origin};`);
    expectQuiet(opened, (url) => url.startsWith(origin));
    await opened.context.close();
  });
});

/** Without a window, every tab counts as visible, so the test sends the visibility event itself. */
function see(page: Page, state: 'hidden' | 'visible'): Promise<unknown> {
  return page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);
}

/**
 * Checks that a change fades out in a halo, and that users with reduced motion see no animation.
 */
async function holdHalo(page: Page, change: () => void): Promise<void> {
  const drawingsOf = (milliseconds: number) => () =>
    page.evaluate(`new Promise((resolve) => {
      const { prototype } = WebGL2RenderingContext;
      const { drawArrays: draw } = prototype;
      let count = 0;
      prototype.drawArrays = function (...operands) { count++; draw.apply(this, operands); };
      setTimeout(() => { prototype.drawArrays = draw; resolve(count); }, ${milliseconds});
    })`);
  await soon(drawingsOf(250)).toBe(0);
  // Its clock is stopped, so the halo stays.
  await page.evaluate('{ const now = performance.now(); performance.now = () => now; }');
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  change();
  await soon(drawingsOf(100)).toBeGreaterThan(1);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await soon(drawingsOf(250)).toBe(0);
  await page.evaluate('delete performance.now');
}

test('a served page updates every tab and survives a reload', async (context) => {
  const chrome = chromium(context);
  const env = { ...(await environment()), XDG_STATE_HOME: folder };
  const served = startFleet(['map', '--serve', '0'], { env });
  await served.until(() => served.stdout().includes('\n') && served.stderr().includes('watching'));
  const url = served.stdout().trim();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{24}\/$/);
  const isOwn = (asked: string) => asked.startsWith(url);
  const first = await openPage(chrome, url);
  const { page } = first;
  await soon(() => page.locator('#link').textContent()).toBe('live');
  await soon(() => page.locator('#total').textContent()).toBe(String(bicycles().length));
  await soon(async () => comparable(await numbersOf(page))).toEqual(comparable(await readStats()));

  const bicycle = bicycles().find(
    ({ state, latitude }) => state === 'available' && latitude !== null,
  );
  const uuid = bicycle?.uuid ?? '';
  // Buttons keep their elements while the fleet changes.
  await page.evaluate(
    "window.kept = ['.bubble', '.bar', '.rows .row'].map((one) => document.querySelector(one))",
  );
  sandbox().changeBicycle(uuid, {
    name: 'Moved <b>now</b>',
    latitude: 52.5,
    longitude: 13.4,
    state_of_charge: 1,
  });
  await soon(() => page.locator('.rows').textContent()).toContain('Moved');
  expect(await page.evaluate('window.kept.every((one) => one.isConnected)')).toBe(true);
  await page.locator('#search').fill('moved <b>');
  await soon(() => rowNames(page)).toEqual(['Moved <b>now</b>']);
  await page.locator('.rows .row').click();
  await soon(() => page.locator('.card .facts').textContent()).toContain('52.5, 13.4');
  await holdHalo(page, () => sandbox().changeBicycle(uuid, { state_of_charge: 2 }));
  sandbox().act(uuid, 'declare_lost');
  await soon(() => page.locator('.card .state').textContent()).toBe('lost');
  // A new tab gets the earlier changes, and both tabs get the new ones.
  const second = await openPage(chrome, url, { context: first.context });
  await soon(async () => comparable(await numbersOf(second.page))).toEqual(
    comparable(await readStats()),
  );
  sandbox().changeBicycle(uuid, { name: 'Moved again' });
  await second.page.locator('#search').fill('moved again');
  await page.locator('#search').fill('moved again');
  for (const tab of [page, second.page]) await soon(() => rowNames(tab)).toEqual(['Moved again']);
  // A hidden tab closes its connection, because a browser allows six, and catches up when it is
  // visible again.
  await see(page, 'hidden');
  sandbox().changeBicycle(uuid, { name: 'Moved unseen' });
  await second.page.locator('#search').fill('moved unseen');
  await soon(() => rowNames(second.page)).toEqual(['Moved unseen']);
  expect(await rowNames(page)).toEqual(['Moved again']);
  await see(page, 'visible');
  await page.locator('#search').fill('moved unseen');
  await soon(() => rowNames(page)).toEqual(['Moved unseen']);
  await second.page.close();

  sandbox().dropStreams();
  await soon(() => page.locator('#gaps').textContent()).toBe('1 gap');
  await page.locator('#tab-feed').click();
  expect(await page.locator('.item-gap').first().textContent()).toContain('no updates from');
  expectQuiet(first, isOwn);

  expect((await served.stop()).code).toBe(130);
  await soon(() => page.locator('#link').textContent()).toMatch(
    /^not connected since [\d:]+: fleet does not answer$/,
  );
  await first.context.close();
});

test('a tab that loses its connection resumes after the last received update', async (context) => {
  const link = { state: 'open', sinceMs: 0, message: null, gaps: 0, total: null } as const;
  const nothing = {
    rows: [],
    alerts: { rows: [], byType: [], note: null },
    note: null,
    atMs: Date.now(),
  };
  const payload: Payload = { ...STILL, ...nothing, link, title: 'x', timeZone: null, tiles: null };
  const opened = {
    port: 0,
    key: 'k'.repeat(24),
    template: await readTemplate(),
    past: undefined,
    idleMs: 1_000,
  };
  const server = await openPageServer({
    ...opened,
    payload: () => payload,
    fields: () => undefined,
  });
  onTestFinished(server.close);
  const { page, context: own } = await openPage(chromium(context), server.url);
  await soon(() => page.locator('#link').textContent()).toBe('live');
  // From now on, silence breaks the connection repeatedly.
  let returns = 0;
  page.on('request', (request) => void (request.url().includes('events') && returns++));
  const event = { kind: 'gap', atMs: 0, uuid: null, name: null, text: 'once' } as const;
  server.send({ ...payload, sequence: 1, events: [event] });
  await soon(() => returns).toBeGreaterThan(2);
  await page.locator('#tab-feed').click();
  expect(await page.locator('#feed .item').count()).toBe(1);
  await own.close();
});

test('the header truncates a long reason for a lost connection', async (context) => {
  const reason = 'the service refused the push channel of this organization with 503';
  const link = { state: 'lost', sinceMs: 0, message: reason, gaps: 0, total: null } as const;
  const nothing = { rows: [], alerts: null, note: null, atMs: Date.now() };
  const payload: Payload = { ...STILL, ...nothing, link, title: 'x', timeZone: null, tiles: null };
  const server = await openPageServer({
    port: 0,
    key: 'k'.repeat(24),
    template: await readTemplate(),
    past: undefined,
    payload: () => payload,
    fields: () => undefined,
  });
  onTestFinished(server.close);
  const { page, context: own } = await openPage(chromium(context), server.url);
  const text = page.locator('.link-text');
  await soon(() => text.textContent()).toContain(reason);
  const isCut = () =>
    page.evaluate(`(() => {
    const text = document.querySelector('.link-text');
    return [text.scrollWidth > text.clientWidth, getComputedStyle(text).textOverflow];
  })()`);
  expect(await isCut()).toEqual([false, 'ellipsis']);
  server.send({ ...payload, sequence: 1, link: { ...link, message: reason.repeat(9) } });
  await soon(() => text.textContent()).toContain(reason.repeat(9));
  expect(await isCut()).toEqual([true, 'ellipsis']);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  await own.close();
});

test('the time slider shows the past after it rests, and returns to the current fleet', async (context) => {
  const fromMs = Date.UTC(2026, 5, 1, 12, 0);
  const alerts = { rows: [], byType: [], note: null };
  const nothing = { alerts, note: null, atMs: Date.now() };
  const link = { state: 'open', sinceMs: 0, message: null, gaps: 0, total: null } as const;
  const named = (name: string): Payload => ({
    ...{ ...STILL, ...nothing, link, title: 'x', timeZone: 'UTC', tiles: null },
    pastFromMs: fromMs,
    rows: [
      {
        ...{ uuid: 'u', name, state: 'available', percent: 50, seenMs: null, codes: '' },
        position: [13.4, 52.5],
      },
    ],
  });
  const asked: number[] = [];
  let canRead = true;
  const server = await openPageServer({
    port: 0,
    key: 'k'.repeat(24),
    template: await readTemplate(),
    past: async (atMs) => {
      asked.push(atMs);
      if (!canRead) throw new Error('the mirror is gone');
      return named(`Then ${new Date(atMs).toISOString().slice(11, 16)}`);
    },
    payload: () => named('Now'),
    fields: () => undefined,
  });
  onTestFinished(server.close);
  const { page, context: own } = await openPage(chromium(context), server.url);
  await soon(() => rowNames(page)).toEqual(['Now']);
  // Counts the calls, because a browser does not send a request that is aborted at once.
  await page.evaluate(`(() => {
    window.calls = 0;
    const original = window.fetch;
    window.fetch = (...words) => {
      window.calls += 1;
      return original(...words);
    };
  })()`);
  /** Moves the slider quickly over these minutes after the start. */
  const drag = (...minutes: readonly number[]) =>
    page.evaluate(`(() => {
      const slider = document.querySelector('#past-time');
      for (const minute of ${JSON.stringify(minutes)}) {
        slider.value = String(${fromMs / 60_000} + minute);
        slider.dispatchEvent(new Event('input'));
      }
    })()`);
  await drag(1, 2, 3, 4, 5);
  await soon(() => rowNames(page)).toEqual(['Then 12:05']);
  expect(asked).toEqual([fromMs + 5 * 60_000]);
  expect(await page.evaluate('window.calls')).toBe(1);
  expect(await page.locator('#past-at').textContent()).toContain('12:05');
  expect(await page.locator('#past-live').getAttribute('aria-pressed')).toBe('false');
  // An update of the current fleet does not replace the past.
  server.send({ ...named('Later'), sequence: 1, events: [] });
  canRead = false;
  await drag(7);
  await soon(() => page.locator('#past-at').textContent()).toBe(
    'the history of the mirror cannot be read',
  );
  expect(await rowNames(page)).toEqual(['Then 12:05']);
  await page.locator('#past-live').click();
  await soon(() => rowNames(page)).toEqual(['Later']);
  expect(await page.locator('#past-at').textContent()).toBe('now');
  expect(await page.locator('#past-live').getAttribute('aria-pressed')).toBe('true');
  await own.close();
});

test('a served page loads its archived tiles through fleet', async (context) => {
  const path = join(folder, 'served.pmtiles');
  writeFileSync(path, makeArchive('Mappers'));
  const env = { ...(await environment()), XDG_STATE_HOME: folder };
  const served = startFleet(['map', '--serve', '0', '--tiles', path], { env });
  await served.until(() => served.stdout().includes('\n'));
  const url = served.stdout().trim();
  const opened = await openPage(chromium(context), url);
  await soon(() => opened.requests).toContain(`${url}tiles/0/0/0`);
  const tile = await fetch(`${url}tiles/0/0/0`);
  expect([tile.status, (await tile.arrayBuffer()).byteLength > 20]).toEqual([200, true]);
  expect((await (await fetch(`${url}tiles/1/0/0`)).arrayBuffer()).byteLength).toBe(0);
  expect((await fetch(`${url}tiles/1/9/0`)).status).toBe(404);
  expectQuiet(opened, (asked) => asked.startsWith(url));
  await opened.context.close();
  expect((await served.stop()).code).toBe(130);
});

test('refuses a --tiles file that cannot be read or is not an archive', async () => {
  const path = join(folder, 'wrong.pmtiles');
  writeFileSync(path, 'not tiles '.repeat(20));
  for (const [file, reason] of [
    [path, 'is not a PMTiles archive'],
    [join(folder, 'none.pmtiles'), 'cannot be read'],
  ] as const) {
    const args = ['map', '-o', 'html', '--file', join(folder, 'x.html'), '--tiles', file];
    const before = sandbox().requests.length;
    const run = await runFleet(args, { env: await environment() });
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(reason)]);
    expect(sandbox().requests.length).toBe(before);
  }
});
