import { defineConfig } from 'vitest/config';

// Tests talk over real sockets, so they get generous limits: none of them measures time.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.long.test.ts'],
    globalSetup: ['test/support/announce.ts'],
    // One process a worker, not one a file: nothing of fleet is kept in a module, and what is compiled is compiled once.
    isolate: false,
    // Many tests wait for sockets and processes: more files at a time than there are cores.
    maxWorkers: 6,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
