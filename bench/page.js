// Measures the page of 100,000 bicycles: the time and memory to write it, and the time from opening
// it in a real browser to the first painted points.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { liveTabs } from './live.js';
import { environment, LONG_ROUNDS, limit, median, milliseconds, repeat, run } from './measure.js';
import { CHOSEN_ROUNDS } from './options.js';

const TOTAL = 100_000;
const WRITE_LIMIT_SECONDS = 10;
const WRITE_LIMIT_MB = 250;
const ROUNDS = CHOSEN_ROUNDS ?? 5;
const PAINT_LIMIT_SECONDS = 3;

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchPage(url) {
  yield* liveTabs(url);
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const path = join(folder, 'fleet.html');
  try {
    yield* await writeRows(url, path);
    const paint = await measurePaint(`file://${path}`);
    if (paint !== undefined) yield paint;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures the time and memory of writing the page to `path`. */
async function writeRows(url, path) {
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: `total=${TOTAL}.size=100` });
  const { seconds, peakMb } = await repeat(() =>
    run(`"$NODE" "$FLEET" map -o html --file ${path} -q`, env),
  );
  const megabytes = (statSync(path).size / 1e6).toFixed(1);
  const what = 'map -o html, 100,000 bicycles';
  const rows = [
    limit(`${what}, ${megabytes} MB`, milliseconds(seconds), seconds, WRITE_LIMIT_SECONDS, 's'),
    limit(`${what}, memory`, `${Math.round(peakMb)} MB`, peakMb, WRITE_LIMIT_MB, 'MB'),
  ];
  return rows.map((row) => ({ ...row, runs: LONG_ROUNDS }));
}

/** Returns undefined and prints a line when Chromium cannot start. */
async function measurePaint(address) {
  const { chromium } = await import('playwright-core');
  const { default: packed } = await import('@sparticuz/chromium');
  const args = packed.args.filter((flag) => flag !== '--single-process');
  const browser = await chromium
    .launch({ executablePath: await packed.executablePath(), args, headless: true })
    .catch((error) => {
      process.stderr.write(
        `!!! not measured: Chromium does not start here: ${String(error).split('\n', 1)[0]}\n`,
      );
      return undefined;
    });
  if (browser === undefined) return undefined;
  try {
    const times = [];
    for (let round = -1; round < ROUNDS; round++) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      await page.goto(address);
      await page.waitForFunction(
        () => performance.getEntriesByName('points').length > 0,
        undefined,
        {
          timeout: 60_000,
        },
      );
      const time = await page.evaluate(
        () => performance.getEntriesByName('points')[0]?.startTime ?? 0,
      );
      if (round >= 0) times.push(time / 1000);
      await page.close();
    }
    const seconds = median(times);
    return {
      what: '100,000 bicycles, first paint of the points',
      figure: milliseconds(seconds),
      peer: `at most ${PAINT_LIMIT_SECONDS} s`,
      ratio: seconds / PAINT_LIMIT_SECONDS,
      most: 1,
      met: seconds <= PAINT_LIMIT_SECONDS,
    };
  } finally {
    await browser.close();
  }
}
