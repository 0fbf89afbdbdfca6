// Decides whether and when to retry a failed request.

import { doublingPauseMs } from '../system/clock.js';
import { DEADLINE_CODE } from './exchange.js';
import { COMMAND_OVER_CODE } from './network.js';

/** The outcome of a failed attempt: an error response, or no response. */
export type TryEnd =
  | {
      status: number;
      /** The unparsed `Retry-After` header. */
      retryAfter: string | undefined;
    }
  | {
      /** The error code of Node or undici, or '' when there is none. */
      code: string;
      /** Whether the request may have reached the service. */
      wasSent: boolean;
    };

export interface TryState {
  /** Whether the request is read-only (GET or HEAD). */
  isSafe: boolean;
  /** The number of retries so far, and the maximum. */
  repetitions: number;
  most: number;
  /** Whether a newer token may be requested after a 401. */
  mayRenew: boolean;
}

export type RetryDecision =
  /**
   * Do not send the request again. `askedMs` is the pause that the service asked for. It is set
   * when the pause is longer than fleet accepts, and the error then reports it.
   */
  | { next: 'give-up'; askedMs?: number }
  /** Send the request again immediately, with a newer token. This does not count as a retry. */
  | { next: 'renew' }
  | { next: 'repeat'; pauseMs: number };

/**
 * Statuses after which a GET or HEAD request is retried: timeout, rate limit, and gateway errors.
 */
const PASSING_STATUSES: readonly number[] = [408, 429, 502, 503, 504];

/**
 * Whether a gateway sent this status. A gateway does not know whether the service carried out the
 * request. Assumed: a CDN sends 520 to 530.
 */
export function isFromGateway(status: number): boolean {
  return (status >= 502 && status <= 504) || (status >= 520 && status <= 530);
}

/**
 * Whether a change may have been carried out although the status is an error. A status of 500 or
 * higher can be sent after the change was carried out, and 303 usually means success.
 */
export function isUnknownOutcome(status: number): boolean {
  return status < 400 || status >= 500;
}

/**
 * The pause before the first retry. Each further pause is twice as long, up to LONGEST_PAUSE_MS.
 */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

/**
 * The longest `Retry-After` that fleet waits for. If the header asks for a longer pause, fleet does
 * not wait and reports the pause to the user.
 */
export const RETRY_AFTER_LIMIT_MS = 60_000;

/**
 * Decides what to do after a failed attempt. A change is resent only when the service cannot have
 * carried it out. This is the case after 401 (with a newer token), after 429, and when no
 * connection was established (cli.md section 4, promise 1).
 *
 * @param wallMs the current time, for a `Retry-After` with a date
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

/**
 * Whether a request that failed with this code may succeed later. False for TLS errors, invalid
 * HTTP, unreadable headers or bodies, a refusal by the proxy, and an exceeded deadline.
 */
function isPassingCode(code: string): boolean {
  return (
    !isTlsCode(code) &&
    !/^(?:HPE_|UND_ERR_HEADERS_OVERFLOW|EPROXYREFUSED|EBODY|UND_ERR_DESTROYED)/.test(code) &&
    code !== COMMAND_OVER_CODE &&
    code !== DEADLINE_CODE
  );
}

/** Whether the code means a certificate or TLS error. */
export function isTlsCode(code: string): boolean {
  return /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/.test(code);
}

/**
 * Returns the pause in milliseconds before a retry. Retries are numbered from 1. The pause grows
 * exponentially, and half of it is random.
 */
export function pauseBefore(repetition: number, random: () => number): number {
  const longest = doublingPauseMs(repetition, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  return Math.round(longest * (0.5 + 0.5 * random()));
}

/**
 * The longest pause that a long-running command accepts from the service (cli.md section 4, promise
 * 6). A longer pause could make the command miss updates for hours.
 */
export const LONGEST_ASKED_PAUSE_MS = 300_000;

/**
 * The first pause and the longest pause before a stream reconnects, when the service requests no
 * pause.
 */
const FIRST_RETURN_MS = 500;
const LONGEST_RETURN_MS = 30_000;

/**
 * Returns the pause in milliseconds before a stream reconnects. Attempts are numbered from 1. The
 * pause is at least the time that the service asked for (`retry:`, `Retry-After`), and at most five
 * minutes. The pause has full jitter, so that many clients do not reconnect at the same moment.
 */
export function pauseBeforeReturn(
  attempt: number,
  retryMs: number,
  headers: Readonly<Record<string, string>> | undefined,
  now: { wallMs: number; random: number },
): { pauseMs: number; cappedFromMs?: number } {
  // A date in `Retry-After` is compared with the service's clock, which the `Date` header shows.
  const retryAfterMs =
    readRetryAfter(headers?.['retry-after'], answeredAtMs(headers) ?? now.wallMs) ?? 0;
  const askedMs = Math.max(retryMs, retryAfterMs);
  const spreadMs = now.random * doublingPauseMs(attempt, FIRST_RETURN_MS, LONGEST_RETURN_MS);
  if (askedMs > LONGEST_ASKED_PAUSE_MS)
    return { pauseMs: Math.round(LONGEST_ASKED_PAUSE_MS - spreadMs), cappedFromMs: askedMs };
  return { pauseMs: Math.round(Math.min(LONGEST_ASKED_PAUSE_MS, askedMs + spreadMs)) };
}

/** Longer header values are ignored, because a valid number of seconds or date is not that long. */
const RETRY_AFTER_LENGTH_CHARACTERS = 100;

/**
 * Returns the time in the `Date` header in milliseconds since the epoch, or undefined when the
 * header is missing or invalid.
 */
export function answeredAtMs(
  headers: { readonly [name: string]: string } | undefined,
): number | undefined {
  const date = Date.parse(headers?.['date'] ?? '');
  return Number.isNaN(date) ? undefined : date;
}

/**
 * Returns the pause in milliseconds that a `Retry-After` header asks for, or undefined when it is
 * invalid. The header contains seconds or an HTTP date (RFC 9110 section 10.2.3).
 */
export function readRetryAfter(header: string | undefined, wallMs: number): number | undefined {
  if (header === undefined || header.length > RETRY_AFTER_LENGTH_CHARACTERS) return undefined;
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - wallMs);
}
