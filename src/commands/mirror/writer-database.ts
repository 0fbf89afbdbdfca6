// The database of a running writer: opens it, retries while it is out of reach or full, closes it.

import { asFleetError, FleetError } from '../../errors.js';
import { type Database, queue } from '../../mirror/database.js';
import { type Clock, doublingPauseMs, sleep } from '../../system/clock.js';
import { showDuration } from '../../terminal/time.js';
import type { Counters, MirrorReport } from './notices.js';

type Work<T> = (database: Database) => Promise<T>;

export type Keeper = Awaited<ReturnType<typeof openKeeper>>;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** What is left to write at the end has so long. */
export const END_MS = 1_200;

/**
 * Opens the database. Throws what opening throws: at the start nothing is tried again. `over` is aborted at the end: pauses end with it, and what
 * hangs is given up a moment later.
 */
export async function openKeeper(
  clock: Clock,
  over: AbortSignal,
  { report, counters }: { report: MirrorReport; counters: Counters },
  openDatabase: (signal: AbortSignal) => Promise<Database>,
) {
  const inTurn = queue();
  const cut = new AbortController();
  const open = () => openDatabase(cut.signal);
  let database: Database | undefined = await open();
  let cancelHurry = () => {};
  const late = new FleetError('network', 'the database did not answer in time at the end');
  const hurry = () => {
    cancelHurry = clock.after(END_MS, () => cut.abort(late));
  };
  over.addEventListener('abort', hurry, { once: true });

  const retry = async <T>(work: Work<T>): Promise<T> => {
    let failedAtMs: number | undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        database ??= await open();
        const result = await work(database);
        const downMs = clock.monotonicMs() - (failedAtMs ?? 0);
        if (failedAtMs !== undefined)
          report.print(true, 'database-back', 'the database is back', {
            down_s: Math.round(downMs / 1000),
          });
        return result;
      } catch (thrown) {
        counters.databaseErrors++;
        const error = asFleetError(thrown);
        const nowMs = clock.monotonicMs();
        const leftMs = patienceMs(error) - (nowMs - (failedAtMs ?? nowMs));
        if (leftMs <= 0 || over.aborted) throw error;
        const line = `${error.message}; trying again for ${showDuration(leftMs)}`;
        if (failedAtMs === undefined)
          report.print(true, 'database-lost', line, { kind: error.kind });
        failedAtMs ??= nowMs;
        if (error.kind === 'network') {
          await database?.close().catch(() => {});
          database = undefined;
        }
        const pauseMs =
          doublingPauseMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) * (0.5 + clock.random() / 2);
        await sleep(clock, pauseMs, over).catch(() => Promise.reject(error));
      }
    }
  };
  return {
    /**
     * Does something in the database, one after another. While it is out of reach it is tried again for ten minutes, while it cannot be written for
     * one; then, and at the end of the program, what failed is thrown. What is tried again may have been written before.
     */
    run: <T>(work: Work<T>) => inTurn(() => retry(work)),
    async close() {
      over.removeEventListener('abort', hurry);
      cancelHurry();
      await database?.close().catch(() => {});
    },
  };
}

/** Whether to try again when the database failed, and for how long: it may come back, or somebody may make room. */
function patienceMs(error: FleetError): number {
  if (error.kind === 'network') return 10 * 60_000;
  return error.kind === 'output' && !error.isLasting ? 60_000 : 0;
}
