// Tests README and guides: length, links, and that fleet prints the shown output.

import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pathOf } from '../src/cli/help.js';
import { blocksOf, GUIDES, readText } from './support/guides.js';
import { everyCommand } from './support/pages.js';
import type { Step } from './support/shell.js';
import { hasTool } from './support/tools.js';
import { checkGuideStep } from './support/transcripts/guide.js';
import { parseSessions } from './support/transcripts/parse.js';
import { startService } from './support/transcripts/services.js';
import { openScene, type Scene } from './support/transcripts/transcript.js';

const README = readText('README.md');

test('the README has at most 170 lines', () => {
  expect(README.trimEnd().split('\n').length).toBeLessThanOrEqual(170);
});

test('.ci/run runs a setup command from the README', () => {
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

test('the README links to every guide', () => {
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

/** The sessions of README, and those of guides, which may use what README did. */
const SESSIONS = ['README.md', ...GUIDES].flatMap((path) =>
  parseSessions(path, readText(path)).map((step) => ({ path, step })),
);

describe.runIf(hasTool('script'))('README and guides show the real output of fleet', () => {
  let scene: Scene;
  beforeAll(async () => {
    const now = Date.now;
    const service = await startService('sandbox --bicycles 500', now);
    scene = await openScene({ clock: 'running', settings: 'none', program: 'built' }, service, now);
  });
  afterAll(() => scene.service.close());

  test.each(SESSIONS)('$path shows the real output of $step.action.command', async (session) => {
    const isLogin = session === SESSIONS[0];
    await checkGuideStep(scene, session, isLogin ? loginKeys(scene) : []);
  });
});

/** What the operator of README types, and the prompts before. */
function loginKeys({ values }: Scene): Step[] {
  return [
    { when: /Address of the service/, press: `${values.get('service')}\r` },
    { when: /Push address/, press: `${values.get('push')}\r` },
    { when: /Access token/, press: `${values.get('token')}\r` },
    { when: /Organization/, press: '1\r' },
  ];
}
