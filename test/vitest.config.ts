import { defineConfig } from 'vitest/config';

// Tests talk over real sockets, so they get generous limits: none of them measures time.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // A clean slate: nothing of the developer's own settings or proxies reaches a test.
    env: { FLEET_CONFIG_DIR: '/nonexistent/fleet-tests', NO_COLOR: '', FORCE_COLOR: '' },
  },
});
