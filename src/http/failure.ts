// Turns error responses and failed requests into errors with a kind, a message and a hint.

import { type ErrorKind, FleetError } from '../errors.js';
import { isObject, JsonError, parseJson } from '../json/parse.js';
import { DEADLINE_CODE, type ExchangeError, type Headers } from './exchange.js';
import { redactAddress, traceOf } from './headers.js';
import { isFromGateway, isTlsCode, isUnknownOutcome } from './retry.js';
import { cutTo, describeHtml, foreignText, isHtml } from './server-text.js';

/** Returns the error kind for an HTTP status (cli.md section 3). */
export function kindOfStatus(status: number): ErrorKind {
  if (status === 401 || status === 403) return 'auth';
  if (isGone({ status })) return 'not-found';
  if (status === 429 || status >= 500 || status < 400) return 'service';
  return 'rejected';
}

const HINTS: Readonly<Record<number, string>> = {
  401: 'log in again with "fleet auth login", or check FLEET_TOKEN; "fleet auth status" shows which token is used',
  403: 'the token is good but its role may not do this; "fleet auth status" shows its claims',
  404: 'check the ID, and the prefix of the base URL: "fleet doctor" finds the right one',
  407: 'put user and password into the address in HTTPS_PROXY or HTTP_PROXY: http://USER:PASSWORD@HOST:PORT',
  409: 'nothing was changed: check the current state and try again',
  406: 'the service does not speak the API version asked for; try another --api-version',
  429: 'the service asks fleet to slow down; try again later',
};

/** The maximum number of characters in `detail` from an error body that is not JSON. */
const DETAIL_LENGTH_CHARACTERS = 2_000;

/**
 * Properties of an error body that do not name a field of the request. Their messages are printed
 * without a field name.
 */
const GENERAL_FIELDS = [
  ...['non_field_errors', '__all__', 'detail', 'error', 'errors', 'message', 'actions'],
  ...['title', 'invalid-params', 'invalid_params'],
];

/** Properties of an error body that do not contain its message, such as its code. */
const FILING_FIELDS = ['code', 'status', 'type', 'instance', 'timestamp', 'path'];

/** Messages that are nested more deeply than this are ignored. */
const DEPTH_LIMIT = 6;

/** Returns all messages in an error body. A message about a field starts with the field's name. */
function collectSentences(value: unknown, field: string | undefined, depth = 0): string[] {
  if (depth > DEPTH_LIMIT) return [];
  if (typeof value === 'string') {
    if (value.trim() === '') return [];
    return [field === undefined ? value : `${field}: ${value}`];
  }
  if (Array.isArray(value))
    return value.flatMap((element) => collectSentences(element, field, depth + 1));
  if (!isObject(value)) return [];
  // For {"message": "…", "code": "…"} only the message is printed, because the code is meant for
  // programs.
  if (typeof value['message'] === 'string')
    return collectSentences(value['message'], field, depth + 1);
  // An invalid field and the reason, in the format of RFC 9457.
  if (typeof value['name'] === 'string' && typeof value['reason'] === 'string')
    return collectSentences(value['reason'], value['name'], depth + 1);
  return Object.entries(value).flatMap(([name, inner]) => {
    if (FILING_FIELDS.includes(name) && typeof inner !== 'object') return [];
    const inside = GENERAL_FIELDS.includes(name)
      ? field
      : field === undefined
        ? name
        : `${field}.${name}`;
    return collectSentences(inner, inside, depth + 1);
  });
}

/**
 * Returns the message in an error body. The interface does not specify error bodies (section 7), so
 * fleet accepts the formats in cli.md section 3. `text` is one line for people, or undefined
 * without a message. `detail` is for programs: the parsed body, or the beginning of a body that is
 * not JSON.
 */
export function readErrorBody(
  text: string,
  contentType = '',
): { text: string | undefined; detail: unknown } {
  const trimmed = text.trim();
  if (trimmed === '') return { text: undefined, detail: null };
  let body: unknown;
  try {
    body = parseJson(trimmed);
  } catch (error) {
    const detail = cutTo(trimmed, DETAIL_LENGTH_CHARACTERS);
    if (error instanceof JsonError && error.kind === 'depth')
      return { text: error.message, detail };
    return {
      text: isHtml(trimmed, contentType) ? describeHtml(trimmed) : foreignText(trimmed),
      detail,
    };
  }
  const unique = [...new Set(collectSentences(body, undefined))];
  if (unique.length > 0) return { text: foreignText(unique.join('; ')), detail: body };
  return { text: typeof body === 'object' ? undefined : foreignText(String(body)), detail: body };
}

/** The facts about a request that its error message needs. */
export interface Asked {
  url: URL;
  /**
   * Whether the request changes something. Without a response, the outcome of a change is unknown.
   */
  isChange?: boolean;
  /** A command that the hint suggests. Its output shows whether the change was carried out. */
  shownBy?: string | undefined;
  /** The server that received the request; `the service` by default. */
  whom?: string;
  /**
   * Whether the request contained a secret. If so, errors do not quote the response, because the
   * response may contain the secret in any encoding.
   */
  isSecret?: boolean | undefined;
}

