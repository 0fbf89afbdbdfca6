import { defineConfig } from 'vitest/config';
import { SLOW_FILES } from './support/slow-files.js';
import usual from './vitest.config.js';

// The tests of `npm test`: all except the slow files.
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    exclude: [...(usual.test?.exclude ?? []), ...SLOW_FILES.map((name) => `test/${name}`)],
  },
});
