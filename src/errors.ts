// The errors that an operator can see: their kind, exit code (cli.md section 3) and output.

/**
 * The exit code of each kind of failure (cli.md section 3). These numbers must not change, because
 * other programs rely on them.
 */
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
  quit: 131,
  terminated: 143,
} as const;

export type ErrorKind = keyof typeof EXIT_CODES;

/** The trace headers that a response had (interface.md section 9). */
export interface Trace {
  from?: string | undefined;
  requestId?: string | undefined;
  version?: string | undefined;
}

export interface ErrorDetails {
  /** The HTTP status, when a response arrived. */
  status?: number | undefined;
  /** The parsed error body, or its text when it is not JSON. */
  detail?: unknown;
  trace?: Trace | undefined;
  /** What the operator can do next: a full sentence or a command, without a full stop. */
  hint?: string | undefined;
  /** Further lines below the message, one for each additional problem. */
  more?: readonly string[] | undefined;
  /**
   * Whether the failure is permanent, so that retrying cannot help. A command that follows a fleet
   * then ends instead of trying again.
   */
  isLasting?: boolean | undefined;
  cause?: unknown;
}

/** A failure. The message says what failed and why, and the hint says what to do next. */
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

  /**
   * Returns a copy with changed properties. The original error becomes the cause of the copy. A
   * caller makes a copy to add facts that the failing code did not know, such as the bicycle's
   * name.
   */
  with({
    kind = this.kind,
    message = this.message,
    ...details
  }: Partial<{ kind: ErrorKind; message: string }> & ErrorDetails): FleetError {
    const { status, detail, trace, hint, more, isLasting } = this;
    return new FleetError(kind, message, {
      status,
      detail,
      trace,
      hint,
      more,
      isLasting,
      cause: this,
      ...details,
    });
  }
}

/**
 * Creates an error for an invalid flag, argument or input file. Most of these errors are
 * thrown before any request is sent. Some, such as for an unknown column, need data from the
 * service.
 */
export function usageError(message: string, hint?: string): FleetError {
  return new FleetError('usage', message, { hint });
}

/** Creates an error for settings that are missing, unreadable or not allowed. */
export function configError(message: string, hint?: string, cause?: unknown): FleetError {
  return new FleetError('config', message, { hint, cause });
}

/**
 * Creates an error for a configuration problem that retrying cannot fix. Examples are a missing
 * setting, and a setting that names something that does not exist.
 */
export function lastingError(message: string, hint?: string, cause?: unknown): FleetError {
  return new FleetError('config', message, { hint, isLasting: true, cause });
}

/** The message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/**
 * Returns the message of a thrown value. For a file system error, returns only the reason, because
 * the caller names the path.
 */
export function reasonOf(thrown: unknown): string {
  const message = messageOf(thrown);
  const reason = SYSTEM_MESSAGE.exec(message.slice(0, LONGEST_SYSTEM_MESSAGE))?.[1] ?? message;
  if (reason.startsWith('connect ECONNREFUSED')) return 'connection refused';
  return reason === DIRECTORY_MESSAGE ? 'it is a directory' : reason;
}

/** libuv's message for EISDIR. */
const DIRECTORY_MESSAGE = 'illegal operation on a directory';

/**
 * Matches `ENOENT: no such file or directory, open '/x'` and captures the reason between the code
 * and the call.
 */
const SYSTEM_MESSAGE = /^E[A-Z]+: ([a-z][a-z -]+), [a-z_]+(?: '[^']*'(?: -> '[^']*')?)?$/;
const LONGEST_SYSTEM_MESSAGE = 1000;

/** Converts a thrown value into a FleetError. A thrown value of another type is a bug in fleet. */
export function asFleetError(thrown: unknown): FleetError {
  if (thrown instanceof FleetError) return thrown;
  return new FleetError('internal', messageOf(thrown), {
    cause: thrown,
    hint: 'this is a bug in fleet; run it again with --verbose and report what it prints',
  });
}

/** Returns the message of an error, followed by the HTTP status and the request id in brackets. */
export function describeError({ message, status, trace }: FleetError): string {
  const origin = [
    ...(status === undefined ? [] : [`HTTP ${status}`]),
    ...(trace.requestId === undefined ? [] : [`request ${trace.requestId}`]),
  ];
  return origin.length === 0 ? message : `${message} (${origin.join(', ')})`;
}

/**
 * Returns the lines of an error for people, with the hint on its own line. The caller removes
 * control characters from each line.
 */
export function errorLines(error: FleetError): string[] {
  const lines = [`error: ${describeError(error)}`, ...error.more.map((line) => `       ${line}`)];
  return error.hint === undefined ? lines : [...lines, `hint: ${error.hint}`];
}

/**
 * Returns an error as JSON for programs:
 * `{"error":{"kind","message","status","detail","trace","hint"}}` (cli.md section 3). `hide`
 * removes secrets from each string.
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
