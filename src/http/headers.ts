// The headers of every request and the trace headers of every answer (interface.md sections 5 and 9).

import type { Trace } from '../errors.js';
import { HIDDEN, type Secrets } from '../system/secrets.js';
import type { Headers } from './exchange.js';

/** Section 5: "the scheme word JWT followed by a space and the token". */
export function authorization(token: string): string {
  return `JWT ${token}`;
}

/** Section 9: "the requested API version is given as a media-type parameter of the Accept header". */
export function acceptJson(version: string): string {
  return `application/json; version=${version}`;
}

/**
 * The trace headers of an answer, those that came: the family `X-Service-…` of section 9. Assumed: another service may call its family
 * `X-<Name>-…`, which then has a `-RequestId`. Names in lower case.
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

/** What the name of a header has in it whose value is a secret. By name, not by scheme: few redactors know the scheme `JWT …`. */
const SECRET_HEADERS = /authorization|cookie|token|secret|api-?key|passw|session|signature|jwt/i;

/** The headers with what they and their names quote of our secrets hidden. */
export function hideInHeaders(headers: Headers, secrets: Secrets): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [secrets.hide(name), secrets.hide(value)]),
  );
}

/** The headers as `--verbose` may show them. */
export function redact(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.test(name) ? HIDDEN : value,
    ]),
  );
}
