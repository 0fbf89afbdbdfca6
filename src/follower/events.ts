// The events that a follower receives and emits, and its requests to the service.

import type { Bicycle } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import type { Gap, Lost, Opened, Resync } from '../http/stream/events.js';
import type { AnswerDate, Item, Page, Query } from '../http/types.js';
import type { Meeting } from './fleet-store.js';
import type { Change } from './known-fleet.js';
import type { ClosedGap } from './open-gap.js';

export interface FollowerOptions {
  /**
   * Maps each topic to its organization. Without topics, the follower reads the lists once and
   * stops.
   */
  readonly topics: ReadonlyMap<string, string>;
  /** The organizations whose lists the follower reads. */
  readonly organizations: readonly string[];
  /** The bicycles given with --bicycle; undefined when the follower follows whole organizations. */
  readonly bicycles: ReadonlySet<string> | undefined;
  /**
   * The maximum number of pages to read for each organization after a gap. With 0, no list is read.
   */
  readonly mostPages: number;
  /** Whether the follower must know every bicycle from the start, as for a mirror or a map. */
  readonly isWhole: boolean;
  /**
   * Returns whether this token sees every bicycle in the lists. Without this function, the follower
   * assumes that the token sees every bicycle.
   */
  seesAll?(): boolean;
}

/**
 * A request of the follower to the service. With `isCount`, only the count on the page is needed.
 */
export type ReadRequest =
  | { type: 'read-page'; organization: string; next?: Query | undefined; isCount?: true }
  | { type: 'read-bicycle'; uuid: string }
  /** A request for the whole list of an organization. */
  | { type: 'read-whole'; organization: string };

/**
 * A request, together with the id of the list read to which the request belongs. The response
 * carries the same id.
 */
export type FollowerRequest = Readonly<ReadRequest & { id: number }>;

/** The response to a request of the follower. */
export type FollowerAnswer = { readonly id: number } & (
  | { readonly type: 'page'; readonly page: Page<Bicycle> }
  /**
   * The bicycle that was found at its own URL, or undefined when the service does not have the
   * bicycle.
   */
  | { readonly type: 'bicycle'; readonly bicycle: Bicycle | undefined }
  | { readonly type: 'failed'; readonly error: FleetError }
  | {
      readonly type: 'whole-page';
      readonly items: readonly Item<Bicycle>[];
      readonly count: number | undefined;
      /** Whether this is the last page of the organization's list. */
      readonly isLast: boolean;
      readonly dated?: AnswerDate | undefined;
      /** The number of messages merged before the page was requested. */
      readonly askedAt: number;
    }
  /**
   * The result of comparing the whole list with the known bicycles. When the store is a database,
   * the result arrives as an event.
   */
  | ({ readonly type: 'whole-met' } & Meeting)
  | { readonly type: 'whole-failed'; readonly error: FleetError }
);

export type AnswerOf<Type extends FollowerAnswer['type']> = FollowerAnswer & {
  readonly type: Type;
};

/** A bicycle that was read at its own URL, because a message omitted a changed field. */
export interface Refreshed {
  readonly type: 'refreshed';
  readonly item: Item<Bicycle>;
  readonly followed: string;
  /** The number of messages that had been merged when the bicycle was requested. */
  readonly askedAt: number;
}

/**
 * An event that the follower receives. The follower has no timer, so it needs a `tick` about every
 * second.
 */
export type FollowerEvent =
  | Opened
  | Lost
  | Gap
  | Resync
  | FollowerAnswer
  | Refreshed
  | { readonly type: 'tick' };

export type FollowerOutput =
  | FollowerRequest
  /** A bicycle from the first read of the list. It is not reported as a change. */
  | { readonly type: 'learned'; readonly bicycle: Bicycle }
  | { readonly type: 'caught-up'; readonly change: Change }
  | { readonly type: 'gone'; readonly uuid: string; readonly bicycle: Bicycle }
  /** The number of bicycles that the service counts. */
  | { readonly type: 'counted'; readonly total: number | undefined }
  | { readonly type: 'notice'; readonly event: string; readonly message: string }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly sinceWallMs: number | undefined;
      readonly retryInMs: number;
    }
  /** The result of reading the lists after a gap, or of a regular comparison that found changes. */
  | { readonly type: 'read'; readonly report: Report }
  | ClosedGap
  /** All lists were read. A follower without topics ends at this point. */
  | { readonly type: 'settled' };

export type Emit = (output: FollowerOutput) => void;

/** The result of reading the lists. */
export interface Report {
  /**
   * When the gap began, by the system clock; undefined when the lists were read for the first time.
   */
  readonly sinceWallMs: number | undefined;
  readonly pages: number;
  readonly changes: number;
  /** The number of bicycles that were not known before. */
  readonly unknown: number;
  /** The number of bicycles that left the list. */
  readonly gone: number;
  readonly isComplete: boolean;
  /** Why the result is incomplete. */
  readonly reason?: string | undefined;
  /** The bicycles given with --bicycle that were not found. */
  readonly missing: readonly string[];
}

/** The comparison after a gap was incomplete, so changes may be missing. */
export interface OpenDoubt {
  /** When the gap began, by the system clock. */
  readonly sinceWallMs: number;
  readonly reason: string;
}

/** The whole list was read completely. */
export interface ProvenList {
  /** When the first page was requested, by the system clock in milliseconds. */
  readonly atMs: number;
  /**
   * The number of bicycles that the service counted; undefined when the response contained no
   * count.
   */
  readonly total: number | undefined;
}

/** The position at which an earlier process stopped. */
export interface Resumed {
  /**
   * Two times by the system clock. The first is the time until which the earlier process received
   * all messages. The second is the time when it last compared its data with the list.
   */
  readonly heardMs: number | undefined;
  readonly checkedMs: number | undefined;
  readonly gap: { readonly startedMs: number; readonly reason: string } | undefined;
  readonly isWhole: boolean;
  readonly proven: ProvenList | undefined;
  /** The newest `modified` that the earlier process knew, in milliseconds since the epoch. */
  readonly modifiedMs: number | undefined;
}
