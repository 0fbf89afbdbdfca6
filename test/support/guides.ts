// README and guides as they are written: their lines for a shell, and what they show of a terminal.

import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

export function readText(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** `docs/bulk.md` and so on. */
export const GUIDES = readdirSync(new URL('docs', ROOT)).map((name) => `docs/${name}`);

/** The blocks of code of one language. */
export function blocksOf(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, block = '']) => block,
  );
}

/** The lines for a shell that run fleet, without what they are for, with the lines they go on in. */
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
