// The database of a running writer: opens it, tries again while it cannot be reached or is full,
// and closes it.

import { asFleetError, FleetError } from '../../errors.js';
import { type Database, queue } from '../../mirror/database.js';
import { type Clock, doublingPauseMs, sleep } from '../../system/clock.js';
import { showDuration } from '../../terminal/time.js';
import type { Counters, MirrorReport } from './notices.js';

type Work<T> = (database: Database) => Promise<T>;

export type Keeper = Awaited<ReturnType<typeof openKeeper>>;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** How long the writing of the remaining data may take at the end. */
export const END_MS = 1_200;

/**
 * Opens the database. Throws the errors of opening it, because nothing is tried again at the start.
 * `over` is aborted at the end. It ends pauses, and soon afterwards cancels operations that hang.
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
     * Runs work in the database, one task after another. Tries again for ten minutes while the
     * database cannot be reached, and for one minute while it cannot be written. After that time,
     * and at the end of the program, the error is thrown. Work that is tried again may already have
     * been written.
     */
    run: <T>(work: Work<T>) => inTurn(() => retry(work)),
    async close() {
      over.removeEventListener('abort', hurry);
      cancelHurry();
      await database?.close().catch(() => {});
    },
  };
}

/**
 * Returns how long to try again after an error of the database. The database may come back, or the
 * operator may free space.
 */
function patienceMs(error: FleetError): number {
  if (error.kind === 'network') return 10 * 60_000;
  return error.kind === 'output' && !error.isLasting ? 60_000 : 0;
}
