// The database of a running writer: opens it, retries while it is out of reach or full, closes it.

import { doublingPauseMs, sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { MirrorAddress } from '../../mirror/address.js';
import { type Database, queue } from '../../mirror/database.js';
import { DatabaseGone } from '../../mirror/engine.js';
import { openOwn } from '../../mirror/open.js';
import type { Counters } from './counters.js';
import type { MirrorReport } from './messages.js';

type Work<T> = (database: Database, isRetry: boolean) => Promise<T>;

export type Keeper = Awaited<ReturnType<typeof openKeeper>>;

export interface KeeperOptions {
  readonly address: MirrorAddress;
  /** The service whose mirror it is, or becomes. */
  readonly baseUrl: URL;
  /** Aborted at the end: pauses end with it, and what hangs is given up a moment later. */
  readonly over: AbortSignal;
  readonly report: MirrorReport;
  readonly counters: Counters;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** What is left to write at the end has so long. */
export const END_MS = 1_200;

/** Opens the database. Throws what opening throws: at the start nothing is tried again. */
export async function openKeeper({ clock, io }: Context, options: KeeperOptions) {
  const { address, baseUrl, over, report, counters } = options;
  const inTurn = queue();
  const cut = new AbortController();
  const open = () => openOwn(address, baseUrl, { signal: cut.signal, env: io.env });
  let database: Database | undefined = await open();
  let cancelHurry = () => {};
  const hurry = () => {
    cancelHurry = clock.after(END_MS, () =>
      cut.abort(new FleetError('network', 'the database did not answer in time at the end')),
    );
  };
  over.addEventListener('abort', hurry, { once: true });

  const pause = async (attempt: number) => {
    const longestMs = doublingPauseMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    await sleep(clock, longestMs * (0.5 + clock.random() / 2), over);
  };
  const retry = async <T>(work: Work<T>): Promise<T> => {
    let failedAtMs: number | undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        database ??= await open();
        const result = await work(database, attempt > 1);
        if (failedAtMs !== undefined) report.databaseBack(clock.monotonicMs() - failedAtMs);
        return result;
      } catch (thrown) {
        counters.databaseErrors++;
        const error = asFleetError(thrown);
        const nowMs = clock.monotonicMs();
        const leftMs = patienceMs(error) - (nowMs - (failedAtMs ?? nowMs));
        if (leftMs <= 0 || over.aborted) throw error;
        if (failedAtMs === undefined) report.databaseLost(error, leftMs);
        failedAtMs ??= nowMs;
        if (error.kind === 'network') {
          await database?.close().catch(() => {});
          database = undefined;
        }
        await pause(attempt).catch(() => {
          throw error;
        });
      }
    }
  };
  return {
    /**
     * Does something in the database, one after another. While it is out of reach it is tried again for ten minutes, while it cannot be written for
     * one; then, and at the end of the program, what failed is thrown. `isRetry`: what was done before may have been written.
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
  return error.kind === 'output' && !(error instanceof DatabaseGone) ? 60_000 : 0;
}
