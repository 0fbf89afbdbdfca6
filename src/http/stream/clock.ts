// Time and chance as a stream sees them, so that tests can let half an hour pass in a second.

export interface Clock {
  /** Milliseconds since the epoch; jumps when the machine slept or its clock was set. */
  now(): number;
  /** Runs the action once after so many milliseconds; the returned function calls it off. */
  after(milliseconds: number, action: () => void): () => void;
  /** From 0 up to, not including, 1. */
  random(): number;
}

/** The longest that a timer of Node can wait, 24 days; a longer one would ring at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock; `now` is the context's, so that what is printed and what is measured agree. */
export function systemClock(now: () => number): Clock {
  return {
    now,
    after(milliseconds, action) {
      let timer: NodeJS.Timeout;
      const wait = (left: number) => {
        const part = Math.min(left, LONGEST_TIMER_MS);
        timer = setTimeout(() => (left > part ? wait(left - part) : action()), part);
      };
      wait(milliseconds);
      return () => clearTimeout(timer);
    },
    random: Math.random,
  };
}

/** Resolves after so many milliseconds, or as soon as the signal is aborted, whichever comes first. */
export function sleep(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = () => {
      callOff();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const callOff = clock.after(milliseconds, wake);
    signal.addEventListener('abort', wake);
  });
}
