// A lock that consists of records in the locked file itself: claims and heartbeats. Therefore it
// also works when the file is opened under another name, such as a link. Journals and the state
// files of alerts use it.

import { hostname } from 'node:os';
import { usageError } from '../errors.js';
import { type Clock, sleep } from './clock.js';

/** The time between two heartbeats of a run. */
export const BEAT_MS = 1500;

/** A longer interval in a record is reduced to this value, because the file can be damaged. */
const LONGEST_BEAT_MS = 60_000;

/**
 * A holder is considered dead when it has not written a record for this many of its heartbeat
 * intervals.
 */
const BEATS_OF_SILENCE = 2;

/**
 * How many times per heartbeat interval the file is read to see whether its holder is still alive.
 */
const LOOKS_A_BEAT = 6;

/** The run that holds a journal. */
export interface Holder {
  id: string;
  /**
   * The process ID is only shown to people. On another machine or in another container it belongs
   * to another process.
   */
  pid: number;
  host: string;
  beatMs: number;
  isReleased: boolean;
  /**
   * The number of records that the holder has written. The holder is alive if this number changes.
   */
  signs: number;
}

/**
 * The record with which a run takes over a journal. `over` is the id of the dead run that it
 * replaces, or null.
 */
export interface Claim {
  claim: string;
  over: string | null;
  pid: number;
  host: string;
  beat_ms: number;
}

/**
 * Returns the lock holder after one more record is applied. A claim is valid when there is no
 * holder, or when it names the current holder as the one to replace. Of several claims, the first
 * claim in the file is valid, so all readers agree on the holder.
 */
export function followHolder(
  holder: Holder | undefined,
  record: { [name: string]: unknown },
): Holder | undefined {
  const { claim, over, pid, host, beat_ms } = record;
  if (typeof claim === 'string') {
    if (holder !== undefined && !holder.isReleased && holder.id !== over) return holder;
    return {
      id: claim,
      pid: typeof pid === 'number' ? pid : 0,
      host: typeof host === 'string' ? host : '',
      beatMs:
        typeof beat_ms === 'number'
          ? Math.min(Math.max(beat_ms, BEAT_MS), LONGEST_BEAT_MS)
          : BEAT_MS,
      isReleased: false,
      signs: 0,
    };
  }
  if (holder === undefined) return undefined;
  if (record['released'] === holder.id) return { ...holder, isReleased: true };
  if (record['beat'] !== holder.id && record['run'] !== holder.id) return holder;
  return { ...holder, signs: holder.signs + 1 };
}

/** The parts of a journal's file that the lock uses. */
export interface LockedFile {
  readonly path: string;
  /**
   * Reads the records that were appended since the last call. Returns the run that now holds the
   * journal.
   */
  refresh(): Promise<Holder | undefined>;
  /**
   * Appends the claim, and reads all records up to and including it. Returns the run that then
   * holds the journal.
   */
  claim(claim: Claim): Promise<Holder | undefined>;
}

export interface LockOptions {
  clock: Clock;
  signal: AbortSignal;
  /** Prints a line for the operator. */
  say(line: string): void;
  /** Returns the error to throw when another run is alive. Defaults to an error of kind `usage`. */
  inUse?(holder: Holder | undefined): Error;
}

/**
 * Acquires the lock for the run `id`. If another holder has not released the lock, watches this
 * holder for two of its intervals, on this machine's monotonic clock. Other clocks, process IDs and
 * host names do not matter. Throws a FleetError of kind `usage` when the other run is alive.
 */
export async function takeLock(file: LockedFile, id: string, options: LockOptions): Promise<void> {
  const before = await file.refresh();
  const isHeld = before?.isReleased === false;
  if (isHeld) await watchInSilence(file, before, options);
  const over = isHeld ? before.id : null;
  const holder = await file.claim({
    claim: id,
    over,
    pid: process.pid,
    host: hostname(),
    beat_ms: BEAT_MS,
  });
  if (holder?.id !== id) throw (options.inUse ?? inUse(file.path))(holder);
}

/** Resolves when the holder wrote no record for two intervals, or released the lock. */
async function watchInSilence(
  file: LockedFile,
  before: Holder,
  options: LockOptions,
): Promise<void> {
  const { clock, signal, say } = options;
  const silenceMs = before.beatMs * BEATS_OF_SILENCE;
  const startedAt = clock.monotonicMs();
  say(
    `the last run did not finish; checking for ${silenceMs / 1000} s whether it is still running`,
  );
  for (;;) {
    await sleep(clock, before.beatMs / LOOKS_A_BEAT, signal);
    const now = await file.refresh();
    // The holder is alive if the number of its records changed. A smaller number shows this too,
    // because only a living holder rewrites the file.
    if (now?.id !== before.id || now.signs !== before.signs)
      throw (options.inUse ?? inUse(file.path))(now);
    if (now.isReleased || clock.monotonicMs() - startedAt >= silenceMs) return;
  }
}

const inUse = (path: string) => (holder: Holder | undefined) => {
  const who = holder === undefined ? '' : ` (process ${holder.pid} on ${holder.host})`;
  return usageError(
    `the journal ${path} is in use by another run${who}`,
    'wait for that run to end, or stop it',
  );
};
