// The one clock of a process: monotonic time for pauses and limits, wall time for what is printed or compared with the service.

export interface Clock {
  /** Milliseconds that only ever grow, from an arbitrary start; a change of the machine's date does not move them. */
  monotonicMs(): number;
  /** Milliseconds since the epoch, as the machine's date says; may jump both ways. */
  wallMs(): number;
  /** Runs the action once after so many milliseconds; the returned function cancels it. */
  after(milliseconds: number, action: () => void): () => void;
  /** From 0 up to, not including, 1. */
  random(): number;
}

/** One moment on both clocks: monotonic for order and durations, the machine's date to compare with the service's times. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/** A moment of the machine's date that is over. */
export function momentAt(wallMs: number, now: Moment): Moment {
  return { wallMs, monotonicMs: now.monotonicMs - Math.max(0, now.wallMs - wallMs) };
}

/** The longest that a timer of Node can wait, 24 days; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock; `wallMs` replaces its date. */
export function systemClock(wallMs: () => number = Date.now): Clock {
  // Not performance.now(), for which Node loads eight modules: 1 ms of each start.
  const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;
  return {
    monotonicMs,
    wallMs,
    after(milliseconds, action) {
      let timer: NodeJS.Timeout;
      const dueMs = monotonicMs() + milliseconds;
      const wait = () => {
        timer = setTimeout(
          // Node's timers fire up to a millisecond early: whoever compares the time then would find nothing due.
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

/** Resolves after so many milliseconds; rejects with the signal's reason as soon as the signal is aborted. */
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

/** Runs the work with a signal that is aborted with the given one, and when the work takes longer than so many milliseconds. */
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

/** Runs the action at the earliest of the requested times. A timer that is due sooner is kept: an early call is cheaper than setting it again for each message. */
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
    /** From now on it never runs again. */
    cancel() {
      cancel();
      dueMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Does the work again and again, after a pause each time, until the signal is aborted. */
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

/** The pause before try number `attempt`, from 1 on, in milliseconds: each is twice as long as the one before, up to the longest. */
export function doublingPauseMs(attempt: number, firstMs: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** (attempt - 1));
}
