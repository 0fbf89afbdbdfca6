// Decides whether a failed request is sent again, and when.

import { doublingPauseMs } from '../system/clock.js';
import { DEADLINE_CODE } from './exchange.js';
import { COMMAND_OVER_CODE } from './network.js';

/** How a try ended: with an answer that is no success, or without any. */
export type TryEnd =
  | {
      status: number;
      /** The header, as it came. */
      retryAfter: string | undefined;
    }
  | {
      /** The code of Node or undici; '' for none. */
      code: string;
      /** Whether the request may have reached the service. */
      wasSent: boolean;
    };

export interface TryState {
  /** Whether the request changes nothing, as GET and HEAD. */
  isSafe: boolean;
  /** Tries that were repetitions so far, and the most there may be. */
  repetitions: number;
  most: number;
  /** Whether a 401 may be met with a newer token. */
  mayRenew: boolean;
}

export type RetryDecision =
  /** `askedMs`: the service asks for a longer pause than fleet waits by itself, and the error says so. */
  | { next: 'give-up'; askedMs?: number }
  /** With a newer token, at once and not counted as a repetition. */
  | { next: 'renew' }
  | { next: 'repeat'; pauseMs: number };

/** Statuses of a safe request that may pass: too slow, too many, and the gateways' three. */
const PASSING_STATUSES: readonly number[] = [408, 429, 502, 503, 504];

/** Whether the status is a gateway's word, which does not know what the service behind it did. Assumed: 520 to 530 are those of a CDN. */
export function isFromGateway(status: number): boolean {
  return (status >= 502 && status <= 504) || (status >= 520 && status <= 530);
}

/**
 * Whether a change with this answer may have been carried out: 500, 501 and higher statuses can
 * arrive afterwards, and 303 usually means success.
 */
export function isUnknownOutcome(status: number): boolean {
  return status < 400 || status >= 500;
}

/** The first pause; each further one is twice as long, up to the longest. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

/** The longest `Retry-After` that is waited for; a longer one is printed for the operator instead. */
export const RETRY_AFTER_LIMIT_MS = 60_000;

/**
 * What follows a try that brought no success. A request that changes something is repeated only when the service provably did not take
 * it: 401 with a token that can be renewed, 429, a connection that was never made (cli.md section 4, promise 1).
 * @param wallMs the time of an HTTP date is compared with it
 */
export function decide(
  end: TryEnd,
  state: TryState,
  wallMs: number,
  random: () => number,
): RetryDecision {
  if ('status' in end && end.status === 401 && state.mayRenew) return { next: 'renew' };
  if (!mayRepeat(end, state.isSafe) || state.repetitions >= state.most) return { next: 'give-up' };
  const askedMs = 'status' in end ? (readRetryAfter(end.retryAfter, wallMs) ?? 0) : 0;
  if (askedMs > RETRY_AFTER_LIMIT_MS) return { next: 'give-up', askedMs };
  return { next: 'repeat', pauseMs: Math.max(askedMs, pauseBefore(state.repetitions + 1, random)) };
}

function mayRepeat(end: TryEnd, isSafe: boolean): boolean {
  if ('status' in end) return isSafe ? PASSING_STATUSES.includes(end.status) : end.status === 429;
  return isPassingCode(end.code) && (isSafe || !end.wasSent);
}

/** Whether asking again may help: not against TLS, what is not HTTP, headers or a body that cannot be read, a proxy's refusal, the deadline. */
function isPassingCode(code: string): boolean {
  return (
    !isTlsCode(code) &&
    !/^(?:HPE_|UND_ERR_HEADERS_OVERFLOW|EPROXYREFUSED|EBODY|UND_ERR_DESTROYED)/.test(code) &&
    code !== COMMAND_OVER_CODE &&
    code !== DEADLINE_CODE
  );
}

/** Whether the code is one of a certificate or of TLS. */
export function isTlsCode(code: string): boolean {
  return /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/.test(code);
}

/** The pause before repetition number `repetition`, from 1 on: exponential, half of it random. */
export function pauseBefore(repetition: number, random: () => number): number {
  const longest = doublingPauseMs(repetition, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  return Math.round(longest * (0.5 + 0.5 * random()));
}

/** What follows something for days obeys a service up to here (cli.md section 4, promise 6): it must not miss updates for hours. */
export const LONGEST_ASKED_PAUSE_MS = 300_000;

/** The pauses before a stream is connected again, without those that the service asks for. */
const FIRST_RETURN_MS = 500;
const LONGEST_RETURN_MS = 30_000;

/**
 * Milliseconds to wait before a stream is connected again, try `attempt` from 1 on: never less than the service asked for (`retry:`,
 * `Retry-After`), five minutes at most, and spread by full jitter so that a fleet of watches does not come back in step.
 */
export function pauseBeforeReturn(
  attempt: number,
  retryMs: number,
  headers: Readonly<Record<string, string>> | undefined,
  now: { wallMs: number; random: number },
): { pauseMs: number; cappedFromMs?: number } {
  // A date in `Retry-After` is of the service's clock, which its `Date` shows.
  const retryAfterMs =
    readRetryAfter(headers?.['retry-after'], answeredAtMs(headers) ?? now.wallMs) ?? 0;
  const askedMs = Math.max(retryMs, retryAfterMs);
  const spreadMs = now.random * doublingPauseMs(attempt, FIRST_RETURN_MS, LONGEST_RETURN_MS);
  if (askedMs > LONGEST_ASKED_PAUSE_MS)
    return { pauseMs: Math.round(LONGEST_ASKED_PAUSE_MS - spreadMs), cappedFromMs: askedMs };
  return { pauseMs: Math.round(Math.min(LONGEST_ASKED_PAUSE_MS, askedMs + spreadMs)) };
}

/** Headers that are longer hold neither a number of seconds nor a date. */
const RETRY_AFTER_LENGTH_CHARACTERS = 100;

/** The service's own time of an answer, in milliseconds since the epoch; undefined where it does not say it. */
export function answeredAtMs(
  headers: { readonly [name: string]: string } | undefined,
): number | undefined {
  const date = Date.parse(headers?.['date'] ?? '');
  return Number.isNaN(date) ? undefined : date;
}

/** Milliseconds that a `Retry-After` header asks for: seconds or an HTTP date (RFC 9110 section 10.2.3). */
export function readRetryAfter(header: string | undefined, wallMs: number): number | undefined {
  if (header === undefined || header.length > RETRY_AFTER_LENGTH_CHARACTERS) return undefined;
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - wallMs);
}
