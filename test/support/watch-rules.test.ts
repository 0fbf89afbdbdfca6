// Compares the numbers in watch-rules.md with the code, and tests how rule 2 selects the reading that
// accounts for a change.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EXCEPTIONS, type History, judge, type Reading, RULES, type Shown } from './watch-rules.js';

const PAGE = readFileSync(new URL('watch-rules.md', import.meta.url), 'utf8');

function numbersOnPage(pattern: RegExp): string[] {
  return [...PAGE.matchAll(pattern)].map(([, number = '']) => number);
}

test('the code implements exactly the rules of watch-rules.md', () => {
  expect(numbersOnPage(/^### Rule (\d+): /gm)).toEqual(Object.keys(RULES));
});

test('the code implements exactly the exceptions of watch-rules.md', () => {
  const numbers = EXCEPTIONS.flatMap((exceptions) => Object.keys(exceptions));
  expect(numbersOnPage(/^- \*\*(\d+\.\d+)\*\* /gm)).toEqual(numbers);
});

// Bicycle `a` changes at 15 s, in a gap from 10 s to 20 s.
const LATER: Shown = { id: 2, uuid: 'a', how: 'update', atMs: 45_000 };

function reading(startedMs: number, how: 'complete' | 'being checked' | 'incomplete'): Reading {
  return {
    startedMs,
    atMs: startedMs + 1_000,
    isOfGap: true,
    isComplete: how === 'complete',
    isBeingChecked: how === 'being checked',
  };
}

function historyOf(reports: readonly Reading[], shown: readonly Shown[] = []): History {
  return {
    made: [{ id: 1, uuid: 'a', atMs: 15_000 }],
    shown,
    gaps: [{ fromMs: 10_000, toMs: 20_000 }],
    reports,
    removed: [],
    gone: [],
    isBounded: false,
    lagMs: 0,
    hasVersions: true,
    lateMs: 0,
    lineDelayMs: 0,
    isRaw: false,
  };
}

test.each<[string, readonly Reading[], readonly Shown[]]>([
  ['no reading followed', [], []],
  ['the watch was still checking at the end', [reading(21_000, 'being checked')], []],
  ['the next reading is complete', [reading(21_000, 'complete')], []],
  [
    'the reading after "being checked" is complete',
    [reading(21_000, 'being checked'), reading(50_000, 'complete')],
    [],
  ],
  ['a later state was shown only after it', [reading(21_000, 'complete')], [LATER]],
  [
    'only a reading from before the end of the gap is incomplete',
    [reading(19_500, 'incomplete'), reading(50_000, 'complete')],
    [],
  ],
  [
    'only a reading of a later gap is incomplete',
    [reading(21_000, 'complete'), reading(90_000, 'incomplete')],
    [],
  ],
])('rule 2 reports a change without a line when %s', (_when, reports, shown) => {
  expect(judge(historyOf(reports, shown))).toEqual([
    expect.stringContaining('rule 2: change 1 of a at 15000 was not shown'),
  ]);
});

test.each<[string, readonly Reading[], readonly Shown[]]>([
  [
    'the reading after "being checked" is incomplete',
    [reading(21_000, 'being checked'), reading(50_000, 'incomplete')],
    [],
  ],
  [
    'a later state was shown before the reading ended',
    [reading(21_000, 'being checked'), reading(50_000, 'complete')],
    [LATER],
  ],
  [
    'a reading from before the end of the gap is complete, and the next one is incomplete',
    [reading(19_500, 'complete'), reading(50_000, 'incomplete')],
    [],
  ],
])('rule 2 accepts a change without a line when %s', (_when, reports, shown) => {
  expect(judge(historyOf(reports, shown))).toEqual([]);
});
