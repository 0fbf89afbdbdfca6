// Reads the arguments and environment variables of the bench. When one of them is invalid, prints
// the error and exits with 2, before anything is built or measured.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** The parts of the bench in the order in which they run. */
export const PARTS = {
  startup: 'start-up and one page, beside node, gh and curl',
  lists: '100,000 bicycles, beside curl and jq, and their memory',
  watch: 'messages of the push channel, beside curl, sed and jq',
  bulk: '2,000 actions, beside xargs and curl, and 100,000 from stdin',
  webhooks: '1,000 webhooks a second',
  mirror: 'messages into SQLite and PostgreSQL, and first readings',
  map: 'frames of the map in the terminal, and live screens',
  page: 'the page of 100,000 bicycles in files, in tabs and in Chromium',
  rounds: 'tours of published instances, and 1,000 stops',
};

/** The parts that `--against` can measure with another build. */
export const PAIRED_PARTS = ['startup', 'lists', 'watch', 'mirror', 'page'];

/** The parts with rows about the executable `dist/fleet`. */
const EXECUTABLE_PARTS = ['startup', 'lists'];

const MOST_ROUNDS = 1000;
const HELP_HINT = 'npm run bench -- --help shows the flags and variables';

const USAGE = `Measures the build in dist, and prints each figure with its goal.

Usage: npm run bench -- [PART…] [flags]

Parts (default: all):
${Object.entries(PARTS)
  .map(([name, text]) => `  ${name.padEnd(16)}  ${text}`)
  .join('\n')}

Flags:
  --rounds <n>      runs of each row (default: each row has its own number)
  --node <version>  also measure the start-up on this version of Node, such as
                    24, or on the Node at this path (repeatable)
  --against <path>  compare with the build in this checkout, in alternating
                    pairs; parts: ${PAIRED_PARTS.join(', ')}
  --build           build first; npm run bench does this
  --help            show this text

Environment:
  FLEET_BENCH_SECONDS  duration of the steady rate of the mirror (60)
  FLEET_BENCH_MILLION  bicycles of the largest first reading (1000000)

More: bench/README.md
`;

/** Prints an error about wrong input and exits with 2. */
export function refuse(problem, hint) {
  process.stderr.write(`error: ${problem}\nhint: ${hint}\n`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        rounds: { type: 'string' },
        node: { type: 'string', multiple: true },
        against: { type: 'string' },
        build: { type: 'boolean' },
        help: { type: 'boolean' },
      },
      allowPositionals: true,
    });
  } catch (error) {
    const [sentence] = error.message.split(/[.\n]/);
    return refuse(`${sentence[0].toLowerCase()}${sentence.slice(1)}`, HELP_HINT);
  }
}

/** Returns the whole number in `text`, or undefined when `text` is undefined. */
function readCount(name, text, most = Number.MAX_SAFE_INTEGER) {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > most) {
    const limit = most === Number.MAX_SAFE_INTEGER ? 'of at least 1' : `from 1 to ${most}`;
    refuse(`${name} must be a whole number ${limit}, not "${text}"`, HELP_HINT);
  }
  return count;
}

/** Checks the parts. `known` are the parts that can be chosen. */
function readParts(parts, known, reason) {
  const unknown = parts.find((part) => !known.includes(part));
  if (unknown !== undefined) refuse(`${reason} "${unknown}"`, `choose from ${known.join(', ')}`);
  return parts.length > 0 ? known.filter((part) => parts.includes(part)) : known;
}

function readNodes(names, parts, isAgainst) {
  if (names.length === 0) return names;
  if (isAgainst)
    refuse('--node and --against cannot be combined', 'start the bench with that Node instead');
  if (!parts.includes('startup'))
    refuse('--node only changes the part startup', 'add startup, or omit --node');
  for (const name of names) {
    if (name.includes('/') && !existsSync(name))
      refuse(`--node: ${name} not found`, 'pass the path of a Node binary');
    if (!name.includes('/') && !/^\d+(\.\d+){0,2}$/.test(name))
      refuse(`--node: "${name}" is not a version`, 'pass a version such as 24, or a path with a /');
  }
  return names;
}

/** Returns the program of another build, or undefined without `--against`. */
function readAgainst(path) {
  if (path === undefined) return undefined;
  const root = resolve(path);
  const program = join(root, 'bin', 'fleet.js');
  if (!existsSync(program))
    refuse(`--against: ${program} not found`, 'pass the root of a checkout of fleet');
  if (!existsSync(join(root, 'dist', 'main.cjs')))
    refuse(`--against: ${root} is not built`, `run npm run build in ${root}`);
  return program;
}

const { values, positionals } = readArguments();
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}

/** The other build's `bin/fleet.js`, or undefined without `--against`. */
export const OTHER_PROGRAM = readAgainst(values.against);
const isPaired = OTHER_PROGRAM !== undefined;

/** The parts to measure. */
export const CHOSEN_PARTS = isPaired
  ? readParts(positionals, PAIRED_PARTS, '--against cannot measure')
  : readParts(positionals, Object.keys(PARTS), 'unknown part');

/** The number of runs of each row, or undefined when each row uses its own number. */
export const CHOSEN_ROUNDS = readCount('--rounds', values.rounds, MOST_ROUNDS);

/** Other versions of Node, or their paths, for the rows of the start-up. */
export const CHOSEN_NODES = readNodes(values.node ?? [], CHOSEN_PARTS, isPaired);

export const STEADY_SECONDS =
  readCount('FLEET_BENCH_SECONDS', process.env.FLEET_BENCH_SECONDS) ?? 60;

export const MILLION =
  readCount('FLEET_BENCH_MILLION', process.env.FLEET_BENCH_MILLION) ?? 1_000_000;

/** Whether the program is built before the first part. */
export const SHOULD_BUILD = values.build === true;

/** Whether one of the chosen rows runs the executable `dist/fleet`. */
export const NEEDS_EXECUTABLE =
  !isPaired && CHOSEN_PARTS.some((part) => EXECUTABLE_PARTS.includes(part));
