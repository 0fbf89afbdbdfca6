// The database connection of a running writer. Retries tasks while the database cannot be reached
// or is full.

import { asFleetError, FleetError } from '../../errors.js';
import { type Database, queue } from '../../mirror/database.js';
import { type Clock, doublingPauseMs, sleep } from '../../system/clock.js';
import { showDuration } from '../../terminal/time.js';
import type { Counters, MirrorReport } from './notices.js';

type Work<T> = (database: Database) => Promise<T>;

export type Keeper = Awaited<ReturnType<typeof openKeeper>>;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** The maximum time to write the remaining data when the program ends. */
export const END_MS = 1_200;

/**
 * Opens the database without retries. `over` is aborted when the program ends. At that moment,
 * pauses between retries end. A database call that hangs is cancelled a little later.
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
  let cancelHurry = () => {};
  const late = new FleetError('network', 'the database did not answer in time during shutdown');
  const hurry = () => {
    cancelHurry = clock.after(END_MS, () => cut.abort(late));
  };
  over.addEventListener('abort', hurry, { once: true });
  const stopListening = () => {
    over.removeEventListener('abort', hurry);
    cancelHurry();
  };
  let database: Database | undefined = await open().catch((error: unknown) => {
    stopListening();
    throw error;
  });

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
     * Runs tasks in the database sequentially. Retries for ten minutes while the database cannot be
     * reached, and for one minute while it cannot be written to. Throws the error when this time is
     * over or the program ends.
     *
     * A retried task must be safe to repeat, because its first attempt may have been committed.
     */
    run: <T>(work: Work<T>) => inTurn(() => retry(work)),
    async close() {
      stopListening();
      await database?.close().catch(() => {});
    },
  };
}

/**
 * Returns how long to retry after a database error. During this time, the database may become
 * reachable again, or the operator may free space.
 */
function patienceMs(error: FleetError): number {
  if (error.kind === 'network') return 10 * 60_000;
  return error.kind === 'output' && !error.isLasting ? 60_000 : 0;
}
