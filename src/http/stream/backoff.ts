// How long a stream that was lost waits before it tries again.

/** The first pause is at most this long; each further one twice as long as the one before, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** `retry:` and `Retry-After` are obeyed up to here: longer ones are mistakes, and a watch would seem dead. */
const LONGEST_ASKED_PAUSE_MS = 3_600_000;

/**
 * Milliseconds to wait before try number `attempt` (1 is the first one after a loss): never sooner than the service asked
 * for (`retry:`, `Retry-After`), and spread by full jitter so that a fleet of watches does not come back in step.
 */
export function pauseBeforeReturn(attempt: number, askedMs: number, random: () => number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 16));
  return Math.round(Math.min(askedMs, LONGEST_ASKED_PAUSE_MS) + random() * longest);
}
