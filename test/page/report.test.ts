// Tests the page of `fleet report` in a real browser: without a script, on a screen and on paper.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, type TestContext, test } from 'vitest';
import { useBrowser } from '../support/browser.js';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { simulateFleet, writeMirrorOf } from '../support/simulated-fleet.js';

const browser = useBrowser();
const folder = newFolder();
const file = join(folder, 'report.html');

beforeAll(async () => {
  const address = `sqlite:${join(folder, 'fleet.db')}`;
  const period = {
    fromMs: Date.parse('2026-10-01T00:00Z'),
    untilMs: Date.parse('2026-11-01T00:00Z'),
  };
  await writeMirrorOf(address, simulateFleet({ seed: 21, ...period, gapCount: 3 }));
  const args = ['--since', '2026-10-18', '--until', '2026-10-30', '--timezone', 'Europe/Berlin'];
  const run = await runFleet(['report', '--to', address, ...args, '--file', file]);
  expect(run.code).toBe(0);
});

test.each([
  [1280, 'light'],
  [1280, 'dark'],
  [390, 'light'],
  [390, 'dark'],
] as const)('passes axe and fits %i pixels (%s)', async (...given) => {
  // Vitest passes the context after the values, which its types do not say.
  const [width, colorScheme, context] = given as unknown as [number, 'light' | 'dark', TestContext];
  const page = await browser(context).newPage({
    viewport: { width, height: 900 },
    colorScheme,
  });
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(pathToFileURL(file).href);
  expect(await page.locator('svg').count()).toBe(4);
  expect(await page.locator('table').count()).toBe(3);
  expect(await page.locator('script').count()).toBe(0);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  // The figures themselves are readable without scrolling.
  const hidden = `(() => {
    const { scrollWidth, clientWidth } = document.querySelector('.scroll');
    return scrollWidth - clientWidth;
  })()`;
  expect(await page.evaluate(hidden)).toBe(0);
  expect(requests).toEqual([pathToFileURL(file).href]);
  await page.evaluate(
    readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
  );
  const complaints = await page.evaluate(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 200))]))`,
  );
  expect(complaints).toEqual([]);
  await page.close();
});

test('the report fits the width of A4 paper when it is printed', async (context) => {
  const page = await browser(context).newPage({ colorScheme: 'dark' });
  await page.goto(pathToFileURL(file).href);
  await page.emulateMedia({ media: 'print' });
  // The width of A4 at 96 pixels per inch, without the margins of 15 mm.
  await page.setViewportSize({ width: 680, height: 960 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(680);
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
    'rgb(255, 255, 255)',
  );
  const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1');
  const boxes = [...pdf.matchAll(/\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/g)];
  expect(
    boxes.map(([, wide, high]) => [Math.round(Number(wide)), Math.round(Number(high))]),
  ).toEqual(boxes.map(() => [595, 842]));
  expect(boxes.length).toBeGreaterThan(0);
  await page.close();
});
