// The inputs and outputs of a follower, and its requests to the service.

import type { Bicycle } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import type { Gap, Lost, Opened, Resync } from '../http/stream/events.js';
import type { AnswerDate, Item, Page, Query } from '../http/types.js';
import type { Meeting } from './fleet-store.js';
import type { Change } from './known-fleet.js';
import type { ClosedGap } from './open-gap.js';

export interface FollowerOptions {
  /** The organization of each topic. Without topics the follower only reads the lists, once. */
  readonly topics: ReadonlyMap<string, string>;
  /** The organizations with lists that the follower reads to catch up. */
  readonly organizations: readonly string[];
  /** The bicycles of --bicycle; undefined when the follower follows whole organizations. */
  readonly bicycles: ReadonlySet<string> | undefined;
  /** The maximum number of pages of one organization in a catch-up; 0 turns off reading lists. */
  readonly mostPages: number;
  /** Whether every bicycle must be known from the start, as for a mirror or a map. */
  readonly isWhole: boolean;
  /**
   * Returns whether the lists show every bicycle to this token. Without this function, the follower
   * assumes that they do.
   */
  seesAll?(): boolean;
}

/**
 * A request for a page of a list. With `isCount`, the follower uses only the count of the page, not
 * its bicycles.
 */
export type ReadRequest =
  | { type: 'read-page'; organization: string; next?: Query | undefined; isCount?: true }
  | { type: 'read-bicycle'; uuid: string }
  /** Reads the whole list of an organization. */
  | { type: 'read-whole'; organization: string };

/** A request with the number of the reading that sent it. */
export type FollowerRequest = Readonly<ReadRequest & { id: number }>;

/** The answer to a request. */
export type FollowerAnswer = { readonly id: number } & (
  | { readonly type: 'page'; readonly page: Page<Bicycle> }
  /** The bicycle at its own address, or undefined when the service does not have it. */
  | { readonly type: 'bicycle'; readonly bicycle: Bicycle | undefined }
  | { readonly type: 'failed'; readonly error: FleetError }
  | {
      readonly type: 'whole-page';
      readonly items: readonly Item<Bicycle>[];
      readonly count: number | undefined;
      /** Whether the page is the last one of the organization's list. */
      readonly isLast: boolean;
      readonly dated?: AnswerDate | undefined;
      /** The number of merged messages before the page was requested. */
      readonly askedAt: number;
    }
  /**
   * The result of comparing a whole reading with the known bicycles, when the store is a database.
   */
  | ({ readonly type: 'whole-met' } & Meeting)
  | { readonly type: 'whole-failed'; readonly error: FleetError }
);

export type AnswerOf<Type extends FollowerAnswer['type']> = FollowerAnswer & {
  readonly type: Type;
};

/** A bicycle that was read at its own URL, because a message lacked a changed field. */
export interface Refreshed {
  readonly type: 'refreshed';
  readonly item: Item<Bicycle>;
  readonly followed: string;
  /** The number of merged messages before the request was sent. */
  readonly askedAt: number;
}

/**
 * An input of the follower. A `tick` must arrive about once a second, because the follower has no
 * timer.
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
  /** A bicycle of the first reading, which is not shown as a change. */
  | { readonly type: 'learned'; readonly bicycle: Bicycle }
  | { readonly type: 'caught-up'; readonly change: Change }
  | { readonly type: 'gone'; readonly uuid: string; readonly bicycle: Bicycle }
  /** The service's count of bicycles. */
  | { readonly type: 'counted'; readonly total: number | undefined }
  | { readonly type: 'notice'; readonly event: string; readonly message: string }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly sinceWallMs: number | undefined;
      readonly retryInMs: number;
    }
  /**
   * The list was read after a gap, or a comparison found changes. No further reading of this gap
   * follows.
   */
  | { readonly type: 'read'; readonly report: Report }
  | ClosedGap
  /** The lists were read. A follower without topics ends then. */
  | { readonly type: 'settled' };

export type Emit = (output: FollowerOutput) => void;

/** The result of reading the list. */
export interface Report {
  /** When the stream went silent, by the machine's clock. It is undefined for the first reading. */
  readonly sinceWallMs: number | undefined;
  readonly pages: number;
  readonly changes: number;
  /** Bicycles that were not known before. */
  readonly unknown: number;
  /** Bicycles that left the list. */
  readonly gone: number;
  readonly isComplete: boolean;
  /** The reason when it is not complete. */
  readonly reason?: string | undefined;
  /** Named bicycles that were not found. */
  readonly missing: readonly string[];
}

/** The comparison after a gap was incomplete. */
export interface OpenDoubt {
  /** When the stream went silent, by the machine's clock. */
  readonly sinceWallMs: number;
  readonly reason: string;
}

/** A complete reading of the whole list. */
export interface ProvenList {
  /** When the reading began, by the machine's clock in milliseconds. */
  readonly atMs: number;
  /** The service's count of bicycles; undefined when it sends no count. */
  readonly total: number | undefined;
}

/** The position in the stream at which an earlier process stopped. */
export interface Resumed {
  /**
   * The time until which the earlier process received all messages, and the time of its last
   * comparison with the list. Both are by the machine's clock.
   */
  readonly heardMs: number | undefined;
  readonly checkedMs: number | undefined;
  readonly gap: { readonly startedMs: number; readonly reason: string } | undefined;
  readonly isWhole: boolean;
  readonly proven: ProvenList | undefined;
  /** The newest `modified` that the earlier process knew, in milliseconds. */
  readonly modifiedMs: number | undefined;
}
