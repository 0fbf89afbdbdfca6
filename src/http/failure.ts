// What went wrong, in words: answers that are refusals and exchanges that never were, as errors with kind and hint.

import { type ErrorFacts, type ErrorKind, FleetError } from '../errors.js';
import type { ExchangeError, Headers } from './exchange.js';
import { traceOf } from './headers.js';

/** The kind of failure an HTTP status stands for (cli.md section 3). */
export function kindOfStatus(status: number): ErrorKind {
  if (status === 401 || status === 403) return 'auth';
  if (status === 404 || status === 410) return 'not-found';
  if (status === 429 || status >= 500 || status < 400) return 'service';
  return 'rejected';
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'log in again with "fleet auth login", or check FLEET_TOKEN; "fleet auth status" shows which token is used',
  403: 'the token is good but its role may not do this; "fleet auth status" shows its claims',
  404: 'check the identifier, and that the base URL has the right prefix ("fleet config get base_url")',
  406: 'the service does not speak the API version asked for; try another --api-version',
  429: 'the service asks to slow down; try again later',
};

/** Longer than this, a text from the service is cut: one line of error stays one line. */
const DETAIL_LENGTH_CHARACTERS = 500;

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= DETAIL_LENGTH_CHARACTERS ? line : `${line.slice(0, DETAIL_LENGTH_CHARACTERS - 1)}…`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names under which services put errors that belong to no field. */
const GENERAL_FIELDS = ['non_field_errors', '__all__', 'detail', 'error', 'errors', 'message'];

/** Properties that tell what an error is filed as, not what it is. */
const FILING_FIELDS = ['code', 'status', 'type', 'instance', 'timestamp', 'path'];

/** Nesting beyond this is not an error message. */
const DEPTH_LIMIT = 6;

/** All readable sentences in an error body, each with the field it belongs to in front. */
function collectSentences(value: unknown, field: string | undefined, depth = 0): string[] {
  if (depth > DEPTH_LIMIT) return [];
  if (typeof value === 'string') {
    if (value.trim() === '') return [];
    return [field === undefined ? value : `${field}: ${value}`];
  }
  if (Array.isArray(value)) return value.flatMap((element) => collectSentences(element, field, depth + 1));
  if (!isObject(value)) return [];
  // {"message": "…", "code": "…"} is one sentence; the code is for programs.
  if (typeof value['message'] === 'string') return collectSentences(value['message'], field, depth + 1);
  return Object.entries(value).flatMap(([name, inner]) => {
    if (FILING_FIELDS.includes(name) && typeof inner !== 'object') return [];
    const inside = GENERAL_FIELDS.includes(name) ? field : field === undefined ? name : `${field}.${name}`;
    return collectSentences(inner, inside, depth + 1);
  });
}

/** RFC 9457 problem details: title and detail say it, the members `errors` or `invalid-params` say where. */
function readProblem(body: Record<string, unknown>): string[] {
  const title = typeof body['title'] === 'string' ? body['title'] : undefined;
  const detail = typeof body['detail'] === 'string' ? body['detail'] : undefined;
  const head = [title, detail].filter((text) => text !== undefined && text !== '').join(': ');
  const params = body['invalid-params'] ?? body['invalid_params'] ?? body['errors'];
  const rest = Array.isArray(params)
    ? params.flatMap((param) =>
        isObject(param) && typeof param['name'] === 'string'
          ? collectSentences(param['reason'] ?? param['detail'] ?? param['message'], param['name'])
          : collectSentences(param, undefined),
      )
    : collectSentences(params, undefined);
  return [head, ...rest].filter((text) => text !== '');
}

export interface ReadDetail {
  /** For people: one line, or undefined when the body says nothing. */
  text: string | undefined;
  /** For programs: the parsed body, or its text. */
  detail: unknown;
}

/**
 * Takes the readable text from whatever error body came: "Error status codes, error body shape and error conditions:
 * not shown" (section 7). Assumed: the shapes that cli.md section 3 lists.
 */
export function readErrorBody(text: string, contentType = ''): ReadDetail {
  const trimmed = text.trim();
  if (trimmed === '') return { text: undefined, detail: null };
  let body: unknown;
  try {
    body = JSON.parse(trimmed);
  } catch {
    if (/html/i.test(contentType) || /^<(!doctype|html|head|body)/i.test(trimmed)) {
      const title = titleOf(trimmed) ?? /<h1[^>]*>([\s\S]*?)<\/h1>/i.exec(trimmed)?.[1];
      const words =
        title === undefined ? 'an HTML page' : `an HTML page: ${decodeEntities(title.replace(/<[^>]*>/g, ' '))}`;
      return { text: shorten(words), detail: trimmed };
    }
    return { text: shorten(trimmed), detail: trimmed };
  }
  const isProblem =
    isObject(body) && (/problem\+json/i.test(contentType) || (typeof body['title'] === 'string' && 'status' in body));
  const sentences = isProblem ? readProblem(body as Record<string, unknown>) : collectSentences(body, undefined);
  const unique = [...new Set(sentences)];
  if (unique.length > 0) return { text: shorten(unique.join('; ')), detail: body };
  return { text: typeof body === 'object' ? undefined : shorten(String(body)), detail: body };
}

