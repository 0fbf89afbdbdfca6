// The lock of a journal, in the journal itself: claims and heartbeats among its records, so that no other name of the file escapes it.

import { hostname } from 'node:os';
import { usageError } from '../errors.js';
import { type Clock, sleep } from '../system/clock.js';

/** How often a run says that it lives. */
export const BEAT_MS = 1500;

/** What a damaged journal, or another program, may say at the most. */
const LONGEST_BEAT_MS = 60_000;

/** A holder that gave no sign of life for so many of its own beats is dead. */
const BEATS_OF_SILENCE = 2;

/** How often the file is looked at while a holder is watched. */
const LOOKS_A_BEAT = 6;

/** Who holds a journal. */
export interface Holder {
  id: string;
  /** For people: in another container or on another machine the number means nothing. */
  pid: number;
  host: string;
  beatMs: number;
  isReleased: boolean;
  /** How many of its records were read: more of them are a sign of life. */
  signs: number;
}

/** The record by which a run claims the journal; `over` is the holder that it watched and found dead. */
export interface Claim {
  claim: string;
  over: string | null;
  pid: number;
  host: string;
  beat_ms: number;
}

/**
 * The holder after a record. A claim counts when nobody holds the journal, or when it names the one who does as dead: of several
 * that claim at once the first in the file wins, and every reader sees the same one.
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

/** What the taking of a lock needs of the journal's file. */
export interface LockedFile {
  readonly path: string;
  /** Takes in what was appended since, and gives the holder that it leaves. */
  refresh(): Promise<Holder | undefined>;
  /** Appends the claim, takes in everything up to it, and gives the holder then. */
  claim(claim: Claim): Promise<Holder | undefined>;
}

export interface LockOptions {
  clock: Clock;
  signal: AbortSignal;
  /** A line for the operator. */
  say(line: string): void;
  /** The error where another run lives; of kind `usage` when absent. */
  inUse?(holder: Holder | undefined): Error;
}

/**
 * Takes the lock for the run `id`. A holder that did not let go is watched on this machine's own monotonic clock for two of its
 * beats; another clock, pid or host name plays no part. Throws a FleetError of kind `usage` when another run lives.
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

/** Resolves when the holder gave no sign of life for two beats, or let go. */
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
    // Fewer signs than before: the holder has written the file anew.
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
