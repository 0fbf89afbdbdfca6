// The headers of every request and the trace headers of every answer (interface.md sections 5 and 9).

import type { Trace } from '../errors.js';
import type { Headers } from './exchange.js';

/** Section 5: "the scheme word JWT followed by a space and the token". */
export function authorization(token: string): string {
  return `JWT ${token}`;
}

/** Section 9: "the requested API version is given as a media-type parameter of the Accept header". */
export function acceptJson(version: string): string {
  return `application/json; version=${version}`;
}

/** The trace headers of an answer, those that came. Names in lower case. */
export function traceOf(headers: Headers): Trace {
  const trace: Trace = {};
  const from = headers['x-service-from'];
  const requestId = headers['x-service-requestid'];
  const version = headers['x-service-version'];
  if (from !== undefined) trace.from = from;
  if (requestId !== undefined) trace.requestId = requestId;
  if (version !== undefined) trace.version = version;
  return trace;
}

/** Headers whose values are secrets. By name, not by scheme: `JWT …` is a scheme that few redactors know. */
const SECRET_HEADERS = /^(authorization|proxy-authorization|cookie|set-cookie|.*(token|secret|api-?key).*)$/i;

/** The headers as `--verbose` may show them. */
export function redact(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.test(name) ? '[hidden]' : value]),
  );
}
