// Shared parts of all routes of the API port: options, requests and responses (interface.md section
// 2.6).
import { text as readText } from 'node:stream/consumers';
import type { Faults } from './faults.js';
import type { ServedFleet } from './fleet.js';
import { refuse, type ServedAnswer } from './problem.js';
import { readPageNumber, readPageSize } from './query.js';
import type { Exchange } from './server.js';
import type { TokenService, Viewer } from './token.js';

export interface ServedApiOptions {
  fleet: ServedFleet;
  tokens: TokenService;
  faults: Faults;
  /** The default number of items on a page. */
  pageSize: number;
  /** The prefix of every path, such as `/api`; '' when there is no prefix. */
  prefix: string;
  /** Returns a uuid for a new bicycle, determined by the seed. */
  nextUuid: () => string;
}

/** A request to the API port. */
export interface ApiRequest {
  exchange: Exchange;
  /** The path of the request below the prefix, without the query. */
  path: string;
  query: URLSearchParams;
  /** The uuid in the path, in lower case; '' when the path contains no uuid. */
  uuid: string;
}

export type Handler = (request: ApiRequest, viewer: Viewer) => ServedAnswer | Promise<ServedAnswer>;

export type Handlers = { [method in 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE']?: Handler };

/**
 * Adds a path. Its requests must contain a version and a token, unless `isOpen` is true. `:uuid`
 * matches one segment.
 */
export type AddRoute = (path: string, handlers: Handlers, isOpen?: boolean) => void;

export function answerText(status: 200 | 201, body: string): ServedAnswer {
  return { status, body };
}

export const NOTHING: ServedAnswer = { status: 204 };

/**
 * The envelope of section 2.6: count, next, previous, results. Assumed: "empty when none" means
 * null, and every list is sent in this envelope.
 */
export function answerList<Row>(
  { query, path }: ApiRequest,
  options: ServedApiOptions,
  rows: readonly Row[],
  serialise: (row: Row) => string,
): ServedAnswer {
  const size = readPageSize(query, options.pageSize, options.fleet.isObserved);
  const lastPage = Math.max(1, Math.ceil(rows.length / size));
  const page = readPageNumber(query, lastPage);
  const linkToPage = (number: number) => {
    // The links keep the other query parameters. The link to the first page omits `page`, as
    // Django's links do.
    const parameters = new URLSearchParams(query);
    if (number === 1) parameters.delete('page');
    else parameters.set('page', String(number));
    const text = parameters.toString();
    return JSON.stringify(`${options.fleet.baseUrl}${path}${text === '' ? '' : `?${text}`}`);
  };
  const next = page < lastPage ? linkToPage(page + 1) : 'null';
  const previous = page > 1 ? linkToPage(page - 1) : 'null';
  const results = rows.slice((page - 1) * size, page * size).map(serialise);
  const { faults } = options;
  const hasNoCount = faults.has('nocount');
  if (faults.has('linkheader')) {
    const link = next === 'null' ? {} : { Link: `<${JSON.parse(next)}>; rel="next"` };
    return { status: 200, body: `[${results.join(',')}]`, headers: link };
  }
  if (faults.has('links')) {
    const total = hasNoCount ? '' : `,"count":${rows.length}`;
    const meta = `{"pagination":{"page":${page},"pages":${lastPage}${total}}}`;
    const links = `{"next":${next},"prev":${previous}}`;
    return answerText(200, `{"links":${links},"data":[${results.join(',')}],"meta":${meta}}`);
  }
  const count = hasNoCount ? '' : `"count":${rows.length},`;
  const text = `{${count}"next":${next},"previous":${previous},"results":[${results.join(',')}]}`;
  return answerText(200, text);
}

/** Returns the body of a request as an object. Throws a 415 or 400 Problem. */
export async function readObject({ exchange }: ApiRequest): Promise<{ [field: string]: unknown }> {
  const { incoming, record } = exchange;
  const mediaType =
    (incoming.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType !== 'application/json') {
    throw refuse(
      415,
      `Unsupported media type "${mediaType}" in request.`,
      'unsupported_media_type',
    );
  }
  const text = await readText(incoming);
  record.body = text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw refuse(
      400,
      `JSON parse error - ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      'parse_error',
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse(400, 'Invalid data. Expected a JSON object.', 'invalid');
  return value as { [field: string]: unknown };
}
