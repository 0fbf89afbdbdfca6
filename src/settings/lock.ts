// Lets one run at a time do what changes the settings.

import { closeSync, promises as files, lstatSync, openSync, rmSync } from 'node:fs';
import { every, sleep, systemClock } from '../clock.js';
import { hasCode, untilFree } from '../folder.js';

const OWNER_ONLY_MODE = 0o600;
/** How long a lock is looked at again, and after how long without a change its run counts as killed: a file takes milliseconds to write. */
const LOCK_PAUSE_MS = 20;
const LOCK_LIFE_MS = 3_000;
/** How often its holder touches it: a renewal waits for the service. */
const LOCK_BEAT_MS = 500;

/** Does the work while no other run holds the lock, an empty file. One that a killed run left behind is removed. */
export async function alone<Value>(lock: string, work: () => Promise<Value>): Promise<Value> {
  const clock = systemClock();
  let seen = '';
  let sinceMs = 0;
  for (;;) {
    try {
      closeSync(untilFree(() => openSync(lock, 'wx', OWNER_ONLY_MODE)));
      break;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    const found = lstatSync(lock, { bigint: true, throwIfNoEntry: false });
    const now = `${found?.ino} ${found?.ctimeNs}`;
    if (now !== seen) [seen, sinceMs] = [now, clock.monotonicMs()];
    else if (clock.monotonicMs() - sinceMs > LOCK_LIFE_MS) rmSync(lock, { force: true });
    await sleep(clock, LOCK_PAUSE_MS, NEVER_ABORTED);
  }
  const over = new AbortController();
  every(clock, LOCK_BEAT_MS, over.signal, () => files.utimes(lock, new Date(), new Date()).catch(() => {}));
  try {
    return await work();
  } finally {
    over.abort();
    untilFree(() => rmSync(lock, { force: true }));
  }
}

const NEVER_ABORTED = new AbortController().signal;
