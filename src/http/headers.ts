// The headers of every request, and the trace headers of every response (interface.md sections 5
// and 9).

import type { Trace } from '../errors.js';
import { HIDDEN, type Secrets } from '../system/secrets.js';
import type { Headers } from './exchange.js';

/**
 * Returns the Authorization header. Section 5: "the scheme word JWT followed by a space and the
 * token".
 */
export function authorization(token: string): string {
  return `JWT ${token}`;
}

/**
 * Returns the Accept header. Section 9: "the requested API version is given as a media-type
 * parameter of the Accept header".
 */
export function acceptJson(version: string): string {
  return `application/json; version=${version}`;
}

/**
 * Returns the trace headers of a response, which section 9 names `X-Service-…`. Assumed: other
 * services may name them `X-<Name>-…` and include `-RequestId`. The names in `headers` must be in
 * lower case.
 */
export function traceOf(headers: Headers): Trace {
  const families = [
    'x-service',
    ...Object.keys(headers).flatMap((name) => /^(x-.+)-requestid$/.exec(name)?.[1] ?? []),
  ];
  const family = families.find((each) =>
    TRACE_NAMES.some((name) => headers[each + name] !== undefined),
  );
  if (family === undefined) return {};
  const [from, requestId, version] = TRACE_NAMES.map((name) => headers[family + name]);
  return { from, requestId, version };
}

const TRACE_NAMES = ['-from', '-requestid', '-version'] as const;

/**
 * Matches the names of headers that contain secrets. Secret headers are recognised by their names.
 * Programs that look only at values rarely recognise a value such as `JWT …` as a secret.
 */
const SECRET_HEADERS =
  /auth(?!enticate|ority)|cookie|token|secret|api-?key|-key$|passw|session|signature|jwt/i;

/**
 * Matches query or fragment parameters whose names show that their values are secret. A login page
 * returns a token in the fragment.
 */
const SECRET_PARAMETER =
  /([?&#][^=&#]{0,40}?(?:token|secret|api[-_]?key|access[-_]?key|passw[^=&#]{0,9}|passphrase|pwd|signature|(?<![a-z])(?:sig|pass|pw|pin|t?otp))=)[^&#]*/gi;

/** Matches the user name and password in a URL. */
const USER_INFO = /\/\/[^/?#\s@]{1,500}@/g;

/**
 * Hides the password and the secret parameters in a URL, for `--verbose`, `--trace` and errors
 * about redirects. The parameters can be secret because a service may redirect to a file with a
 * signed URL. Anyone who knows such a URL can use it.
 */
export function redactAddress(address: string): string {
  return address
    .replace(USER_INFO, `//${HIDDEN}@`)
    .replace(SECRET_PARAMETER, (_, before: string) => before + HIDDEN);
}

/** Hides secrets in the names and values of headers. */
export function hideInHeaders(headers: Headers, secrets: Secrets): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [secrets.hide(name), secrets.hide(value)]),
  );
}

/** Hides the values of secret headers, for `--verbose`. */
export function redact(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.test(name) ? HIDDEN : redactAddress(value),
    ]),
  );
}
