// The headers of every request and the trace headers of every answer (interface.md sections 5 and
// 9).

import type { Trace } from '../errors.js';
import { HIDDEN, type Secrets } from '../system/secrets.js';
import type { Headers } from './exchange.js';

/** Section 5: "the scheme word JWT followed by a space and the token". */
export function authorization(token: string): string {
  return `JWT ${token}`;
}

/**
 * Section 9: "the requested API version is given as a media-type parameter of the Accept header".
 */
export function acceptJson(version: string): string {
  return `application/json; version=${version}`;
}

/**
 * Returns the trace headers of an answer: the headers `X-Service-…` of section 9. Assumed: another
 * service may name them `X-<Name>-…`, one of them `-RequestId`. `headers` has names in lower case.
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
 * Names of headers whose value is a secret. They are recognised by name, because few programs that
 * hide secrets know the scheme `JWT …`.
 */
const SECRET_HEADERS =
  /auth(?!enticate|ority)|cookie|token|secret|api-?key|-key$|passw|session|signature|jwt/i;

/** Captures a parameter of a query whose value is a secret by its name. */
const SECRET_PARAMETER =
  /([?&][^=&#]{0,40}?(?:token|secret|api[-_]?key|access[-_]?key|passw[^=&#]{0,9}|signature|(?<![a-z])sig)=)[^&#]*/gi;

/** Returns an address as `--verbose` and `--trace` show it. */
export function redactQuery(address: string): string {
  return address.replace(SECRET_PARAMETER, (_, before: string) => before + HIDDEN);
}

/** Hides secrets in the names and values of headers. */
export function hideInHeaders(headers: Headers, secrets: Secrets): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [secrets.hide(name), secrets.hide(value)]),
  );
}

/** Returns the headers as `--verbose` shows them. */
export function redact(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.test(name) ? HIDDEN : redactQuery(value),
    ]),
  );
}
