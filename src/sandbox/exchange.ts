// What every route of the API port shares: what it knows, who asks, and how it answers (interface.md section 2.6).
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { encodeBody } from './compression.js';
import type { Faults } from './faults.js';
import type { Fleet } from './fleet.js';
import { htmlPage, type Problem, problemBody, refuse } from './problem.js';
import { lastOf, readPage, readPageSize, readQuery } from './query.js';
import type { Exchange } from './server.js';
import type { Tokens, Viewer } from './token.js';

/** Far more than any documented body needs. Assumed: "maximum request size … not shown". */
const LARGEST_BODY_BYTES = 1024 * 1024;

export interface ApiOptions {
  /** Made after the port is known, since links need it; no request comes before. */
  fleet: () => Fleet;
  isObserved: boolean;
  tokens: Tokens;
  faults: Faults;
  /** Items on a page that nobody asked to be larger or smaller. */
  pageSize: number;
  /** In front of every path, such as `/api`; '' for none. */
  prefix: string;
  /** A uuid for a new bicycle, from the seed. */
  nextUuid: () => string;
  /** Called for each transition that a request carried out. */
  onAction: (uuid: string) => void;
}

type Environment = { Bindings: HttpBindings & { exchange: Exchange } };

export type ApiContext = Context<Environment>;

export type Handler = (context: ApiContext, viewer: Viewer) => Response | Promise<Response>;

export type Handlers = { [method in 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE']?: Handler };

/** Adds a path that needs a version and, unless it is for anybody, a token. `:uuid` stands for one segment. */
export type AddRoute = (path: string, handlers: Handlers, access?: 'token' | 'anonymous-lists') => void;

/** The raw request target: hono's own URL is already decoded in part. */
export function targetOf(context: ApiContext): string {
  return context.env.incoming.url ?? '/';
}

export function queryOf(context: ApiContext): URLSearchParams {
  return readQuery(targetOf(context));
}

/** The uuid in the path, in lower case. */
export function uuidOf(context: ApiContext): string {
  return (context.req.param('uuid') ?? '').toLowerCase();
}

export function answerText(context: ApiContext, status: 200 | 201, text: string): Response {
  const { body, headers } = encodeBody(text, context.req.header('Accept-Encoding'));
  return context.body(body, status, { 'Content-Type': 'application/json', ...headers });
}

export function answerNothing(context: ApiContext): Response {
  return context.body(null, 204);
}

/** Answers a refusal. Observed: 500 comes as a page. */
export function answerProblem(context: ApiContext, problem: Problem, isObserved: boolean): Response {
  if (isObserved && problem.status === 500) return answerPageOfHtml(context, 500, 'Server Error (500)');
  const text = problemBody(problem.detail, isObserved);
  const { body, headers } = encodeBody(text, context.req.header('Accept-Encoding'));
  return new Response(body, {
    status: problem.status,
    headers: { 'Content-Type': 'application/json', ...headers, ...problem.headers },
  });
}

export function answerPageOfHtml(context: ApiContext, status: number, title: string): Response {
  const { body, headers } = encodeBody(htmlPage(status, title), context.req.header('Accept-Encoding'));
  return new Response(body, { status, headers: { 'Content-Type': 'text/html; charset=utf-8', ...headers } });
}

/** Section 2.6: count, next, previous, results. Assumed: "empty when none" is null, and every list has the envelope. */
export function answerList<Row>(
  context: ApiContext,
  options: ApiOptions,
  rows: readonly Row[],
  serialise: (row: Row) => string,
): Response {
  const query = queryOf(context);
  const size = readPageSize(query, options.pageSize, options.isObserved);
  const lastPage = Math.max(1, Math.ceil(rows.length / size));
  const page = readPage(query, lastPage, options.isObserved);
  const path = (targetOf(context).split('?', 1)[0] ?? '').slice(options.prefix.length);
  const linkToPage = (number: number) => {
    // The other parameters stay as they are; the link to the first page does without `page`, as Django's does.
    const parameters = new URLSearchParams(query);
    if (number === 1) parameters.delete('page');
    else parameters.set('page', String(number));
    const text = parameters.toString();
    return JSON.stringify(`${options.fleet().baseUrl}${path}${text === '' ? '' : `?${text}`}`);
  };
  const next = page < lastPage ? linkToPage(page + 1) : 'null';
  const previous = page > 1 ? linkToPage(page - 1) : 'null';
  const fields = options.isObserved ? lastOf(query, 'fields') : undefined;
  const results = rows.slice((page - 1) * size, page * size).map((row) => pickFields(serialise(row), fields));
  const text = `{"count":${rows.length},"next":${next},"previous":${previous},"results":[${results.join(',')}]}`;
  return answerText(context, 200, text);
}

/** Observed: `fields=a,b` leaves all other fields out. */
function pickFields(json: string, fields: string | undefined): string {
  if (fields === undefined || fields === '') return json;
  const wanted = fields.split(',');
  const entries = Object.entries(JSON.parse(json) as { [field: string]: unknown });
  return JSON.stringify(Object.fromEntries(entries.filter(([field]) => wanted.includes(field))));
}

/** The body of a request as an object. Throws a 415, 413 or 400 Problem. */
export async function readObject(context: ApiContext): Promise<{ [field: string]: unknown }> {
  const mediaType = (context.req.header('Content-Type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType !== 'application/json') {
    throw refuse(415, `Unsupported media type "${mediaType}" in request.`, 'unsupported_media_type');
  }
  const tooLarge = refuse(413, `The body is larger than ${LARGEST_BODY_BYTES} bytes.`, 'too_large');
  if (Number(context.req.header('Content-Length') ?? 0) > LARGEST_BODY_BYTES) throw tooLarge;
  const text = await context.req.text();
  if (Buffer.byteLength(text) > LARGEST_BODY_BYTES) throw tooLarge;
  context.env.exchange.record.body = text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw refuse(400, `JSON parse error - ${thrown instanceof Error ? thrown.message : String(thrown)}`, 'parse_error');
  }
  if (!isObject(value)) throw refuse(400, 'Invalid data. Expected a JSON object.', 'invalid');
  return value;
}

function isObject(value: unknown): value is { [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
