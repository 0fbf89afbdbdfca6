// Runs `fleet alerts watch` and `listen` under random failures and compares their output with an
// oracle: alerts are created and changed, clocks are wrong by up to two hours, lists fail, webhooks
// are repeated, delayed or lost, and the program is stopped and killed. Every version must be
// printed.

import { join } from 'node:path';
import type { Alert } from '../../src/api/alert.js';
import { pick, pickWeighted, randomInteger } from '../../src/sandbox/random.js';
import { createRandom } from '../../src/system/random.js';
import { alertUuid, startAlertService } from './alert-service.js';
import { newFolder } from './folder.js';
import { type Running, startProgram } from './running.js';
import { startServer } from './server.js';

export interface TrialVerdict {
  faults: string[];
  versions: number;
  printed: number;
  repeats: number;
  kills: number;
  restarts: number;
  webhooks: number;
  stderr: string;
}

const HOUR_MS = 3_600_000;
/** Clocks differ by up to two hours, by whole seconds, and by more than the duration of a trial. */
const WRONG_MS = 2 * HOUR_MS - 120_000;
const STATES = ['new', 'escalated', 'resolved', 'stopped', 'silenced'] as const;
/** The most alerts of one write; this many may be repeated after a kill. */
const TOGETHER = 50;

const keyOf = ({ uuid, modified, state }: { [field: string]: unknown }) =>
  `${uuid} ${modified} ${state}`;
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Runs one trial with this many random events. */
export async function runAlertsTrial(
  verb: 'watch' | 'listen',
  seed: number,
  events: number,
): Promise<TrialVerdict> {
  const random = createRandom(seed);
  const folder = newFolder();
  const service = await startAlertService();
  const receiver = await startServer(
    (response) => void response.writeHead(random() < 0.02 ? 503 : 204).end(),
  );
  const free = await startServer(() => {});
  await free.close();
  const { port } = new URL(free.url);
  const env = {
    PATH: process.env['PATH'],
    FLEET_CONFIG_DIR: folder,
    XDG_STATE_HOME: folder,
    ...service.env,
  };
  const args = {
    watch: ['watch', '--json', '--every', '100ms', '--state-file', join(folder, 'state')],
    listen: ['listen', '--json', '--port', port, '--backfill', '100ms', '--forward', receiver.url],
  }[verb];
  const runs: Running[] = [];
  const wanted = new Set<string>();
  const hooked = new Set<string>();
  const posts: Promise<void>[] = [];
  let isOver = false;
  let kills = 0;
  let webhooks = 0;
  let numbers = 1000;

  const aheadMs = () => pick(random, [0, 0, randomInteger(random, -WRONG_MS, WRONG_MS)]);
  const printedKeys = () => runs.flatMap((run) => run.objects().map(keyOf));
  /** Sends a webhook until it is answered with 204. */
  const post = async (alert: Alert, delayMs: number) => {
    await pause(delayMs);
    const body = JSON.stringify(alert);
    while (!isOver) {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body }).catch(
        () => undefined,
      );
      if (answer?.status === 204) return void webhooks++;
      await pause(50);
    }
  };
  const tell = (alert: Alert) => {
    wanted.add(keyOf(alert));
    if (verb === 'watch' || random() < 0.3) return;
    hooked.add(keyOf(alert));
    for (const delayMs of pick(random, [
      [0],
      [0, 0],
      [randomInteger(random, 0, 2_000)],
      [0, 1_500],
    ]))
      posts.push(post({ ...alert }, delayMs));
  };
  const make = () => tell({ ...service.put(alertUuid(numbers++), aheadMs()) });
  const change = () => {
    // A version that the list no longer shows cannot be printed, so a change waits until the
    // version before was printed.
    const printed = new Set(printedKeys());
    const ready = [...service.alerts.values()].filter(
      (alert) => printed.has(keyOf(alert)) || !wanted.has(keyOf(alert)),
    );
    const [one] = ready.length === 0 ? [] : [ready[randomInteger(random, 0, ready.length - 1)]];
    if (one === undefined) return make();
    const before = new Set([...printed, ...wanted]);
    const state = pick(random, STATES);
    const copy = { ...one };
    const changed = service.put(one.uuid ?? '', aheadMs(), { state });
    // The same version would not be a change.
    if (before.has(keyOf(changed))) Object.assign(changed, service.put(one.uuid ?? '', 0, copy));
    else tell({ ...changed });
  };
  const run = async () => {
    const running = startProgram(['alerts', ...args], env);
    runs.push(running);
    await Promise.race([
      running.until(() => running.events('open').length > 0),
      running.ended,
      pause(6_000),
    ]);
  };
  const restart = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (signal === 'SIGKILL') kills++;
    await runs.at(-1)?.stop(signal);
    for (let missed = randomInteger(random, 0, 40); missed > 0; missed--) make();
    await run();
  };
  const fail = async () => {
    service.status = pick(random, [503, 500, 429]);
    await pause(randomInteger(random, 100, 1_500));
    service.status = 200;
  };

  service.ordersByModified = random() < 0.75;
  service.skewMs = randomInteger(random, -WRONG_MS, WRONG_MS);
  for (let number = randomInteger(random, 0, 150); number > 0; number--)
    service.put(alertUuid(number), aheadMs() - HOUR_MS * number);
  await run();
  for (let event = 0; event < events; event++) {
    // Kills the program at least once in every trial.
    if (event === Math.floor(events / 2)) await restart('SIGKILL');
    await pause(randomInteger(random, 5, 60));
    await pickWeighted<() => unknown>(random, [
      [make, 50],
      [change, 35],
      [() => Array.from({ length: randomInteger(random, 30, 130) }, make), 2],
      [fail, 3],
      [() => restart('SIGKILL'), 1],
      [() => restart('SIGTERM'), 1],
    ])();
  }
  const missing = () => {
    const printed = new Set(printedKeys());
    return [...wanted].filter((key) => !printed.has(key));
  };
  const forwarded = () => new Set(receiver.asked.map(({ body }) => keyOf(JSON.parse(body))));
  const isDone = () => missing().length === 0 && [...hooked].every((key) => forwarded().has(key));
  // A long queue with some refusals takes a while, and much longer on a busy machine.
  for (let looks = 0; looks < 6_000 && !isDone(); looks++) await pause(100);
  await Promise.race([Promise.all(posts), pause(5_000)]);
  await pause(1_500);
  isOver = true;
  await runs.at(-1)?.stop('SIGTERM');
  await Promise.allSettled(posts);
  const keys = printedKeys();
  const repeats = keys.length - new Set(keys).size;
  const faults = missing().map((key) => `not printed: ${key}`);
  const extra = [...new Set(keys)].filter((key) => !wanted.has(key));
  faults.push(...extra.map((key) => `printed although it was there before: ${key}`));
  if (repeats > kills * (verb === 'watch' ? 1 : TOGETHER))
    faults.push(`${repeats} repeats after ${kills} kills`);
  for (const { objects } of runs) {
    const own = objects().map(keyOf);
    if (new Set(own).size < own.length)
      faults.push(`${own.length - new Set(own).size} repeats within one run`);
  }
  const gone = [...hooked].filter((key) => !forwarded().has(key));
  faults.push(...gone.map((key) => `answered 204 and not passed on: ${key}`));
  await Promise.all([service.close(), receiver.close()]);
  const stderr = runs.map((one) => one.stderr()).join('\n--- next run\n');
  const counts = {
    versions: wanted.size,
    printed: keys.length,
    repeats,
    kills,
    restarts: runs.length - 1,
    webhooks,
  };
  return { faults, ...counts, stderr };
}
