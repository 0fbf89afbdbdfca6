// Keeps jq's compiled code while the tests of a file run: V8 shares it between threads as long as one of them holds it.

import { afterAll, beforeAll } from 'vitest';
import { openJq } from '../../src/terminal/jq/open.js';
import type { Jq } from '../../src/terminal/jq/results.js';

/** Each further jq of the file starts in half the processor time. */
export function keepJq(): void {
  let jq: Jq | undefined;
  beforeAll(async () => {
    jq = await openJq('.', { terminal: false });
  });
  afterAll(() => jq?.close());
}
