// Takes the picture of the page for the README: one city of a sandbox with one chosen bicycle. `npm
// run picture`

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packed from '@sparticuz/chromium';
import { chromium } from 'playwright-core';

const FLEET = fileURLToPath(new URL('../bin/fleet.js', import.meta.url));
const PICTURE = fileURLToPath(new URL('page.png', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'fleet-picture-'));
const env = { ...process.env, FLEET_CONFIG_DIR: folder, FLEET_PROFILE: '' };
const sandbox = spawn(
  process.execPath,
  [FLEET, 'sandbox', '--port', '0', '--sse-port', '0', '--rate', '0'],
  {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
try {
  await new Promise((resolve) => sandbox.stdout.once('data', resolve));
  const file = join(folder, 'fleet.html');
  execFileSync(
    process.execPath,
    [
      FLEET,
      '--profile',
      'sandbox',
      'map',
      '--near',
      '52.52,13.40',
      '--radius',
      '25km',
      '--file',
      file,
      '-q',
    ],
    { env },
  );
  const args = packed.args.filter((flag) => flag !== '--single-process');
  const browser = await chromium.launch({
    executablePath: await packed.executablePath(),
    args,
    headless: true,
  });
  const page = await browser.newPage({
    viewport: { width: 1240, height: 700 },
    colorScheme: 'dark',
    reducedMotion: 'reduce',
  });
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => performance.getEntriesByName('points').length > 0);
  await page.waitForTimeout(1_500);
  await page.locator('.rows .row').nth(1).click();
  await page.waitForTimeout(1_500);
  await page.screenshot({ path: PICTURE });
  await browser.close();
} finally {
  sandbox.kill();
  rmSync(folder, { recursive: true, force: true });
}
