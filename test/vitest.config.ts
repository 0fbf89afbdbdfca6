import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest begins first: one of these alone at the end would leave a core idle. A fresh clone knows no times of its own. */
const LONGEST = [
  'commands/mirror-writers',
  'commands/mirror-run',
  'commands/nightly',
  'commands/map-serve',
  'commands/watch',
  'commands/gone',
  'process',
  'run-end',
  'input/hostile-workbooks',
  'commands/lists',
  'commands/examples',
  'commands/chaos',
  'page/page',
  'commands/journal',
  'commands/create-from',
  'http/bounds',
  'commands/bulk-kill',
  'commands/edit-terminal',
  'commands/alerts-random',
  'commands/names',
  'terminal/pager',
  'commands/gbfs',
  'commands/doctor',
  'commands/alerts-listen',
  'commands/token-source',
  'commands/bulk',
  'readme',
  'commands/spreadsheet',
  'system/named-file',
  'commands/watch-terminal',
  'mirror/database',
];

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return rank === -1 ? LONGEST.length : rank;
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}

// Tests talk over real sockets, so they get generous limits: none of them measures time.
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.long.test.ts'],
    globalSetup: ['test/support/announce.ts'],
    // Expected texts have times of day; a machine in another zone must show the same.
    env: { TZ: 'UTC' },
    sequence: { sequencer: LongestFirst },
    // One process a worker, not one a file: nothing of fleet is kept in a module, and what is compiled is compiled once.
    isolate: false,
    // Many tests wait for sockets and processes: more files at a time than there are cores. Each worker loads fleet anew, 0.8 s of a processor.
    maxWorkers: 12,
    // Both cores are busy as it is, and what is short is not worth optimizing: no threads for garbage, less of it moved about, each function
    // compiled at once and simply, and jq's WebAssembly once and quickly.
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
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
