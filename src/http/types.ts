// Types of requests, answers, items and pages.

import type { FleetError, Trace } from '../errors.js';

/**
 * Query parameters in the order in which they are sent. A name may be repeated
 * (`state=new&state=escalated`).
 */
export type Query = readonly (readonly [name: string, value: string])[];

export interface HttpRequest extends RequestWords, RequestCourse {
  /** Default: GET. Only GET and HEAD are retried safely. */
  method?: string;
  /** The path below the base URL with its leading and trailing slash: `/bicycles/`. */
  path: string;
  /**
   * Whether the path is relative to the origin of the base URL, without the prefix of the base URL.
   * This is the case for a path from a complete URL.
   */
  isFromOrigin?: boolean;
  query?: Query;
  /** JSON text; sent as application/json. */
  body?: string;
  /**
   * The body contains a secret: `--verbose` does not show it, and errors do not quote the answer.
   */
  isSecret?: boolean;
  /**
   * A successful answer contains a token that the caller needs, so it is not replaced by
   * `[hidden]`: a login.
   */
  answersToken?: boolean;
  headers?: Readonly<Record<string, string>>;
  /** A POST that changes nothing, such as a login. A read-only client may also send it. */
  changesNothing?: boolean;
}

/** Phrases about a request for messages. */
interface RequestWords {
  /** The request in the operator's terms: `the list of bicycles`, `"rent"`. */
  subject?: string;
  /**
   * A command that shows whether the change was carried out: `"fleet bicycles get UUID" shows it`.
   */
  shownBy?: string;
}

/** How a request is sent, retried and cancelled. */
interface RequestCourse {
  /** Cancels this request. Replaces the client's signal. */
  signal?: AbortSignal;
  /**
   * The maximum size of the answer after decompression. Default: 64 MB. A larger answer is a
   * failure of kind `service` with the status of the answer.
   */
  limitBytes?: number;
  /** The maximum number of retries of this request. Default: the number in the settings. */
  retries?: number;
  /**
   * Replaces the client's pause before a retry, so that a caller with many requests can slow down
   * all of them. The client still decides whether to retry. An error from this function ends the
   * request.
   */
  pause?(milliseconds: number, failure: FleetError): Promise<void>;
  /**
   * Called immediately before the bytes are sent. When it returns an error, nothing is sent and
   * `send` throws that error.
   */
  holdBack?(): FleetError | undefined;
  /** Receives each error answer before the request is retried or the error is thrown. */
  onRefusal?(answer: HttpAnswer): void;
}

/** A request as it would be sent, with the token hidden. */
export interface RequestPreview {
  method: string;
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
}

/** A complete answer. An answer with a status other than 2xx is thrown as a FleetError. */
export interface HttpAnswer {
  /**
   * Hides the secrets of the run in a text. Errors that quote the body use it before they cut the
   * text.
   */
  hide?(text: string): string;
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /**
   * The body, decompressed and decoded by its declared charset. The tokens that the service repeats
   * in it are hidden. Reading it throws a FleetError of kind `service` when a successful answer
   * does not match its charset.
   */
  text: string;
  /** The body before decoding, for binary content. */
  bytes: Buffer;
  trace: Trace;
  /** Milliseconds from the first try to the end of the body. */
  milliseconds: number;
}

/** One resource of a list: the text exactly as the service sent it, and its value. */
export interface Item<T = { [field: string]: unknown }> {
  /** JSON text on one line, with numbers and unknown fields unchanged. */
  readonly json: string;
  readonly value: T;
}

export interface Page<T = { [field: string]: unknown }> {
  /** The service's total (section 2.6); undefined for a bare array, which does not have one. */
  count: number | undefined;
  items: Item<T>[];
  /** The query of the next page; undefined on the last page. */
  next: Query | undefined;
  trace: Trace;
  /** When the service wrote the answer, by the headers of the answer. */
  dated?: AnswerDate;
}

/** When the service wrote an answer (RFC 9111, sections 4.2.3 and 5.1). */
export interface AnswerDate {
  /** The `Date` header in milliseconds since the epoch; undefined without one. */
  dateMs: number | undefined;
  /** The `Age` header in milliseconds: how long a cache kept the answer; 0 without one. */
  ageMs: number;
}

/** The source of the client's token, made from the settings. */
export interface Tokens {
  /**
   * What to do when the service refuses the token: where the token came from and how to renew it.
   */
  readonly refusalHint?: string | undefined;
  /** The token to send now. */
  get(): Promise<string>;
  /**
   * Returns a newer token after a 401, or undefined without one. Rejects like `get` when the
   * source fails.
   */
  renew(refused: string): Promise<string | undefined>;
}