/** What stands between the tags of an HTML page's title, as it came. */
export function titleOf(html: string): string | undefined {
  return /<title[^>]*>([\s\S]*?)<\/title>/i.exec(html)?.[1];
}

function decodeEntities(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };
  return text.replace(/&(amp|lt|gt|quot|apos|nbsp);/g, (_, name: string) => named[name] ?? '');
}

/**
 * The error for an answer that is no success.
 * @param subject what was asked for, as in `the service refused SUBJECT`
 */
export function answerFailure(status: number, headers: Headers, text: string, subject = 'the request'): FleetError {
  const read = readErrorBody(text, headers['content-type']);
  const kind = kindOfStatus(status);
  const facts: ErrorFacts = { status, detail: read.detail, trace: traceOf(headers) };
  const location = headers['location'];
  if (status >= 300 && status < 400) {
    return new FleetError(
      'service',
      `the service redirects ${subject}${location === undefined ? '' : ` to ${location}`}, and it is not followed`,
      {
        ...facts,
        hint: 'the token goes to no other address; if the service moved, set the new one with "fleet config set base_url URL"',
      },
    );
  }
  const verb = kind === 'service' ? 'could not answer' : kind === 'not-found' ? 'does not know' : 'refused';
  const why =
    read.text ?? (kind === 'auth' && status === 401 ? 'the token is missing, wrong or expired' : 'it gave no reason');
  const hint =
    HINTS[status] ??
    (status >= 500
      ? 'the service has trouble; try again later, and quote the request id when you report it'
      : undefined);
  return new FleetError(
    kind,
    `the service ${verb} ${subject}: ${why}`,
    hint === undefined ? facts : { ...facts, hint },
  );
}

/** The error codes of Node and undici, in words. */
const NETWORK_WORDS: Readonly<Record<string, readonly [words: string, hint: string]>> = {
  ECONNREFUSED: ['connection refused', 'check that the service runs and that address and port are right'],
  ENOTFOUND: ['no such host', 'check the host name and your DNS'],
  EAI_AGAIN: ['the name could not be looked up', 'check your network and DNS'],
  ECONNRESET: ['connection reset', 'try again; if it stays, a proxy or the service closes connections'],
  EPIPE: ['connection closed while sending', 'try again'],
  UND_ERR_SOCKET: ['connection closed before the answer was complete', 'try again'],
  ETIMEDOUT: ['connection timed out', 'check your network, or give more time with --timeout'],
  UND_ERR_CONNECT_TIMEOUT: ['connecting took too long', 'check your network, or give more time with --timeout'],
  UND_ERR_HEADERS_TIMEOUT: ['no answer in time', 'give more time with --timeout'],
  UND_ERR_BODY_TIMEOUT: ['the answer stopped coming', 'give more time with --timeout'],
  EHOSTUNREACH: ['host unreachable', 'check your network'],
  ENETUNREACH: ['network unreachable', 'check your network'],
  EPROXY: [
    'the proxy hung up',
    'check HTTPS_PROXY, and whether the proxy lets you out; NO_PROXY names hosts to reach without it',
  ],
  HPE_INVALID_CONSTANT: [
    'the answer is not HTTP',
    'check that the address and port are those of the service, and http or https',
  ],
};

function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = (at as NodeJS.ErrnoException).code;
    if (typeof code === 'string') return code;
    // undici's parser says what it stumbled over, not always with a code.
    if (at.name === 'HTTPParserError') return 'HPE_INVALID_CONSTANT';
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return undefined;
}

/** Whether the code is one of a certificate or of TLS: asking again will not help. */
function isTlsCode(code: string): boolean {
  return /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code);
}

/** Whether the failure may be gone at the next try: everything but TLS and an answer that is not HTTP. */
export function isPassing(error: FleetError): boolean {
  const code = codeOf(error.cause) ?? '';
  return error.kind === 'network' && !isTlsCode(code) && !code.startsWith('HPE_');
}

/** The error for an exchange that brought no answer. A reason given to the abort signal (Ctrl-C) comes through as it is. */
export function networkFailure(error: ExchangeError, url: URL, isChange = false): FleetError {
  if (error.cause instanceof FleetError) return error.cause;
  const code = codeOf(error.cause) ?? '';
  const [words, hint] = isTlsCode(code)
    ? [
        `the secure connection failed: ${error.message}`,
        "check the address and the machine's clock; a private certificate authority goes into NODE_EXTRA_CA_CERTS",
      ]
    : (NETWORK_WORDS[code] ??
      (code.startsWith('HPE_')
        ? (NETWORK_WORDS['HPE_INVALID_CONSTANT'] ?? ['', ''])
        : [`${error.message}${code === '' ? '' : ` (${code})`}`, 'check your network and the address']));
  if (isChange && error.sent) {
    return new FleetError(
      'network',
      `no answer from ${url.origin} after the request was sent: ${words}; whether it was carried out is unknown`,
      {
        cause: error,
        hint: 'it is not sent a second time; look at the state of the bicycle before you try again',
        ...(error.head === undefined ? {} : { trace: traceOf(error.head.headers), status: error.head.status }),
      },
    );
  }
  return new FleetError('network', `cannot reach the service at ${url.origin}: ${words}`, {
    cause: error,
    hint,
    ...(error.head === undefined ? {} : { trace: traceOf(error.head.headers), status: error.head.status }),
  });
}
