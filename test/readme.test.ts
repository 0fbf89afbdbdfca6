// Tests README: its length, its links, and that fleet prints the shown output.

import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { pathOf } from '../src/cli/help.js';
import { blocksOf, GUIDES, readText } from './support/guides.js';
import { everyCommand } from './support/pages.js';
import { useSandbox } from './support/sandbox.js';
import { type Home, makeHome, runLine, type Step } from './support/shell.js';
import { hasTool } from './support/tools.js';

const README = readText('README.md');

test('README has at most 170 lines', () => {
  expect(README.trimEnd().split('\n').length).toBeLessThanOrEqual(170);
});

test('.ci/run runs one of the two commands that README shows for a new machine', () => {
  const block = blocksOf(README, 'sh').find((text) => text.includes('npm install'));
  const commands = block?.replace(/ +#.*/g, '').trim().split('\n');
  expect(commands).toEqual([
    'npm install && npm run demo',
    readText('.ci/run').trim().split('\n').at(-1),
  ]);
});

test.each(['README.md', 'CONTRIBUTING.md', ...GUIDES])('every link of %s has a target', (path) => {
  const base = new URL(`../${path}`, import.meta.url);
  const targets = [...readText(path).matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
  const isThere = (target: string) =>
    target.startsWith('https://') || existsSync(new URL(target, base));
  expect(targets.filter((target) => !isThere(target))).toEqual([]);
});

test('README links to every guide', () => {
  expect(GUIDES.filter((path) => !README.includes(`](${path})`))).toEqual([]);
});

/** Returns the sentences without code and markup. Short sentences may be repeated. */
function sentencesOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '').replaceAll(/[`*|]/g, '');
  const sentences = prose
    .split(/[.:;]\s|\n\n|\n[-|]/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim());
  return sentences.filter(({ length }) => length > 40);
}

test("README, guides and help pages do not repeat each other's sentences", () => {
  const pages = everyCommand().map((command) => [pathOf(command), command.description()] as const);
  const texts = [
    ...['README.md', ...GUIDES].map((path) => [path, readText(path)] as const),
    ...pages,
  ];
  const where = new Map<string, Set<string>>();
  for (const [name, text] of texts)
    for (const sentence of sentencesOf(text))
      where.set(sentence, (where.get(sentence) ?? new Set()).add(name));
  // Help pages of two commands may share sentences, because users read one of them.
  const isTwice = (names: ReadonlySet<string>) =>
    names.size > 1 && [...names].some((name) => name.endsWith('.md'));
  expect(
    [...where]
      .filter(([, names]) => isTwice(names))
      .map(([sentence, names]) => [sentence, ...names]),
  ).toEqual([]);
});

/** Removes colors, widths, URLs and ages, which differ between runs. */
function comparable(text: string): string {
  return (
    text
      .replace(/\u001b\[[\d;?]*[A-Za-z]/g, '')
      .replace(/https?:\/\/[\w.:-]+(?:\/api)?\/?/g, 'URL')
      // A progress line may appear on a busy machine.
      .replace(/^.*[█░].*$/gm, '')
      .replace(/\S*credentials\.json/, 'FILE')
      .replace(/just now|\d+ (?:s|min|h|d) ago|in \d+ (?:ms|h)|\(2\d{3}-\d\d-[^)]+\)/g, 'TIME')
      .replace(/\s+/g, ' ')
      .trim()
  );
}

/** Returns a pattern for the shown text; `…` matches any lines. */
function as(expected: string) {
  const parts = comparable(expected).split(' … ');
  return new RegExp(
    `^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*')}$`,
  );
}

/** Returns the commands after `$` and their output. */
function readTranscript(block: string): { line: string; output: string }[] {
  const parts = block.split(/^\$ /m).slice(1);
  return parts.map((part) => ({
    line: part.split('\n', 1)[0] ?? '',
    output: part.replace(/^.*\n/, ''),
  }));
}

const [LOGIN = [], ...OTHERS] = blocksOf(readText('README.md'), 'console').map(readTranscript);

describe.runIf(hasTool('script'))('README shows the real output of fleet', () => {
  const sandbox = useSandbox({ bicycles: 500 });
  let home: Home;
  beforeAll(async () => {
    home = await makeHome();
  });
  const run = (line: string, steps: readonly Step[] = []) =>
    runLine(home, line, { isTerminal: true, steps });

  test('README shows the real output of a login with its prompts', async () => {
    const [{ line, output } = { line: '', output: '' }] = LOGIN;
    const { baseUrl, sseUrl } = sandbox();
    const ended = await run(line, [
      { when: /Address of the service/, press: `${baseUrl}\r` },
      { when: /Push address/, press: `${sseUrl}\r` },
      { when: /Access token/, press: `${await sandbox().token()}\r` },
      { when: /Organization/, press: '1\r' },
    ]);
    // The terminal redraws a typed line for each key; keep the last one.
    const text = ended.text.replace(/^.*\u001b\[G/gm, '');
    expect(comparable(text)).toMatch(as(output));
    expect(ended.code).toBe(0);
  });

  test.each(OTHERS.flat())('for $line', async ({ line, output }) => {
    const { text } = await run(line.replace('http://127.0.0.1:4010', sandbox().baseUrl));
    expect(comparable(text)).toMatch(as(output));
  });
});
