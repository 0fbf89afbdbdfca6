// Compares this build with another one in alternating pairs: `npm run bench -- PART --against PATH`,
// where PATH is the root of a built checkout. Each pair has one ratio. A change that is smaller than
// the range of the ratios is noise.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment, median, milliseconds, PROGRAM, run } from './measure.js';
import {
  FIRST_READING,
  firstReadingLine,
  measureMessages,
  mirrorEnvironment,
  sqliteIn,
} from './mirror.js';
import { CHOSEN_ROUNDS, OTHER_PROGRAM } from './options.js';
import { WATCHED_MESSAGES, watchEnvironment, watchLine } from './watch.js';

const MIRRORED_BICYCLES = 20_000;

/**
 * One line of the comparison. `ratios` contains this build divided by the other build for each pair.
 * @typedef {{ what: string, figure: string, otherFigure: string, ratios: number[] }} PairRow
 */

const COMPARISONS = {
  startup: compareStartup,
  lists: compareLists,
  watch: compareWatch,
  mirror: compareMirror,
  page: comparePage,
};

/** @returns {AsyncGenerator<PairRow>} */
export async function* benchAgainst(part, url) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  try {
    yield* COMPARISONS[part](url, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function* compareStartup(url) {
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: 'total=20.size=20' });
  for (const words of ['--version', '--help', 'bicycles list --json -q']) {
    const pairs = await runPairs(`"$NODE" "$FLEET" ${words} > /dev/null`, env, { rounds: 20 });
    yield timeRow(`fleet ${words}`, pairs);
  }
}

async function* compareLists(url) {
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: 'total=100000.size=100' });
  for (const format of ['jsonl', 'csv', 'table']) {
    const line = `"$NODE" "$FLEET" bicycles list --all -q -o ${format} > /dev/null`;
    const pairs = await runPairs(line, env, { rounds: 5 });
    yield timeRow(`100,000 bicycles, ${format}`, pairs);
    yield memoryRow(`100,000 bicycles, ${format}, memory`, pairs);
  }
}

async function* compareWatch(url) {
  const pairs = await runPairs(watchLine(), watchEnvironment(url), { rounds: 5 });
  yield timeRow(`${WATCHED_MESSAGES} messages, watch --json`, pairs);
  yield memoryRow(`${WATCHED_MESSAGES} messages, watch --json, memory`, pairs);
}

async function* compareMirror(url, folder) {
  const env = mirrorEnvironment(url, `total=${FIRST_READING}`);
  const line = firstReadingLine(join(folder, 'first.db'));
  const readings = await runPairs(line, env, { rounds: 3 });
  yield timeRow(`first reading of ${FIRST_READING} bicycles into SQLite`, readings);
  yield memoryRow(`first reading of ${FIRST_READING} bicycles, memory`, readings);

  const sqlite = sqliteIn(folder);
  const measure = async (program) => {
    const to = await sqlite.newDatabase('messages');
    const figures = await measureMessages(url, { program, to, bicycles: MIRRORED_BICYCLES });
    await sqlite.dropDatabase('messages');
    return figures;
  };
  const messages = await measurePairs(measure, { rounds: 3, warmUps: 0 });
  const what = `a message of ${MIRRORED_BICYCLES} bicycles into SQLite`;
  const microseconds = (value) => `${Math.round(value)} us`;
  yield pairRow(`${what}, elapsed`, messages, 'elapsedUs', microseconds);
  yield pairRow(`${what}, processor time`, messages, 'cpuUs', microseconds);
  yield memoryRow(`messages of ${MIRRORED_BICYCLES} bicycles into SQLite, memory`, messages);
}

async function* comparePage(url, folder) {
  const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: 'total=100000.size=100' });
  const line = `"$NODE" "$FLEET" map -o html --file ${join(folder, 'page.html')} -q`;
  const pairs = await runPairs(line, env, { rounds: 3 });
  yield timeRow('map -o html, 100,000 bicycles', pairs);
  yield memoryRow('map -o html, 100,000 bicycles, memory', pairs);
}

/** Runs a command line with both builds. It finds the program in `$FLEET`. */
function runPairs(line, env, { rounds }) {
  return measurePairs((program) => run(line, { ...env, FLEET: program }), { rounds });
}

/**
 * Measures both builds alternately, and swaps their order after each pair, because the second one
 * may find warm caches. `measure` gets the path of the program and resolves with an object of
 * numbers. Resolves with these objects of each pair.
 */
async function measurePairs(measure, { rounds, warmUps = 1 }) {
  const pairs = [];
  for (let round = -warmUps; round < (CHOSEN_ROUNDS ?? rounds); round++) {
    let pair;
    if (round % 2 === 0) {
      const ours = await measure(PROGRAM);
      pair = { ours, theirs: await measure(OTHER_PROGRAM) };
    } else {
      const theirs = await measure(OTHER_PROGRAM);
      pair = { ours: await measure(PROGRAM), theirs };
    }
    if (round >= 0) pairs.push(pair);
  }
  return pairs;
}

/** Returns the row of one number of the pairs. */
function pairRow(what, pairs, name, show) {
  return {
    what,
    figure: show(median(pairs.map(({ ours }) => ours[name]))),
    otherFigure: show(median(pairs.map(({ theirs }) => theirs[name]))),
    ratios: pairs.map(({ ours, theirs }) => ours[name] / theirs[name]),
  };
}

function timeRow(what, pairs) {
  return pairRow(what, pairs, 'seconds', milliseconds);
}

function memoryRow(what, pairs) {
  return pairRow(what, pairs, 'peakMb', (value) => `${Math.round(value)} MB`);
}
