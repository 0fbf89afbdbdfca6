import { defineConfig } from 'vitest/config';
import usual from './vitest.config.js';

// The tests of a process, run against the executable (`npm run test:binary`).
export default defineConfig({
  test: {
    ...usual.test,
    include: [
      'test/executable.test.ts',
      'test/{process,tls}.test.ts',
      'test/settings/place.test.ts',
      'test/terminal/{jq,stdin}.test.ts',
      'test/commands/{alerts-kill,chaos,completion,doctor,examples,mcp,watch-terminal}.test.ts',
      'test/bulk/{carry-out,bulk-kill,journal}.test.ts',
    ],
    env: { ...usual.test?.env, FLEET_BINARY: new URL('../dist/fleet', import.meta.url).pathname },
  },
});