/**
 * Returns the error for a response with a status other than 2xx.
 *
 * @param subject the requested object, as in `the service refused SUBJECT`
 * @param more the URL, and a hint that says how to get a new token
 */
export function answerFailure(
  status: number,
  headers: Headers,
  text: string,
  subject = 'the request',
  more: Partial<Asked> & { refusalHint?: string | undefined } = {},
): FleetError {
  const isSecret = more.isSecret === true;
  if (status >= 300 && status < 400) return redirectFailure(status, headers, subject, more);
  const read = isSecret ? UNREAD : readErrorBody(text, headers['content-type']);
  const kind = kindOfStatus(status);
  const verb = kind === 'service' ? 'could not answer' : 'refused';
  const who = status === 407 ? 'the proxy' : 'the service';
  const silence = isSecret ? 'its answer is not shown' : WORDS_FOR_SILENCE[status];
  const why = read.text ?? silence ?? 'no reason given';
  const isTraced = traceOf(headers).requestId !== undefined;
  const quoted = isTraced ? ', and quote the request id when you report it' : '';
  const hint =
    (status === 401 ? more.refusalHint : undefined) ??
    (kind === 'not-found' && NOT_THERE.test(why)
      ? 'check the ID: it is unknown, or you have no access'
      : HINTS[status]) ??
    (status >= 500 ? `the service has a problem; try again later${quoted}` : undefined);
  const { detail } = read;
  if (more.isChange === true && isUnknownOutcome(status)) {
    const isGateway = isFromGateway(status);
    const sender = isGateway ? 'a gateway' : 'the service';
    const message = `${sender} answered ${subject} with ${status} (${why}); ${UNKNOWN_OUTCOME}`;
    return new FleetError(isGateway ? 'network' : kind, message, {
      status,
      detail,
      trace: traceOf(headers),
      hint: unknownHint(more),
    });
  }
  const failed = kind === 'not-found' ? `${subject} was not found` : `${who} ${verb} ${subject}`;
  return new FleetError(kind, `${failed}: ${why}`, {
    status,
    detail,
    trace: traceOf(headers),
    hint,
  });
}

/** Whether the status means that the service does not have the requested object. */
export function isGone({ status }: Pick<FleetError, 'status'>): boolean {
  return status === 404 || status === 410;
}

/** Returns the message that the service sent, or undefined when there is no message. */
export function reasonIn({ message }: Pick<FleetError, 'message'>): string | undefined {
  return /: (.*)$/s.exec(message)?.[1];
}

/** Observed: the service's message when the URL is right but the object does not exist. */
const NOT_THERE = /^No \w+ matches the given query/;

/** The result for a request that contained a secret: its error body is not parsed. */
const UNREAD: ReturnType<typeof readErrorBody> = { text: undefined, detail: null };

/** Messages for error responses without a message, by status. */
const WORDS_FOR_SILENCE: Readonly<Record<number, string>> = {
  401: 'the token is missing, wrong or expired',
  407: 'it asks for a user and a password',
};

/** The end of the error message for a change that got no usable response. */
export const UNKNOWN_OUTCOME = 'it is unknown whether the request was carried out';

function redirectFailure(
  status: number,
  headers: Headers,
  subject: string,
  { url, isSecret, isChange, shownBy }: Partial<Asked>,
): FleetError {
  const location = isSecret === true ? undefined : headers['location'];
  const isSlashMissing =
    url !== undefined &&
    location !== undefined &&
    URL.canParse(location, url) &&
    new URL(location, url).pathname === `${url.pathname}/`;
  const where = location === undefined ? '' : ` to ${foreignText(redactAddress(location))}`;
  const outcome = isChange === true ? `; ${UNKNOWN_OUTCOME}` : '';
  const message = `the service redirects ${subject}${where}, and fleet does not follow this redirect${outcome}`;
  const check =
    isChange === true && shownBy !== undefined ? `check before you retry: ${shownBy}; ` : '';
  const hint = isSlashMissing
    ? `add the missing final slash: ${url.pathname}/`
    : `${check}fleet sends the token to no other address; if the service moved, set the new address with "fleet config set base_url URL"`;
  return new FleetError('service', message, {
    status,
    detail: null,
    trace: traceOf(headers),
    hint,
  });
}

/** Returns the hint for a change whose outcome is unknown. */
const unknownHint = ({ shownBy }: Partial<Asked>) =>
  `it is not sent again; check before you retry${shownBy === undefined ? '' : `: ${shownBy}`}`;

const CHECK_PROXY =
  'check HTTPS_PROXY, and whether the proxy allows this address; NO_PROXY names hosts to reach directly';

