// Runs watch, mirror and page under random failures over real sockets for half an hour, with new
// seeds.

import { expect, test } from 'vitest';
import type { Trial, Verdict } from '../support/chaos.js';
import { runMirror } from '../support/chaos-mirror.js';
import { runPage } from '../support/chaos-page.js';
import { runWatch } from '../support/chaos-watch.js';
import { useEngines } from '../support/mirror.js';

const MINUTES = Number(process.env['FLEET_TEST_MINUTES'] ?? 30);
/** Stops after this many errors, because later errors would probably repeat them. */
const MOST_FAULTS = 20;
const LONGEST_MINUTES = 15;

const ways: [name: string, run: (trial: Trial) => Promise<Verdict>][] = [
  ['a watch', runWatch],
  ['a served page', runPage],
  ...useEngines().map(([kind, newDatabase]): (typeof ways)[number] => [
    `a mirror in ${kind}`,
    async (trial) => runMirror(trial, await newDatabase()),
  ]),
];

test.concurrent.each(ways)(
  `%s: reports no change twice, misses no change and invents no change in ${MINUTES} minutes`,
  async (name, run) => {
    const endAt = performance.now() + MINUTES * 60_000;
    const firstSeed = Number(process.env['FLEET_TEST_SEED'] ?? Date.now() % 1_000_000);
    const wrong: string[] = [];
    const sums = { changes: 0, kills: 0, peakMb: 0, endMs: 0 };
    let seed = firstSeed;
    for (; performance.now() < endAt && wrong.length < MOST_FAULTS; seed++) {
      const durationMs = (1 + (seed % LONGEST_MINUTES)) * 60_000;
      const { faults, stderr, changes, kills, peakMb, endMs } = await run({ seed, durationMs });
      wrong.push(...faults.map((fault) => `seed ${seed}: ${fault}`));
      if (faults.length > 0)
        console.log(`seed ${seed} of ${name}:\n${faults.join('\n')}\n${stderr}`);
      sums.changes += changes;
      sums.kills += kills;
      sums.peakMb = Math.max(sums.peakMb, Math.round(peakMb));
      sums.endMs = Math.max(sums.endMs, Math.round(endMs));
    }
    console.log(
      `${name}: ${seed - firstSeed} trials from seed ${firstSeed} on, ${JSON.stringify(sums)}`,
    );
    expect(wrong).toEqual([]);
    expect(sums.peakMb).toBeLessThan(250);
  },
  MINUTES * 60_000 + 300_000,
);
