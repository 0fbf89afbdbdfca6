// The sandbox's error responses: their formats, and one function for each reason.

/** The reason for an error: a human-readable message, and a machine-readable code. */
export interface Reason {
  message: string;
  code: string;
}

/** The contents of `detail` by field. General errors are listed under `non_field_errors`. */
export interface Detail {
  [field: string]: Reason[];
}

/**
 * A sandbox error response. It is thrown as an error, and each port converts it to a response in
 * one place.
 */
export class Problem extends Error {
  override readonly name = 'Problem';

  constructor(
    readonly status: number,
    readonly detail: Detail | Reason,
    readonly headers: { [name: string]: string } = {},
  ) {
    super(JSON.stringify(detail));
  }
}

/** A response. Its body is JSON unless a header declares a different type. */
export interface ServedAnswer {
  status: number;
  body?: string | Buffer;
  headers?: { [name: string]: string };
}

/**
 * Returns the response for a thrown value. A value other than a Problem is a bug in the sandbox.
 * Observed: 500 is an HTML page. Section 7 of the interface says only "not shown". Assumed: all
 * other errors have the observed format `{"detail": {"<field>": [{"message", "code"}]}}`. General
 * errors are a bare array.
 */
export function answerOf(thrown: unknown): ServedAnswer {
  const problem =
    thrown instanceof Problem ? thrown : refuse(500, `The sandbox failed: ${thrown}`, 'error');
  const { status, detail, headers } = problem;
  if (status === 500) return htmlPage(status, 'Server Error (500)');
  return {
    status,
    body: JSON.stringify({ detail: (detail as Detail)['non_field_errors'] ?? detail }),
    headers,
  };
}

/**
 * Returns an HTML page like the error page of a proxy or a framework. Observed for unknown
 * addresses and for 500.
 */
export function htmlPage(status: number, title: string): ServedAnswer {
  const body = `<!doctype html>\n<html lang="en">\n<head>\n  <title>${title}</title>\n</head>\n<body>\n  <h1>${title}</h1><p>${status}</p>\n</body>\n</html>\n`;
  return { status, body, headers: { 'Content-Type': 'text/html; charset=utf-8' } };
}

/** Returns an error that does not belong to a field of the request. */
export function refuse(
  status: number,
  message: string,
  code: string,
  headers: { [name: string]: string } = {},
): Problem {
  return new Problem(status, { non_field_errors: [{ message, code }] }, headers);
}

/** Returns a 400 Problem for a field or query parameter. */
export function refuseField(field: string, message: string, code: string): Problem {
  return new Problem(400, { [field]: [{ message, code }] });
}

/**
 * Returns a 404 error. This error is also used when the viewer may not see an existing resource.
 */
export function refuseUnknown(message = 'Not found.'): Problem {
  return refuse(404, message, 'not_found');
}

/** Returns a 403 Problem: the token is valid, but its role or organization is not allowed. */
export function refuseRole(
  message = 'You do not have permission to perform this action.',
): Problem {
  return refuse(403, message, 'permission_denied');
}

/**
 * Returns a 409 Problem for an edit of an outdated version. The edit is not carried out (observed).
 */
export function refuseVersion(): Problem {
  return new Problem(409, {
    message: 'Concurrent edition: the bicycle has changed since.',
    code: 'concurrent_edition',
  });
}

/** Returns a 429 Problem with the seconds to wait. */
export function refuseThrottled(seconds: number): Problem {
  const message = `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? '' : 's'}.`;
  return refuse(429, message, 'throttled', { 'Retry-After': String(seconds) });
}

/** Returns a 400 Problem for an action that is not available. */
export function refuseAction(message: string): Problem {
  return refuseField('actions', message, 'not_allowed');
}

/** Returns a 401 error whose header names the authentication scheme of section 5 (`JWT`). */
export function refuseToken(message: string, code: string): Problem {
  return refuse(401, message, code, { 'WWW-Authenticate': 'JWT realm="api"' });
}

/** Returns a 405 Problem with the allowed methods. */
export function refuseMethod(method: string, allowed: string): Problem {
  return refuse(405, `Method "${method}" not allowed.`, 'method_not_allowed', { Allow: allowed });
}
