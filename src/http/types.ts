// Types of requests, answers, items and pages.

import type { FleetError, Trace } from '../errors.js';

/** Query parameters in the order they are sent; a name may come more than once (`state=new&state=escalated`). */
export type Query = readonly (readonly [name: string, value: string])[];

export interface HttpRequest extends RequestWords, RequestCourse {
  /** GET when absent. Only GET and HEAD are safe to send again. */
  method?: string;
  /** Below the base URL, with its leading and trailing slash: `/bicycles/`. */
  path: string;
  /** Whether the path counts from the base URL's origin instead, prefix left out: an address that came whole. */
  isFromOrigin?: boolean;
  query?: Query;
  /** JSON text; sent as application/json. */
  body?: string;
  /** The body holds a secret: `--verbose` does not show it, and no error quotes the answer. */
  isSecret?: boolean;
  headers?: Readonly<Record<string, string>>;
  /** A POST that changes nothing, such as a login. A read-only client sends it. */
  changesNothing?: boolean;
}

/** What messages say of a request. */
interface RequestWords {
  /** What the operator asked for, for messages: `the list of bicycles`, `"rent"`. */
  subject?: string;
  /** What shows whether the change was carried out, for messages: `"fleet bicycles get UUID" shows it`. */
  shownBy?: string;
}

/** How a request is sent, tried again and ended. */
interface RequestCourse {
  /** Ends this one request, in the place of the client's own signal. */
  signal?: AbortSignal;
  /** The most that is read of its answer, unpacked; 64 MB when absent. More is a failure of kind `service` with the status of the answer. */
  limitBytes?: number;
  /** Extra tries of this one request; those of the settings when absent. */
  retries?: number;
  /**
   * Waits before this request is tried again, instead of the client: whoever sends many can slow all of them. The client still
   * decides whether it may be tried again. What it throws ends the request.
   */
  pause?(milliseconds: number, failure: FleetError): Promise<void>;
  /** Asked right before the bytes leave; with an error nothing leaves, and `send` throws that error. */
  holdBack?(): FleetError | undefined;
  /** Is shown each answer that is no success, before it is tried again or thrown. */
  onRefusal?(answer: HttpAnswer): void;
}

/** A request as it would be sent, the token hidden. */
export interface RequestPreview {
  method: string;
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
}

/** A whole answer. One with a status other than 2xx is thrown as a FleetError. */
export interface HttpAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /**
   * The body, decompressed and decoded by its declared charset. Reading it throws a FleetError of kind `service` when a success
   * does not fit its charset.
   */
  text: string;
  /** The same before it was decoded, for what is no text. */
  bytes: Buffer;
  trace: Trace;
  /** Milliseconds from the first try to the end of the body. */
  milliseconds: number;
}

/** One resource of a list: the text exactly as the service sent it, and its value. */
export interface Item<T = { [field: string]: unknown }> {
  /** JSON text on one line, numbers and unknown fields as they came. */
  readonly json: string;
  readonly value: T;
}

export interface Page<T = { [field: string]: unknown }> {
  /** The service's total (section 2.6); undefined for a bare array, which carries none. */
  count: number | undefined;
  items: Item<T>[];
  /** The query of the next page, undefined on the last one. */
  next: Query | undefined;
  trace: Trace;
  /** What the headers tell about the time of the answer. */
  dated?: AnswerDate;
}

/** When the service wrote an answer (RFC 9111, sections 4.2.3 and 5.1). */
export interface AnswerDate {
  /** The `Date` header in milliseconds since the epoch; undefined without one. */
  dateMs: number | undefined;
  /** The `Age` header in milliseconds: how long a cache kept the answer; 0 without one. */
  ageMs: number;
}

/** Where the client gets its token from; the settings make one. */
export interface Tokens {
  /** What to do when the service refuses the token: where it comes from, and how just that is renewed. */
  readonly refusalHint?: string | undefined;
  /** The token to send now. */
  get(): Promise<string>;
  /** After a 401: a newer token than the refused one, undefined when there is none. Rejects as `get` where the source fails. */
  renew(refused: string): Promise<string | undefined>;
}