/** Messages and hints for the error codes of Node and undici. */
const NETWORK_WORDS: Readonly<Record<string, readonly [words: string, hint: string]>> = {
  ECONNREFUSED: [
    'connection refused',
    'check that the service is running and that the address and the port are correct',
  ],
  ENOTFOUND: ['no such host', 'check the host name and your DNS'],
  EAI_AGAIN: ['the host name could not be resolved', 'check your network and DNS'],
  ECONNRESET: [
    'connection reset',
    'try again; if it keeps happening, a proxy or the service closes connections',
  ],
  EPIPE: ['connection closed while sending', 'try again'],
  UND_ERR_SOCKET: ['connection closed before the answer was complete', 'try again'],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: [
    'the answer is shorter than its Content-Length',
    'try again; if it keeps happening, a proxy or the service closes connections',
  ],
  ETIMEDOUT: ['connection timed out', 'check your network, or raise --timeout'],
  UND_ERR_CONNECT_TIMEOUT: ['connecting took too long', 'check your network, or raise --timeout'],
  [DEADLINE_CODE]: [
    'the answer did not end in time',
    'raise --timeout, or --deadline for the whole request',
  ],
  UND_ERR_HEADERS_OVERFLOW: [
    'the headers of the answer are larger than 64 kB',
    'a proxy or the service sends too many headers',
  ],
  UND_ERR_HEADERS_TIMEOUT: ['no answer in time', 'raise --timeout'],
  UND_ERR_BODY_TIMEOUT: ['the response stopped arriving', 'raise --timeout'],
  EHOSTUNREACH: ['host unreachable', 'check your network'],
  ENETUNREACH: ['network unreachable', 'check your network'],
  EPROXYREFUSEDLOGIN: ['the proxy asks for a user and a password (407)', HINTS[407] ?? ''],
  EPROXYREFUSED: ['the proxy refuses to connect to the service', CHECK_PROXY],
  EPROXYUNREACHED: [
    'the proxy cannot be reached',
    'check that the proxy in HTTPS_PROXY runs, or unset it; NO_PROXY names hosts to reach directly',
  ],
  EPROXY: ['the proxy hung up', CHECK_PROXY],
  HPE_INVALID_CONSTANT: [
    'the answer is not HTTP',
    'check that the address and port are those of the service, and http or https',
  ],
};

/**
 * Messages of OpenSSL and BoringSSL that mean that the server does not use TLS. Such a server
 * usually uses plain HTTP.
 */
const WRONG_SCHEME = /wrong[ _]version[ _]number|packet[ _]length[ _]too[ _]long|:http[ _]request/i;
const LONGEST_TLS_MESSAGE = 1000;

/** Returns a message and a hint for a failed request. */
function explain(
  { code, message }: ExchangeError,
  hide: (text: string) => string,
): readonly [words: string, hint: string] {
  if (isTlsCode(code)) {
    if (WRONG_SCHEME.test(message.slice(0, LONGEST_TLS_MESSAGE)))
      return [
        'the port does not speak https',
        'check the port, or run "fleet doctor" to check whether the address should begin with http://',
      ];
    return [
      `the secure connection failed: ${foreignText(hide(message))}`,
      "check the address and the machine's clock; for a private certificate authority, set NODE_EXTRA_CA_CERTS",
    ];
  }
  const known = NETWORK_WORDS[code.startsWith('HPE_') ? 'HPE_INVALID_CONSTANT' : code];
  return (
    known ?? [
      `${foreignText(hide(message))}${code === '' ? '' : ` (${code})`}`,
      'check your network and the address',
    ]
  );
}

/** Hints for response bodies that cannot be read, by error code. */
const BODY_HINTS: Readonly<Record<string, string>> = {
  EBODYTOOBIG: 'ask for less at once, with a filter or a smaller page_size',
  EBODYCODING: 'a proxy between you and the service may do that',
  EBODYBROKEN: 'try again; if it keeps happening, a proxy damages answers',
};

/**
 * Returns the error for a request without a usable response. If the signal was aborted (for example
 * by Ctrl-C), returns the signal's reason unchanged.
 *
 * @param hide hides secrets. This is needed because the service controls the names in its
 *   certificate, and errors also reach results, databases and other servers.
 */
export function networkFailure(
  error: ExchangeError,
  asked: Asked,
  hide: (text: string) => string,
): FleetError {
  const { url, isChange, shownBy, whom = 'the service' } = asked;
  if (error.cause instanceof FleetError) return error.cause;
  const { status, headers } = error.head ?? {};
  const details = { status, trace: headers && traceOf(headers), cause: error };
  const bodyHint = BODY_HINTS[error.code];
  if (bodyHint !== undefined)
    return new FleetError('service', `the answer ${error.message}`, { ...details, hint: bodyHint });
  const [words, hint] = explain(error, hide);
  if (isChange && error.sent) {
    return new FleetError(
      'network',
      `no answer from ${url.origin} after the request was sent: ${words}; ${UNKNOWN_OUTCOME}`,
      { ...details, hint: unknownHint({ shownBy }) },
    );
  }
  const failed = `${error.sent ? 'no usable answer from' : 'cannot reach'} ${whom} at ${url.origin}`;
  return new FleetError('network', `${failed}: ${words}`, { ...details, hint });
}
