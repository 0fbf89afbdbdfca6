// Reads README and guides: their shell lines and their terminal sessions.

import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

export function readText(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** `docs/bulk.md` and so on. */
export const GUIDES = readdirSync(new URL('docs', ROOT))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

/** Returns the code blocks of one language. */
export function blocksOf(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, block = '']) => block,
  );
}

/** Returns the shell lines that run fleet, with continuation lines and without comments. */
export function shellLines(path: string): string[] {
  return blocksOf(readText(path), 'sh')
    .flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.replace(/ +# .*$/, '').trim())
    .filter((line) => /\bfleet\b/.test(line) && !/^(#|npm|cd|git)\b/.test(line));
}

/** The queries that `fleet help mirror` begins with. */
export const QUERIES = shellLines('docs/mirror.md').flatMap(
  (line) => /^fleet mirror query "(.*)"$/.exec(line)?.[1] ?? [],
);
