// Makes sure that only one process on this machine does a given task at a time.

import { closeSync, promises as files, lstatSync, openSync, rmSync } from 'node:fs';
import { every, sleep, systemClock } from './clock.js';
import { hasCode, OWN_FILE_MODE, untilFree } from './folder.js';

const LOCK_PAUSE_MS = 20;
/**
 * The holder of a lock touches its file every LOCK_BEAT_MS. After LOCK_LIFE_MS without a touch, the
 * holder is assumed to be dead. A holder that still touches the file may keep the lock for longer.
 * For example, a token renewal may wait for the service.
 */
const LOCK_BEAT_MS = 500;
const LOCK_LIFE_MS = 3_000;

/**
 * Runs the work while this process holds the lock, which is an empty file. Stops waiting for the
 * lock when the signal is aborted. Removes a lock that a killed process has left behind.
 */
export async function alone<Value>(
  lock: string,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value> {
  const clock = systemClock();
  const over = new AbortController();
  let touched: bigint | undefined;
  let sinceMs = 0;
  while (!take(lock)) {
    const found = lstatSync(lock, { bigint: true, throwIfNoEntry: false })?.ctimeNs;
    if (found !== touched) [touched, sinceMs] = [found, clock.monotonicMs()];
    else if (clock.monotonicMs() - sinceMs > LOCK_LIFE_MS) rmSync(lock, { force: true });
    await sleep(clock, LOCK_PAUSE_MS, signal);
  }
  every(clock, LOCK_BEAT_MS, over.signal, () =>
    files.utimes(lock, new Date(), new Date()).catch(() => {}),
  );
  try {
    return await work();
  } finally {
    over.abort();
    untilFree(() => rmSync(lock, { force: true }));
  }
}

function take(lock: string): boolean {
  try {
    closeSync(untilFree(() => openSync(lock, 'wx', OWN_FILE_MODE)));
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}
