// The types of requests, responses, items and pages.

import type { FleetError, Trace } from '../errors.js';

/**
 * Query parameters in the order in which they are sent. A name may be repeated
 * (`state=new&state=escalated`).
 */
export type Query = readonly (readonly [name: string, value: string])[];

export interface HttpRequest extends RequestWords, RequestCourse {
  /** The method; GET by default. Only GET and HEAD requests can always be retried safely. */
  method?: string;
  /** The path below the base URL, including its leading and trailing slash: `/bicycles/`. */
  path: string;
  /**
   * Whether `path` starts at the server root, so that the base URL's path is not prepended. True
   * when the path was taken from a complete URL.
   */
  isFromOrigin?: boolean;
  query?: Query;
  /** The request body as JSON, sent as application/json. */
  body?: string;
  /**
   * Whether the body contains a secret. If so, `--verbose` does not show it, and errors do not
   * quote the response.
   */
  isSecret?: boolean;
  /**
   * Whether a success response contains a token that the caller needs, such as the response to a
   * login. If so, the token is not replaced by `[hidden]`.
   */
  answersToken?: boolean;
  headers?: Readonly<Record<string, string>>;
  /**
   * Whether this is a POST that changes nothing, such as a login. A read-only profile may also send
   * such a request.
   */
  changesNothing?: boolean;
}

/** Phrases that describe a request in messages. */
interface RequestWords {
  /** The request in the user's words: `the list of bicycles`, `"rent"`. */
  subject?: string;
  /**
   * A phrase that names a command with which the user can check whether the change was carried out.
   * Example: `"fleet bicycles get UUID" shows it`.
   */
  shownBy?: string;
}

/** How a request is sent, retried and cancelled. */
interface RequestCourse {
  /** A signal that cancels this request. It is used instead of the client's signal. */
  signal?: AbortSignal;
  /**
   * The maximum size of the response after decompression; 64 MB by default. A larger response
   * causes an error of kind `service` with the response's status.
   */
  limitBytes?: number;
  /** The maximum number of retries of this request. The settings contain the default. */
  retries?: number;
  /**
   * Waits before a retry, in place of the client's own pause. With this function, a caller can also
   * slow down its other requests. The client still decides whether to retry. If the function throws
   * an error, the request ends.
   */
  pause?(milliseconds: number, failure: FleetError): Promise<void>;
  /**
   * Called immediately before the bytes are sent. If it returns an error, nothing is sent, and
   * `send` throws the error.
   */
  holdBack?(): FleetError | undefined;
  /** Called with each error response, before the request is retried or fails. */
  onRefusal?(answer: HttpAnswer): void;
}

/** A request as it would be sent, with the token hidden. */
export interface RequestPreview {
  method: string;
  url: string;
  /** Header values by name, in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
}

/** A complete response. For a status other than 2xx, `send` throws a FleetError instead. */
export interface HttpAnswer {
  /**
   * Hides the run's secrets in a string. When an error quotes a part of the body, this function is
   * called before the quotation is shortened. A secret that was cut would not be recognised.
   */
  hide?(text: string): string;
  status: number;
  /** Header values by name, in lower case. */
  headers: Readonly<Record<string, string>>;
  /**
   * The decompressed and decoded body, with the token hidden where the service repeats it. Reading
   * this property throws a FleetError of kind `service` when the body of a success response is
   * invalid in its charset.
   */
  text: string;
  /** The body before decoding, for binary content. */
  bytes: Buffer;
  trace: Trace;
  /** Milliseconds from the first try to the end of the body. */
  milliseconds: number;
}

/** One resource of a list: its original text and its parsed value. */
export interface Item<T = { [field: string]: unknown }> {
  /** JSON text on one line. Numbers and unknown fields are unchanged. */
  readonly json: string;
  readonly value: T;
}

export interface Page<T = { [field: string]: unknown }> {
  /** The total of the list (section 2.6), or undefined for a bare array. */
  count: number | undefined;
  items: Item<T>[];
  /** The query of the next page, or undefined on the last page. */
  next: Query | undefined;
  trace: Trace;
  /** The time when the service wrote the response, according to the headers of the response. */
  dated?: AnswerDate;
}

/** When the service wrote a response (RFC 9111, sections 4.2.3 and 5.1). */
export interface AnswerDate {
  /** The `Date` header in milliseconds since the epoch, or undefined when it is missing. */
  dateMs: number | undefined;
  /** The `Age` header in milliseconds: how long a cache kept the response. 0 when it is missing. */
  ageMs: number;
}

/** Provides the client's token. The settings determine where it comes from. */
export interface Tokens {
  /** The hint when the service refuses the token: where the token came from and how to renew it. */
  readonly refusalHint?: string | undefined;
  /** Returns the token for the next request. */
  get(): Promise<string>;
  /**
   * Returns a newer token after a 401, or undefined when there is no newer token. Rejects when the
   * token source fails.
   */
  renew(refused: string): Promise<string | undefined>;
}
