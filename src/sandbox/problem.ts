// What the sandbox answers when it refuses: the shapes of errors, and one function for each reason.

/** One reason, for people and for programs. */
export interface Reason {
  message: string;
  code: string;
}

/** The inside of `detail` by field; what belongs to no field is under `non_field_errors`. */
export interface Detail {
  [field: string]: Reason[];
}

/** A refusal: thrown by whoever finds it, turned into a response at one place on each port. */
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

/** What is sent; JSON unless a header says otherwise. */
export interface ServedAnswer {
  status: number;
  body?: string | Buffer;
  headers?: { [name: string]: string };
}

/**
 * A refusal as it is sent; what is no Problem is a fault of the sandbox. Observed: 500 comes as a page. Assumed: interface.md section 7 says only
 * "not shown", so the shape is the one that was observed: `{"detail": {"<field>": [{"message", "code"}]}}`; what belongs to no field is a bare array.
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

/** A page as a proxy or a framework sends it. Observed: for unknown addresses and for 500. */
export function htmlPage(status: number, title: string): ServedAnswer {
  const body = `<!doctype html>\n<html lang="en">\n<head>\n  <title>${title}</title>\n</head>\n<body>\n  <h1>${title}</h1><p>${status}</p>\n</body>\n</html>\n`;
  return { status, body, headers: { 'Content-Type': 'text/html; charset=utf-8' } };
}

/** A refusal that belongs to no field. */
export function refuse(
  status: number,
  message: string,
  code: string,
  headers: { [name: string]: string } = {},
): Problem {
  return new Problem(status, { non_field_errors: [{ message, code }] }, headers);
}

/** 400 for one field or query parameter. */
export function refuseField(field: string, message: string, code: string): Problem {
  return new Problem(400, { [field]: [{ message, code }] });
}

/** 404, also for what the viewer may not know of. */
export function refuseUnknown(message = 'Not found.'): Problem {
  return refuse(404, message, 'not_found');
}

/** 403: the token is good, but its role or organization may not do this. */
export function refuseRole(
  message = 'You do not have permission to perform this action.',
): Problem {
  return refuse(403, message, 'permission_denied');
}

/** Observed: 409 when an edit was made on a version that is no longer the newest; nothing is carried out. */
export function refuseVersion(): Problem {
  return new Problem(409, {
    message: 'Concurrent edition: the bicycle has changed since.',
    code: 'concurrent_edition',
  });
}

/** 429 that says in how many seconds to come again. */
export function refuseThrottled(seconds: number): Problem {
  const message = `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? '' : 's'}.`;
  return refuse(429, message, 'throttled', { 'Retry-After': String(seconds) });
}

/** 400 for an action that its subject does not take. */
export function refuseAction(message: string): Problem {
  return refuseField('actions', message, 'not_allowed');
}

/** 401 with the scheme the interface names (section 5). */
export function refuseToken(message: string, code: string): Problem {
  return refuse(401, message, code, { 'WWW-Authenticate': 'JWT realm="api"' });
}

/** 405 with the methods that are allowed. */
export function refuseMethod(method: string, allowed: string): Problem {
  return refuse(405, `Method "${method}" not allowed.`, 'method_not_allowed', { Allow: allowed });
}
