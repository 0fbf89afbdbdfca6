import { defineConfig } from 'vitest/config';

// The long campaigns, `*.long.test.ts`: minutes each, so they run on request and not with every change.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.long.test.ts'],
    globalSetup: ['test/support/announce.ts'],
    // Expected texts have times of day; a machine in another zone must show the same.
    env: { TZ: 'UTC' },
    testTimeout: 600_000,
    hookTimeout: 60_000,
    passWithNoTests: true,
  },
});
