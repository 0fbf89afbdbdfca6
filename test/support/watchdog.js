// Ends every process that a test run started when the run is over: `node watchdog.js RUNNER STARTER FOLDERS`.
// RUNNER is the process ID of Vitest. STARTER is the process that started Vitest, or 0. FOLDERS is a JSON
// array of folders to remove. The runner holds the other end of stdin, which closes when the runner ends.
// The processes are read from /proc, so the watchdog works on Linux only.

import { readdirSync, readFileSync, rmSync } from 'node:fs';

const LOOK_EVERY_MS = 400;
const KILL_AFTER_MS = 1000;
const RETRY_EVERY_MS = 100;
const GIVE_UP_AFTER_MS = 10_000;

/** @typedef {{ pid: number, name: string, parent: number, session: number, startedAt: string }} Running */

/**
 * Reads one process from /proc. A process ID is used again after a while, and the start time tells
 * such processes apart.
 * @param {string} pid
 * @returns {Running | undefined} undefined when the process has ended
 */
function readProcess(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name is in parentheses and may contain spaces and parentheses itself.
    const end = text.lastIndexOf(')');
    const fields = text.slice(end + 2).split(' ');
    const [state, parent, , session] = fields;
    if (state === 'Z') return undefined;
    return {
      pid: Number(pid),
      name: text.slice(text.indexOf('(') + 1, end),
      parent: Number(parent),
      session: Number(session),
      startedAt: fields[19] ?? '',
    };
  } catch {
    return undefined;
  }
}

/** @returns {Running[]} */
function readProcesses() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => readProcess(pid) ?? []);
}

const [runnerPid = 0, starterPid = 0] = process.argv.slice(2, 4).map(Number);
const folders = JSON.parse(process.argv[4] ?? '[]');
const runner = readProcess(String(runnerPid));
const starter = starterPid === 0 ? undefined : readProcess(String(starterPid));

/**
 * The runner and its descendants by process ID. When a parent ends, the system forgets the connection,
 * so a process stays in this map.
 * @type {Map<number, Running>}
 */
const family = new Map(runner === undefined ? [] : [[runnerPid, runner]]);

/** @param {Running | undefined} known */
function isAlive(known) {
  return known !== undefined && readProcess(String(known.pid))?.startedAt === known.startedAt;
}

/** Removes the processes that have ended from the family, and adds new descendants. */
function updateFamily() {
  const running = readProcesses().filter(({ pid }) => pid !== process.pid);
  const byPid = new Map(running.map((each) => [each.pid, each]));
  // A process that started a session gave it its own ID. Its children keep the session.
  const sessions = new Set();
  for (const [pid, known] of family) {
    if (known.session === pid) sessions.add(pid);
    if (byPid.get(pid)?.startedAt !== known.startedAt) family.delete(pid);
  }
  let sizeBefore = -1;
  while (sizeBefore !== family.size) {
    sizeBefore = family.size;
    for (const each of running)
      if (family.has(each.parent) || sessions.has(each.session)) family.set(each.pid, each);
  }
}

/** @param {Running} known @param {NodeJS.Signals} signal */
function send(known, signal) {
  try {
    process.kill(known.pid, signal);
  } catch {
    // The process has ended.
  }
}

/** PostgreSQL waits for its clients after SIGTERM. */
const gentleSignal = (/** @type {Running} */ { name }) =>
  name === 'postgres' ? 'SIGQUIT' : 'SIGTERM';

/** @param {boolean} isRunnerEnding if true, the runner gets no signal: it would change its exit code */
async function endFamily(isRunnerEnding) {
  const startedAt = performance.now();
  const asked = new Set();
  for (;;) {
    updateFamily();
    if (isRunnerEnding) family.delete(runnerPid);
    const elapsedMs = performance.now() - startedAt;
    if (family.size === 0 || elapsedMs > GIVE_UP_AFTER_MS) return;
    for (const [pid, known] of family) {
      if (elapsedMs > KILL_AFTER_MS) send(known, 'SIGKILL');
      else if (!asked.has(pid)) send(known, gentleSignal(known));
      asked.add(pid);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_EVERY_MS));
  }
}

/** @param {boolean} isRunnerEnding */
async function endRun(isRunnerEnding) {
  clearInterval(looking);
  await endFamily(isRunnerEnding);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

const looking = setInterval(() => {
  updateFamily();
  if (starterPid === 0 || isAlive(starter)) return;
  process.stdin.off('close', onRunnerEnd).destroy();
  endRun(false);
}, LOOK_EVERY_MS);
updateFamily();
const onRunnerEnd = () => endRun(true);
process.stdin.resume().on('close', onRunnerEnd);
