// The interface of a store of known bicycles. One implementation works in memory, the other with a
// database.

import type { Bicycle } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';

/** The known data of one bicycle. */
export interface KnownBicycle {
  readonly bicycle: Bicycle;
  /**
   * The `concurrency_version` of the last message or list item; undefined when it has no version.
   */
  readonly version: number | undefined;
  readonly modifiedMs: number | undefined;
  /** The sequence number of the last message that was merged; 0 when no message was merged. */
  readonly merged: number;
  /**
   * When the last new information arrived, on the monotonic clock. A list that shows no changes to
   * the bicycle is not new information.
   */
  readonly touchedMs: number;
  /** Whether the bicycle is known only from lists, and none of its changes has been shown yet. */
  readonly isSilent: boolean;
  /**
   * Changes that were found in lists, newest first. Later messages may report the same changes
   * again.
   */
  readonly caughtUp: readonly Bicycle[];
  /**
   * The fields from the messages without a version that arrived after the last message with a
   * version.
   */
  readonly unversioned: Bicycle | undefined;
  /** Whether the state comes from a message and no list has confirmed it yet. */
  readonly isStatePushed: boolean;
  /**
   * When the bicycle disappeared from the list, by the service's clock in milliseconds since the
   * epoch. Undefined while the list contains the bicycle.
   */
  readonly goneMs: number | undefined;
}

/** The source of information about a bicycle. */
export interface Origin {
  readonly source: 'push' | 'list';
  /** When the information arrived, by the system clock in milliseconds. */
  readonly receivedMs: number;
  /** The organization whose list or topic contained the information. */
  readonly followed: string;
  /** The JSON text of a list item; undefined for a message. */
  readonly json?: string | undefined;
  /** Whether the message or list item contains `modified`. Messages may omit it. */
  readonly saysModified: boolean;
  /**
   * Whether the information comes from the first read of the list. In the first read, a new bicycle
   * is not a change.
   */
  readonly isFirstReading: boolean;
}

/** The result of comparing the whole list with the known bicycles. */
export interface Meeting {
  /** The number of distinct bicycles in the list. */
  readonly met: number;
  /**
   * The number of known bicycles that the list does not contain. Bicycles that the list hides from
   * this token are not counted.
   */
  readonly missing: number;
  /** The number of known bicycles. */
  readonly known: number;
}

/** What a store needs in order to compare the whole list with its bicycles. */
export interface ListPass {
  readonly id: number;
  /**
   * When the list was requested. A bicycle with a later message is not treated as deleted. If this
   * pass confirms deletions that an earlier pass found, `started` is the start of that earlier
   * pass.
   */
  readonly started: Moment;
  /** When the list was requested, by the service's clock in milliseconds since the epoch. */
  readonly serviceMs: number;
  /**
   * The number of this pass through the pages. The pass that confirms a deletion has a different
   * number from the first pass.
   */
  readonly pass: number;
  /**
   * Whether this token sees every bicycle in the list. Observed: a token with fewer rights gets
   * messages about all bicycles. Its lists, however, contain only available bicycles and the user's
   * own bicycles. If a message showed a state other than available, the bicycle is therefore only
   * hidden and not gone.
   */
  readonly seesAll: boolean;
}

/** A store of known bicycles. */
export interface FleetStore extends ListedStore {
  get(uuid: string): KnownBicycle | undefined;
  /**
   * Stores a bicycle. Returns false when the store evicted another bicycle to make room.
   * `isPlausible` means that the bicycle's `modified` is not in the future.
   */
  keep(uuid: string, entry: KnownBicycle, origin: Origin, isPlausible: boolean): boolean;
  /** Returns the number of known bicycles. Bicycles that are gone are not counted. */
  size(): number;
  /**
   * Returns how many known bicycles are missing from a list that contains only available bicycles,
   * or undefined when unknown.
   */
  hidden(): number | undefined;
  /** Returns the number of changes that were found in lists since the start. */
  found(): number;
  /** Whether the store is full. A full store evicts a known bicycle for each new one. */
  isFull(): boolean;
  /**
   * Whether the store is a database table. A table also stores the links of a bicycle, which only
   * lists contain. `watch` does not show links, so the store of `watch` ignores them.
   */
  readonly isTable: boolean;
}

/** Compares the whole list with the store, to find deleted bicycles. */
export interface ListedStore {
  /**
   * Starts a comparison with the whole list, and forgets which bicycles the previous list
   * contained.
   */
  beginList(): void;
  /** Records which bicycles a page of the list contained. */
  addListed(uuids: readonly string[], pass: number): void;
  /**
   * Compares the list with the known bicycles. An in-memory store returns the result. A database
   * store returns undefined and reports its result later as an event.
   */
  meet(pass: ListPass): Meeting | undefined;
  /**
   * Marks known bicycles as gone if the list does not contain them and no message about them
   * arrived since the list was requested. Returns those of them whose last data is known.
   */
  removeMissing(pass: ListPass): readonly { uuid: string; bicycle: Bicycle }[];
}

/**
 * Whether a list that contains only available bicycles would omit this bicycle. This is the case
 * when a message set an unavailable state that no list has confirmed.
 */
export function isHidden({ bicycle, isStatePushed }: KnownBicycle): boolean {
  return isStatePushed && bicycle.state !== 'available';
}
