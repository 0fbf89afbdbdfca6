// Compares this build with another one in alternating pairs: `npm run bench -- --against PATH`, where
// PATH is the root of a checkout that was built.

import { compare, environment, interleave } from './measure.js';
import { CHOSEN_ROUNDS, OTHER_PROGRAM } from './options.js';

const ROUNDS = CHOSEN_ROUNDS ?? 10;

/** The compared command lines, with the lists that the service of the bench answers. */
const LINES = [
  ['--version', 'total=20.size=20'],
  ['--help', 'total=20.size=20'],
  ['bicycles list --json -q', 'total=20.size=20'],
  ['bicycles list --all -q -o jsonl', 'total=100000.size=100'],
  ['bicycles list --all -q -o csv', 'total=100000.size=100'],
  ['map -o html -q', 'total=20000.size=100'],
];

/** @returns {AsyncGenerator<import('./measure.js').Row>} */
export async function* benchAgainst(url) {
  for (const [line, token] of LINES) {
    const env = environment({ FLEET_BASE_URL: url, FLEET_TOKEN: token });
    const { ours, theirs } = await interleave(
      {
        ours: `"$NODE" "$FLEET" ${line} > /dev/null`,
        theirs: `"$NODE" ${OTHER_PROGRAM} ${line} > /dev/null`,
      },
      ROUNDS,
      env,
    );
    yield compare(`fleet ${line}`, ours, theirs, 'the other build');
  }
}
