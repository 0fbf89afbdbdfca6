// The clocks of a process. Monotonic time is used for pauses and limits. Wall-clock time is used
// for output and for comparison with the service.

import { uptime } from 'node:os';

export interface Clock {
  /**
   * Returns milliseconds since an arbitrary start. The value never decreases, even when the system
   * time is changed. It includes the time during which the machine slept.
   */
  monotonicMs(): number;
  /**
   * Returns the system time in milliseconds since the epoch. It may jump forwards and backwards.
   */
  wallMs(): number;
  /** Runs the action once after the given delay. The returned function cancels the action. */
  after(milliseconds: number, action: () => void): () => void;
  /** Returns a random number from 0 up to, but not including, 1. */
  random(): number;
}

/**
 * A moment on both clocks: monotonic time for order and durations, and system time for comparison
 * with the service.
 */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * Converts an earlier system time to a moment on both clocks. If the system time is in the future,
 * the result on the monotonic clock is the current moment.
 */
export function momentAt(wallMs: number, now: Moment): Moment {
  return { wallMs, monotonicMs: now.monotonicMs - Math.max(0, now.wallMs - wallMs) };
}

/** The longest timer that Node supports, 24 days. A longer timer would fire immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clocks of the machine, in milliseconds. */
export interface MachineClocks {
  /** A clock that never jumps. It stands still while the machine sleeps. */
  runningMs(): number;
  /**
   * A clock that never jumps, and continues while the machine sleeps. Its values may be in whole
   * seconds.
   */
  upMs(): number;
  /** The system time, which the user or a time server can set. */
  dateMs(): number;
}

const MACHINE_CLOCKS: MachineClocks = {
  // performance.now() would make Node load eight modules, which takes 1 ms at each start.
  runningMs: () => Number(process.hrtime.bigint()) / 1e6,
  upMs: () => uptime() * 1000,
  dateMs: Date.now,
};

/**
 * A larger jump of the system time means that the machine slept or that the time was set. A smaller
 * jump is an ordinary correction of the clock.
 */
const SHORTEST_SLEEP_MS = 2_000;

/**
 * Returns a clock that never jumps and includes the time that the machine slept. Reading the uptime
 * is slow. It is therefore read only after the system time jumped, because the machine may have
 * slept.
 */
export function openMonotonic({ runningMs, upMs, dateMs }: MachineClocks): () => number {
  const upAheadMs = upMs() - runningMs();
  let dateAheadMs = dateMs() - runningMs();
  let sleptMs = 0;
  return () => {
    const now = runningMs();
    const aheadMs = dateMs() - now;
    if (Math.abs(aheadMs - dateAheadMs) > SHORTEST_SLEEP_MS) {
      dateAheadMs = aheadMs;
      const pausedMs = upMs() - now - upAheadMs;
      if (pausedMs > sleptMs + SHORTEST_SLEEP_MS) sleptMs = pausedMs;
    }
    return now + sleptMs;
  };
}

/** Opens the machine's clocks. `wallMs` replaces the system time. */
export function systemClock(wallMs: () => number = Date.now): Clock {
  const monotonicMs = openMonotonic(MACHINE_CLOCKS);
  return {
    monotonicMs,
    wallMs,
    after(milliseconds, action) {
      let timer: NodeJS.Timeout;
      const dueMs = monotonicMs() + milliseconds;
      const wait = () => {
        timer = setTimeout(
          // Node's timers can fire up to a millisecond too early, so the time is checked again.
          () => (monotonicMs() < dueMs ? wait() : action()),
          Math.min(dueMs - monotonicMs(), LONGEST_TIMER_MS),
        );
      };
      wait();
      return () => clearTimeout(timer);
    },
    random: Math.random,
  };
}

/** Resolves after this time. Rejects with the signal's reason when the signal is aborted. */
export function sleep(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(milliseconds, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Runs the work with a signal that is aborted together with the given signal or after the time
 * limit.
 */
export async function within<T>(
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(milliseconds, () => late.abort(new Error('no answer came in time')));
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}

/**
 * Returns a timer that runs the action at the earliest of the requested times. If a timer is
 * already set for an earlier time, a request for a later time is ignored. The action may then run
 * too early. This is cheaper than a new timer for each message.
 */
export function openTimer(clock: Clock, action: () => void) {
  let dueMs = Number.POSITIVE_INFINITY;
  let cancel = () => {};
  return {
    want(inMs: number) {
      const atMs = clock.monotonicMs() + inMs;
      if (atMs >= dueMs) return;
      cancel();
      dueMs = atMs;
      cancel = clock.after(inMs, () => {
        dueMs = Number.POSITIVE_INFINITY;
        action();
      });
    },
    /** Cancels the action permanently. */
    cancel() {
      cancel();
      dueMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Repeats the work, with a pause before each run, until the signal is aborted. */
export function every(
  clock: Clock,
  pauseMs: number,
  signal: AbortSignal,
  work: () => Promise<void> | void,
): void {
  void sleep(clock, pauseMs, signal).then(
    async () => {
      await work();
      every(clock, pauseMs, signal, work);
    },
    () => {},
  );
}

/**
 * Returns the pause before an attempt (numbered from 1) in milliseconds. Each pause is twice the
 * previous one, up to the maximum.
 */
export function doublingPauseMs(attempt: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** (attempt - 1));
}
