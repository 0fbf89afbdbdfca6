// The inputs and outputs of a follower, and its requests to the service.

import type { Bicycle } from '../api/bicycle.js';
import type { FleetError } from '../errors.js';
import type { Gap, Lost, Opened, Resync } from '../http/stream/events.js';
import type { Item, Page, Query } from '../http/types.js';
import type { Meeting } from './fleet-store.js';
import type { Change } from './known-fleet.js';
import type { ClosedGap } from './open-gap.js';

export interface FollowerOptions {
  /** The organization of each topic; none: lists alone are read, once. */
  readonly topics: ReadonlyMap<string, string>;
  /** Organizations whose lists can tell what was missed. */
  readonly organizations: readonly string[];
  /** The bicycles that are followed by name; undefined when all of an organization are. */
  readonly bicycles: ReadonlySet<string> | undefined;
  /** Most pages of one organization in one catch-up; 0: no list is read. */
  readonly mostPages: number;
  /** Whether every bicycle has to be known, from the start. */
  readonly isWhole: boolean;
  /** Whether the lists show every bicycle to this token; true when absent. */
  seesAll?(): boolean;
}

/** What a reading asks of the service; `isCount`: the page's count is wanted, and none of its bicycles. */
export type ReadRequest =
  | { type: 'read-page'; organization: string; next?: Query | undefined; isCount?: true }
  | { type: 'read-bicycle'; uuid: string }
  /** The list of an organization, to its end. */
  | { type: 'read-whole'; organization: string };

/** `id` is the number of the reading that asks. */
export type FollowerRequest = Readonly<ReadRequest & { id: number }>;

/** What came of it. */
export type FollowerAnswer = { readonly id: number } & (
  | { readonly type: 'page'; readonly page: Page<Bicycle> }
  /** The answer of a bicycle's own address; undefined: there is none. */
  | { readonly type: 'bicycle'; readonly bicycle: Bicycle | undefined }
  | { readonly type: 'failed'; readonly error: FleetError }
  | {
      readonly type: 'whole-page';
      readonly items: readonly Item<Bicycle>[];
      readonly count: number | undefined;
      /** The list of this organization is read to its end. */
      readonly isLast: boolean;
      /** What `merged` was when it can have been asked for at the earliest. */
      readonly askedAt: number;
    }
  /** What the store says of the reading, where it takes its time. */
  | ({ readonly type: 'whole-met' } & Meeting)
  | { readonly type: 'whole-failed'; readonly error: FleetError }
);

export type AnswerOf<Type extends FollowerAnswer['type']> = FollowerAnswer & {
  readonly type: Type;
};

/** A `tick` has to come every second or so: nothing else says that time has passed. */
export type FollowerEvent =
  | Opened
  | Lost
  | Gap
  | Resync
  | FollowerAnswer
  | { readonly type: 'tick' };

export type FollowerOutput =
  | FollowerRequest
  /** A bicycle at the start, not shown by itself. */
  | { readonly type: 'learned'; readonly bicycle: Bicycle }
  | { readonly type: 'caught-up'; readonly change: Change }
  | { readonly type: 'gone'; readonly uuid: string; readonly bicycle: Bicycle }
  /** How many bicycles the service says there are. */
  | { readonly type: 'counted'; readonly total: number | undefined }
  | { readonly type: 'notice'; readonly event: string; readonly message: string }
  | {
      readonly type: 'unread';
      readonly error: FleetError;
      readonly sinceWallMs: number | undefined;
      readonly retryInMs: number;
    }
  /** The list was read after a gap, or something was found in it; everything that can be known of that gap is known. */
  | { readonly type: 'read'; readonly report: Report }
  | ClosedGap
  /** Lists alone are read, and nothing is left to read. */
  | { readonly type: 'settled' };

export type Emit = (output: FollowerOutput) => void;

/** What a reading of the list brought. */
export interface Report {
  /** When the stream went silent, by the machine's date; undefined for the start. */
  readonly sinceWallMs: number | undefined;
  readonly pages: number;
  readonly changes: number;
  /** Bicycles of which nothing had been known. */
  readonly unknown: number;
  /** Bicycles that left the list. */
  readonly gone: number;
  readonly isComplete: boolean;
  /** Why it is not complete. */
  readonly reason?: string | undefined;
  /** Followed by name, and not found. */
  readonly missing: readonly string[];
}

/** A reading of the whole list that was proven. */
export interface ProvenList {
  /** When it began, by the machine's date in milliseconds. */
  readonly atMs: number;
  /** How many bicycles the service counted; undefined where it does not say. */
  readonly total: number | undefined;
}

/** Where a program before this one stood. */
export interface Resumed {
  /** Until when everything was received, and compared, by the machine's date; undefined for none. */
  readonly heardMs: number | undefined;
  readonly checkedMs: number | undefined;
  readonly gap: { readonly startedMs: number; readonly reason: string } | undefined;
  readonly isWhole: boolean;
  readonly proven: ProvenList | undefined;
  /** The newest `modified` that was known then, in milliseconds. */
  readonly modifiedMs: number | undefined;
}
