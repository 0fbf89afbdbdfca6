// Chromium for tests of the page: one for all tests of a file, and everything that it complains about.

import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, type TestContext } from 'vitest';
import { reportSkip } from './tools.js';

/** Its own protections stay on: without them a page may do what a real browser refuses. One process would end with its first context. */
const UNWANTED =
  /^--(?:single-process|disable-web-security|allow-running-insecure-content|disable-site-isolation-trials)$/;

/** Less processor time: WebGL's processor does not put the page together, one thread draws, and V8 compiles no more than it runs. */
const THRIFTY = [
  '--disable-gpu-compositing',
  '--num-raster-threads=1',
  '--renderer-process-limit=1',
  '--js-flags=--no-opt --single-threaded --max-lazy',
];

/** Said where WebGL draws on the processor, whoever asks for the picture. */
const DRIVERS_NOTE = /GPU stall due to ReadPixels/;

export interface OpenedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the console and of scripts, and what the policy of the page refused. */
  readonly complaints: string[];
  /** Everything that was asked for beyond the disk and the page itself. */
  readonly requests: string[];
}

export interface OpenOptions {
  width?: number;
  height?: number;
  scheme?: 'dark' | 'light';
  /** 1 where somebody looks at the picture; half of it is a quarter of the work. */
  pixelRatio?: number;
  /** Opened in the browser of another page, as a further tab. */
  context?: BrowserContext;
}

/** The browser; undefined where Chromium cannot start, which is said at the end of the run. */
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

/** One browser for all tests of the file; a test that asks for it where it did not start is skipped. */
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
  // As small as the wide layout can be: Chromium draws it on the processor.
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
  // A function that is waited for in the page is refused by its policy.
  while (!(await page.evaluate("performance.getEntriesByName('points').length > 0")))
    await page.waitForTimeout(20);
  return { page, context, complaints, requests };
}
