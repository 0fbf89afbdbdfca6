// Starts one Chromium for all page tests of a file and collects its errors.

import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, type TestContext } from 'vitest';
import { reportSkip } from './tools.js';

/** The browser's own protections stay on, so that it blocks the same as for users. */
const UNWANTED =
  /^--(?:single-process|disable-web-security|allow-running-insecure-content|disable-site-isolation-trials)$/;

/**
 * These flags save processor time: no composition for WebGL, one drawing thread, and lazy
 * compilation.
 */
const THRIFTY = [
  '--disable-gpu-compositing',
  '--num-raster-threads=1',
  '--renderer-process-limit=1',
  '--js-flags=--no-opt --single-threaded --max-lazy',
];

/** A message of WebGL in software rendering. */
const DRIVERS_NOTE = /GPU stall due to ReadPixels/;

export interface OpenedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the console and of scripts, and what the policy of the page refused. */
  readonly complaints: string[];
  /** All requests except those for the disk and the page. */
  readonly requests: string[];
}

export interface OpenOptions {
  width?: number;
  height?: number;
  scheme?: 'dark' | 'light';
  /** 1 for readable screenshots; half of it saves processor time. */
  pixelRatio?: number;
  /** Opens the page as another tab of this browser. */
  context?: BrowserContext;
}

/**
 * Returns the browser, or undefined when Chromium cannot start, which is reported at the end of the
 * run.
 */
export async function startBrowser(
  flags: readonly string[] = THRIFTY,
): Promise<Browser | undefined> {
  try {
    const { default: packed } = await import('@sparticuz/chromium');
    return await chromium.launch({
      executablePath: await packed.executablePath(),
      args: [...packed.args.filter((flag) => !UNWANTED.test(flag)), ...flags],
      headless: true,
    });
  } catch (error) {
    reportSkip(
      `SKIPPED without Chromium: the page in a browser (${String(error).split('\n', 1)[0]?.slice(0, 200)})`,
    );
    return undefined;
  }
}

/** Returns the browser of the file; skips the test when it could not start. */
export function useBrowser(flags?: readonly string[]): (context: TestContext) => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await startBrowser(flags);
  }, 60_000);
  afterAll(() => browser?.close());
  return (context) => browser ?? context.skip('Chromium does not start here');
}

/** Opens the page and waits until the bicycles are drawn. */
export async function openPage(
  browser: Browser,
  url: string,
  options: OpenOptions = {},
): Promise<OpenedPage> {
  // The smallest size with the wide layout, because Chromium draws in software.
  const { width = 1090, height = 480, scheme = 'dark', pixelRatio = 0.5 } = options;
  const context =
    options.context ??
    (await browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: pixelRatio,
      colorScheme: scheme,
      reducedMotion: 'reduce',
    }));
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type()) || DRIVERS_NOTE.test(message.text())) return;
    complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    if (!/^(?:file|blob|data):/.test(request.url())) requests.push(request.url());
  });
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error('refused by the policy: ' + violatedDirective + ' ' + blockedURI))`,
  );
  await page.goto(url);
  // Uses polling from here, because the page's policy blocks functions that wait inside it.
  while (!(await page.evaluate("performance.getEntriesByName('points').length > 0")))
    await page.waitForTimeout(20);
  return { page, context, complaints, requests };
}
