// Makes each transcript a test file of vitest, so that transcripts run in parallel and their paths
// select them.

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vitest/config';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export function transcripts(): Plugin {
  return {
    name: 'transcripts',
    enforce: 'pre',
    load(id) {
      if (!/\/test\/transcripts\/.*\.md$/.test(id)) return undefined;
      const path = JSON.stringify(relative(ROOT, id).replaceAll('\\', '/'));
      return `import { testTranscript } from '/test/support/transcripts/transcript.js';\ntestTranscript(${path});\n`;
    },
  };
}
