// Every failure an operator can meet: its kind, its exit code (cli.md section 3), and how it is printed.

/** The exit code of each kind of failure; other programs rely on these numbers (cli.md section 3). */
export const EXIT_CODES = {
  internal: 1,
  usage: 2,
  config: 3,
  auth: 4,
  'not-found': 5,
  rejected: 6,
  service: 7,
  network: 8,
  partial: 9,
  output: 10,
  timeout: 124,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ErrorKind = keyof typeof EXIT_CODES;

/** The three trace headers of a response (interface.md section 9), those that came. */
export interface Trace {
  from?: string | undefined;
  requestId?: string | undefined;
  version?: string | undefined;
}

export interface ErrorDetails {
  /** HTTP status, when a response came. */
  status?: number | undefined;
  /** The parsed error body, or its text when it is not JSON. */
  detail?: unknown;
  trace?: Trace | undefined;
  /** What the operator can do next: a full sentence or a command, without a full stop. */
  hint?: string | undefined;
  /** Further lines below the message: what else is wrong. */
  more?: readonly string[] | undefined;
  /** Nothing that happens later can change it, so that whoever follows something need not try again. */
  isLasting?: boolean | undefined;
  cause?: unknown;
}

/** A failure with its explanation: what failed and why (message), and what to do next (hint). */
export class FleetError extends Error {
  readonly kind: ErrorKind;
  readonly status: number | undefined;
  readonly detail: unknown;
  readonly trace: Trace;
  readonly hint: string | undefined;
  readonly more: readonly string[];
  readonly isLasting: boolean;

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'FleetError';
    this.kind = kind;
    this.status = details.status;
    this.detail = details.detail;
    this.trace = details.trace ?? {};
    this.hint = details.hint;
    this.more = details.more ?? [];
    this.isLasting = details.isLasting ?? false;
  }

  get exitCode(): number {
    return EXIT_CODES[this.kind];
  }
}

/** A bad flag, argument or input file; nothing was sent. */
export function usageError(message: string, hint?: string): FleetError {
  return new FleetError('usage', message, { hint });
}

/** Settings that are missing, unreadable or not allowed. */
export function configError(message: string, hint?: string, cause?: unknown): FleetError {
  return new FleetError('config', message, { hint, cause });
}

/** The same where no later try can help: nothing is set, or what is set is not there. */
export function lastingError(message: string, hint?: string, cause?: unknown): FleetError {
  return new FleetError('config', message, { hint, isLasting: true, cause });
}

/** The message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The same for messages that name the path: of an answer of the file system the words alone. */
export function reasonOf(thrown: unknown): string {
  const message = messageOf(thrown);
  const reason = SYSTEM_MESSAGE.exec(message.slice(0, LONGEST_SYSTEM_MESSAGE))?.[1] ?? message;
  if (reason.startsWith('connect ECONNREFUSED')) return 'connection refused';
  return reason === DIRECTORY_MESSAGE ? 'it is a directory' : reason;
}

/** libuv's message for EISDIR. */
const DIRECTORY_MESSAGE = 'illegal operation on a directory';

/** `ENOENT: no such file or directory, open '/x'`: the words stand between the code and the call. */
const SYSTEM_MESSAGE = /^E[A-Z]+: ([a-z][a-z -]+), [a-z_]+(?: '[^']*'(?: -> '[^']*')?)?$/;
const LONGEST_SYSTEM_MESSAGE = 1000;

/** Turns whatever was thrown into a FleetError; what is not one already is a bug of ours. */
export function asFleetError(thrown: unknown): FleetError {
  if (thrown instanceof FleetError) return thrown;
  return new FleetError('internal', messageOf(thrown), {
    cause: thrown,
    hint: 'this is a bug in fleet; run it again with --verbose and report what it prints',
  });
}

/** What failed and why, HTTP status and request id in brackets. */
export function describeError({ message, status, trace }: FleetError): string {
  const origin = [
    ...(status === undefined ? [] : [`HTTP ${status}`]),
    ...(trace.requestId === undefined ? [] : [`request ${trace.requestId}`]),
  ];
  return origin.length === 0 ? message : `${message} (${origin.join(', ')})`;
}

/**
 * The error as people read it, its hint on a line of its own. Not yet cleaned of control characters: the one who prints does that, line by
 * line.
 */
export function errorLines(error: FleetError): string[] {
  const lines = [`error: ${describeError(error)}`, ...error.more.map((line) => `       ${line}`)];
  return error.hint === undefined ? lines : [...lines, `hint: ${error.hint}`];
}

/**
 * The error as programs read it: `{"error":{"kind","message","status","detail","trace","hint"}}` (cli.md section 3). `hide` takes secrets
 * out of each text in it.
 */
export function errorJson(error: FleetError, hide: (text: string) => string): string {
  const value = {
    error: {
      kind: error.kind,
      message: error.message,
      status: error.status ?? null,
      detail: error.detail ?? null,
      trace: {
        from: error.trace.from ?? null,
        request_id: error.trace.requestId ?? null,
        version: error.trace.version ?? null,
      },
      hint: error.hint ?? null,
    },
  };
  const hidden = (_: string, inner: unknown) => {
    if (typeof inner === 'string') return hide(inner);
    if (typeof inner === 'number')
      return hide(String(inner)) === String(inner) ? inner : hide(String(inner));
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, each]) => [hide(name), each]));
  };
  return JSON.stringify(value, hidden);
}
