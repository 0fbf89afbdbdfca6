// A lock that consists of records (claims and heartbeats) in the locked file itself. It therefore
// also works when another run opens the file under a different name, such as a link. Journals and
// the state files of alerts use it.

import { hostname } from 'node:os';
import { usageError } from '../errors.js';
import { type Clock, sleep } from './clock.js';

/** The time between two heartbeats of a run. */
export const BEAT_MS = 1500;

/**
 * The longest heartbeat interval that is accepted from a record. A longer interval is replaced by
 * this one, because the file may be damaged.
 */
const LONGEST_BEAT_MS = 60_000;

/**
 * The number of heartbeat intervals without a new record after which a holder is considered dead.
 */
const BEATS_OF_SILENCE = 2;

/**
 * While fleet waits for a holder's next record, it reads the file this many times per heartbeat
 * interval.
 */
const LOOKS_A_BEAT = 6;

/** The run that holds a journal. */
export interface Holder {
  id: string;
  /**
   * The process ID, which is only shown to people. On another machine or in another container,
   * another process can have this ID.
   */
  pid: number;
  host: string;
  beatMs: number;
  isReleased: boolean;
  /**
   * The number of records that the holder has written. A change of this number shows that the
   * holder is alive.
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
 * Applies one more record, and returns the lock holder. A claim is valid when the lock has no
 * holder, or when the claim names the current holder as the run to replace. Of several such claims,
 * only the first one in the file is valid. All readers therefore agree on the holder.
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
   * Appends the claim. Then reads all records up to and including this claim. Returns the run that
   * then holds the journal.
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
 * holder for two of its intervals, on this machine's monotonic clock. The decision does not depend
 * on other clocks, process IDs or host names. Throws a FleetError of kind `usage` when the other
 * run is alive.
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
    // The holder is alive if the number of its records changed. A smaller number also shows that
    // the holder is alive, because only a living holder rewrites the file.
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
