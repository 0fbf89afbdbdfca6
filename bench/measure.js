// Runs the commands of the bench: whole command lines in a shell, in alternating order, with their
// medians and peak memory.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CHOSEN_ROUNDS } from './options.js';
import { peakMbOf } from './process-figures.js';

export const PROGRAM = fileURLToPath(new URL('../bin/fleet.js', import.meta.url));
/** The program as one executable. */
export const BINARY = fileURLToPath(new URL('../dist/fleet', import.meta.url));
/** The argument of `node` when a script of the bench is the peer. */
export const PEER = '--input-type=module';

/**
 * One line of the report. `most` is the largest ratio that meets the goal. `runs` is the number of
 * runs of a measurement that takes long. The report prints it beside the figure.
 * @typedef {{ what: string, figure: string, peer: string, ratio?: number, most?: number, met?: boolean, runs?: number }} Row
 */

/**
 * Returns the environment of a measured command. It contains nothing that would cost only one side
 * time.
 */
export function environment(more = {}) {
  const { NODE_EXTRA_CA_CERTS: _left, NODE_OPTIONS: _out, ...env } = process.env;
  return {
    ...env,
    FLEET_CONFIG_DIR: '/nonexistent/fleet-bench',
    NODE: process.execPath,
    FLEET: PROGRAM,
    BINARY,
    ...more,
  };
}

/** Returns the lines that run the executable, or an empty object when it is not built. */
export function withExecutable(lines) {
  return existsSync(BINARY) ? lines : {};
}

const missingCommands = new Set();

/** Returns whether a command is installed. Prints one note about each missing command. */
export function isInstalled(command) {
  return new Promise((resolve) => {
    spawn('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).on('close', (code) => {
      if (code !== 0 && !missingCommands.has(command)) {
        missingCommands.add(command);
        process.stderr.write(`note: ${command} is not installed; its rows are skipped\n`);
      }
      resolve(code === 0);
    });
  });
}

/**
 * Runs a shell command line once. Returns its elapsed seconds, the user and system seconds of all
 * its processes, and the peak memory in MB of the program or of a peer that runs in Node.
 */
export function run(line, env = environment()) {
  return new Promise((resolve, reject) => {
    const startedAt = process.hrtime.bigint();
    const child = spawn('bash', ['-c', `TIMEFORMAT='cpu %U %S'; time { ${line}\n}`], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let told = '';
    let peakMb = 0;
    const poll = setInterval(() => {
      for (const pid of programsBelow(child.pid, env.FLEET))
        peakMb = Math.max(peakMb, peakMbOf(pid));
    }, 15);
    child.stderr.on('data', (chunk) => {
      told += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(poll);
      const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
      const [, user = 0, system = 0] = /cpu ([\d.]+) ([\d.]+)/.exec(told) ?? [];
      if (code !== 0) reject(new Error(`${line}\nended with ${code}: ${told}`));
      else resolve({ seconds, cpu: Number(user) + Number(system), peakMb });
    });
  });
}

/**
 * Returns the descendants of a process that run `program`, the executable or a peer in Node, by
 * their command line. Works only on Linux.
 */
function programsBelow(pid, program) {
  const found = [];
  const walk = (at) => {
    let children = '';
    try {
      children = readFileSync(`/proc/${at}/task/${at}/children`, 'utf8');
    } catch {
      return;
    }
    for (const child of children.trim().split(' ').filter(Boolean)) {
      try {
        const [first, second] = readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0');
        if (first === BINARY || second === program || second === PEER) found.push(child);
      } catch {
        // The process has ended.
      }
      walk(child);
    }
  };
  walk(pid);
  return found;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Runs several named command lines alternately: A B C A B C … The first rounds do not count.
 * Resolves with the medians of each line under its name.
 */
export async function interleave(lines, rounds, env, warmUps = 1) {
  const runs = Object.fromEntries(Object.keys(lines).map((name) => [name, []]));
  for (let round = -warmUps; round < (CHOSEN_ROUNDS ?? rounds); round++) {
    for (const [name, line] of Object.entries(lines)) {
      const one = await run(line, env);
      if (round >= 0) runs[name].push(one);
    }
  }
  return Object.fromEntries(Object.entries(runs).map(([name, ofOne]) => [name, summary(ofOne)]));
}

function summary(runs) {
  return {
    seconds: median(runs.map(({ seconds }) => seconds)),
    least: Math.min(...runs.map(({ seconds }) => seconds)),
    cpu: median(runs.map(({ cpu }) => cpu)),
    peakMb: median(runs.map(({ peakMb }) => peakMb)),
  };
}

/** The number of runs of a measurement that takes long. */
export const LONG_ROUNDS = CHOSEN_ROUNDS ?? 1;

/**
 * Repeats a measurement that takes long. `measure` gets the number of the run and resolves with an
 * object of numbers. Resolves with the medians of these numbers.
 */
export async function repeat(measure) {
  const results = [];
  for (let round = 0; round < LONG_ROUNDS; round++) results.push(await measure(round));
  return Object.fromEntries(
    Object.keys(results[0]).map((name) => [name, median(results.map((one) => one[name]))]),
  );
}

export function milliseconds(seconds) {
  return seconds < 10 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}

/** Formats the median, and the minimum if it is known. */
function showTime({ seconds, least }) {
  return least === undefined
    ? milliseconds(seconds)
    : `${milliseconds(seconds)} (min ${milliseconds(least)})`;
}

/** Returns a row that compares two times. `most` is the largest ratio that meets the goal. */
export function compare(what, ours, peer, peerName, most) {
  const ratio = ours.seconds / peer.seconds;
  return {
    what,
    figure: showTime(ours),
    peer: `${peerName} ${showTime(peer)}`,
    ratio,
    ...(most === undefined ? {} : { most, met: ratio <= most }),
  };
}

/** Returns a row that compares a value with its limit. `figure` shows the value. */
export function limit(what, figure, value, most, unit) {
  return {
    what,
    figure,
    peer: `at most ${most} ${unit}`,
    ratio: value / most,
    most: 1,
    met: value <= most,
  };
}
