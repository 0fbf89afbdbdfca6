// A lock that consists of records in the locked file itself: claims and heartbeats. It therefore
// also holds for other names of the file, such as links. Journals and logs of alerts use it.

import { hostname } from 'node:os';
import { usageError } from '../errors.js';
import { type Clock, sleep } from './clock.js';

/** The time between two heartbeats of a run. */
export const BEAT_MS = 1500;

/** The longest heartbeat interval that is believed: a journal can be damaged. */
const LONGEST_BEAT_MS = 60_000;

/** A holder counts as dead after this many of its intervals without a record. */
const BEATS_OF_SILENCE = 2;

/** How many times per interval the file is read while a holder is watched. */
const LOOKS_A_BEAT = 6;

/** The run that holds a journal. */
export interface Holder {
  id: string;
  /** Only shown to people: in another container or on another machine it names another process. */
  pid: number;
  host: string;
  beatMs: number;
  isReleased: boolean;
  /** The number of its records so far. A larger number shows that it is alive. */
  signs: number;
}

/** The record by which a run claims a journal; `over` is the dead holder that it replaces. */
export interface Claim {
  claim: string;
  over: string | null;
  pid: number;
  host: string;
  beat_ms: number;
}

/**
 * Returns the holder after a record. A claim counts when the journal has no holder, or when it
 * replaces the present holder. The first of several claims in the file counts, so every reader sees
 * the same holder.
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

/** The file of a journal, as far as the lock uses it. */
export interface LockedFile {
  readonly path: string;
  /** Reads the appended records and returns the holder after them. */
  refresh(): Promise<Holder | undefined>;
  /** Appends the claim, reads all records up to it, and returns the holder after them. */
  claim(claim: Claim): Promise<Holder | undefined>;
}

export interface LockOptions {
  clock: Clock;
  signal: AbortSignal;
  /** Prints a line for the operator. */
  say(line: string): void;
  /** Returns the error when another run is alive. Default: an error of kind `usage`. */
  inUse?(holder: Holder | undefined): Error;
}

/**
 * Takes the lock for the run `id`. Watches a holder that did not release the lock for two of its
 * intervals, on this machine's monotonic clock; other clocks, process IDs and host names do not
 * matter. Throws a FleetError of kind `usage` when another run is alive.
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
    // Fewer records than before: the holder has rewritten the file.
    if (now?.id !== before.id || now.signs !== before.signs)
      throw (options.inUse ?? inUse(file.path))(now);
    if (now.isReleased || clock.monotonicMs() - startedAt >= silenceMs) return;
  }
}

const inUse = (path: string) => (holder: Holder | undefined) => {
  const who = holder === undefined ? '' : ` (process ${holder.pid} on ${holder.host})`;
  return usageError(
    `the journal ${path} is in use by another run${who}`,
    'wait for it to end, or stop it',
  );
};
