import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SLOW_FILES } from './support/slow-files.js';
import { transcripts } from './support/transcripts/plugin.js';

/** The place of a file in the order. A new clone has no recorded times. */
function rankOf({ moduleId }: TestSpecification): number {
  const rank = SLOW_FILES.findIndex((name) => moduleId.endsWith(`/test/${name}`));
  return rank === -1 ? SLOW_FILES.length : rank;
}

/** Starts the slowest files first, so that the end has no single long test. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

// All tests. Tests use real sockets, so their limits are generous. No test measures performance.
export default defineConfig({
  plugins: [transcripts()],
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts', 'test/transcripts/**/*.md'],
    exclude: ['test/**/*.long.test.ts', 'test/transcripts/README.md'],
    globalSetup: ['test/support/announce.ts'],
    // Expected texts contain local times, which must not depend on the machine's zone.
    env: { TZ: 'UTC' },
    sequence: { sequencer: SlowestFirst },
    // One process per worker instead of per file, because no module of fleet keeps state and
    // compiled code is reused.
    isolate: false,
    // Many tests wait for sockets and processes, so more files run at a time than there are cores.
    // Each worker needs 0.8 s of processor time to load fleet.
    maxWorkers: 8,
    // These flags save processor time: no threads for garbage collection, fewer copies, and simple,
    // immediate compilation.
    execArgv: [
      '--single-threaded-gc',
      '--min-semi-space-size=16',
      '--max-semi-space-size=32',
      '--liftoff-only',
      '--interrupt-budget=1000000',
      '--sparkplug',
      '--always-sparkplug',
    ],
    // Its checks of GBFS 3.0 are TypeScript.
    server: { deps: { inline: ['gbfs-typescript-types'] } },
    // A machine with twenty busy loops must not fail a test.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 90_000 } },
  },
});
