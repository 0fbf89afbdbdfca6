// Makes fleet believe that it runs on another platform, for one test.

import { onTestFinished } from 'vitest';

/**
 * Sets `process.platform` until the end of the running test. Only decisions of fleet change: paths
 * are still joined as on the real platform.
 */
export function pretendPlatform(platform: NodeJS.Platform): void {
  const real = process.platform;
  Object.defineProperty(process, 'platform', { value: platform });
  onTestFinished(() => {
    Object.defineProperty(process, 'platform', { value: real });
  });
}
