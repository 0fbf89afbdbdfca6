import { defineConfig } from 'vitest/config';
import usual from './vitest.config.js';

// A run that never ends by itself, for test/run-end.test.ts.
export default defineConfig({
  test: { ...usual.test, include: ['test/support/hanging.ts'], maxWorkers: 1 },
});
