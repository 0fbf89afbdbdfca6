// Decision table for retries.

import { expect, test } from 'vitest';
import {
  decide,
  isFromGateway,
  isUnknownOutcome,
  RETRY_AFTER_LIMIT_MS,
  type RetryDecision,
  readRetryAfter,
  type TryEnd,
} from '../../src/http/retry.js';

const WALL_MS = Date.parse('2026-03-01T12:00:00Z');
const GET = { isSafe: true, repetitions: 0, most: 3, mayRenew: true };
const POST = { ...GET, isSafe: false };
const again = (pauseMs: number): RetryDecision => ({ next: 'repeat', pauseMs });
const END: RetryDecision = { next: 'give-up' };

const answered = (status: number, retryAfter?: string): TryEnd => ({ status, retryAfter });
const failed = (code: string, wasSent: boolean): TryEnd => ({ code, wasSent });

test.each<[what: string, end: TryEnd, state: typeof GET, decision: RetryDecision]>([
  ['too slow', answered(408), GET, again(250)],
  ['too many', answered(429), GET, again(250)],
  ['bad gateway', answered(502), GET, again(250)],
  ['unavailable', answered(503), GET, again(250)],
  ['gateway timeout', answered(504), GET, again(250)],
  ['a bug of the service', answered(500), GET, END],
  ['nothing that the service does', answered(501), GET, END],
  ['a refusal', answered(400), GET, END],
  ['not found', answered(404), GET, END],
  ['a conflict', answered(409), POST, END],
  ['a redirect', answered(301), GET, END],
  ['429 of a change: not taken', answered(429), POST, again(250)],
  ['503 of a change: perhaps taken', answered(503), POST, END],
  ['408 of a change', answered(408), POST, END],
  ['401', answered(401), GET, { next: 'renew' }],
  ['401 of a change: not taken', answered(401), POST, { next: 'renew' }],
  ['401 after a renewal', answered(401), { ...GET, mayRenew: false }, END],
  ['403', answered(403), GET, END],
  ['a reset', failed('ECONNRESET', true), GET, again(250)],
  ['a reset of a change', failed('ECONNRESET', true), POST, END],
  ['a connection never made', failed('ECONNREFUSED', false), POST, again(250)],
  ['silence', failed('UND_ERR_HEADERS_TIMEOUT', true), GET, again(250)],
  ['silence behind a change', failed('UND_ERR_HEADERS_TIMEOUT', true), POST, END],
  ['no code at all', failed('', true), GET, again(250)],
  ['the deadline', failed('EDEADLINE', true), GET, END],
  ['the deadline before anything was sent', failed('EDEADLINE', false), POST, END],
  ['a bad certificate', failed('CERT_HAS_EXPIRED', false), GET, END],
  ['TLS asked of what speaks none', failed('ERR_SSL_WRONG_VERSION_NUMBER', false), GET, END],
  ['what is not HTTP', failed('HPE_INVALID_CONSTANT', true), GET, END],
  ['headers without end', failed('UND_ERR_HEADERS_OVERFLOW', true), GET, END],
  ['a proxy that wants a password', failed('EPROXYREFUSEDLOGIN', false), POST, END],
  ['a proxy that hung up', failed('EPROXY', false), POST, again(250)],
  ['the second repetition', answered(503), { ...GET, repetitions: 1 }, again(500)],
  ['the longest pause', answered(503), { ...GET, repetitions: 20, most: 99 }, again(8000)],
  ['the last one', answered(503), { ...GET, repetitions: 3 }, END],
  ['none wanted', answered(503), { ...GET, most: 0 }, END],
  ['asked to wait', answered(429, '7'), POST, again(7000)],
  ['asked to wait for less than the pause', answered(503, '0'), GET, again(250)],
  [
    'asked to wait until a time',
    answered(503, 'Sun, 01 Mar 2026 12:00:30 GMT'),
    GET,
    again(30_000),
  ],
  [
    'asked to wait until a time that is over',
    answered(503, 'Sun, 01 Mar 2026 11:00:00 GMT'),
    GET,
    again(250),
  ],
  ['asked to wait in words', answered(503, 'soon'), GET, again(250)],
  ['asked to wait too long', answered(429, '61'), GET, { next: 'give-up', askedMs: 61_000 }],
  ['asked to wait too long, where nothing is repeated', answered(400, '61'), GET, END],
])('%s', (_what, end, state, decision) => {
  // The random part of each delay is at its maximum.
  expect(decide(end, state, WALL_MS, () => 1)).toEqual(decision);
});

test('jitter shortens a delay by at most half', () => {
  expect(decide(answered(503), GET, WALL_MS, () => 0)).toEqual(again(125));
});

test('ignores an invalid Retry-After', () => {
  expect(readRetryAfter('1'.repeat(10_000), 0)).toBeUndefined();
  expect(readRetryAfter(String(RETRY_AFTER_LIMIT_MS / 1000), 0)).toBe(RETRY_AFTER_LIMIT_MS);
});

test.each([
  [399, false, true],
  [400, false, false],
  [499, false, false],
  [500, false, true],
  [501, false, true],
  [502, true, true],
  [504, true, true],
  [505, false, true],
  [519, false, true],
  [520, true, true],
  [530, true, true],
  [531, false, true],
])('the status %i: from a gateway %s, unknown outcome %s', (status, fromGateway, isUnknown) => {
  expect(isFromGateway(status)).toBe(fromGateway);
  expect(isUnknownOutcome(status)).toBe(isUnknown);
});
