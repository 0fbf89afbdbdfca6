// When a request is tried again, and after how long.

/** Statuses of a safe request that may pass: too slow, too many, and the gateways' three. */
const PASSING_STATUSES: readonly number[] = [408, 429, 502, 503, 504];

export function isPassingStatus(status: number): boolean {
  return PASSING_STATUSES.includes(status);
}

/** The first pause; each further one is twice as long, up to the longest. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

/** The longest `Retry-After` that is waited for; a longer one is told to the operator instead. */
export const RETRY_AFTER_LIMIT_MS = 60_000;

/** The pause before try number `attempt` (1 is the first repetition): exponential, half of it random. */
export function pauseBefore(attempt: number, random: () => number = Math.random): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  return Math.round(longest * (0.5 + 0.5 * random()));
}

/** Milliseconds that a `Retry-After` header asks for: seconds or an HTTP date (RFC 9110 section 10.2.3). */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
