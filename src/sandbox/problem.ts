// What the sandbox answers when it refuses: the error shape, and one function for each reason.

/** `{"<field>"|"non_field_errors": [{"message", "code"}]}`, the inside of `detail`. */
export interface Detail {
  [field: string]: { message: string; code: string }[];
}

/** A refusal: thrown by whoever finds it, turned into a response at one place on each port. */
export class Problem extends Error {
  readonly status: number;
  readonly detail: Detail;
  readonly headers: { [name: string]: string };

  constructor(status: number, detail: Detail, headers: { [name: string]: string } = {}) {
    super(JSON.stringify(detail));
    this.name = 'Problem';
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }
}

/**
 * The body of a refusal. Assumed: interface.md section 7 says only "not shown", so the shape is
 * `{"detail": {"<field>"|"non_field_errors": [{"message": "…", "code": "…"}]}}`.
 */
export function problemBody(detail: Detail): string {
  return JSON.stringify({ detail });
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
export function refuseRole(message = 'You do not have permission to perform this action.'): Problem {
  return refuse(403, message, 'permission_denied');
}

/** 401 with the scheme the interface names (section 5). */
export function refuseToken(message: string, code: string): Problem {
  return refuse(401, message, code, { 'WWW-Authenticate': 'JWT realm="api"' });
}

/** 405 with the methods that are allowed. */
export function refuseMethod(method: string, allowed: string): Problem {
  return refuse(405, `Method "${method}" not allowed.`, 'method_not_allowed', { Allow: allowed });
}
