import { defineConfig } from 'vitest/config';

// Tests talk over real sockets, so they get generous limits: none of them measures time.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.long.test.ts'],
    globalSetup: ['test/support/announce.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
