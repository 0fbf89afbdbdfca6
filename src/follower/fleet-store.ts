// The interface of a store of known bicycles. It is implemented in memory and by a database.

import type { Bicycle } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';

/** The data that is known about one bicycle. */
export interface KnownBicycle {
  readonly bicycle: Bicycle;
  /** The `concurrency_version` of the last message or list item; undefined when it had none. */
  readonly version: number | undefined;
  readonly modifiedMs: number | undefined;
  /** The sequence number of the last merged message; 0 when there was none. */
  readonly merged: number;
  /**
   * When the last new information arrived, on the monotonic clock. A list without changes does not
   * count.
   */
  readonly touchedMs: number;
  /** Whether the bicycle is known only from lists, and no change of it was shown yet. */
  readonly isSilent: boolean;
  /** Changes that were found in lists, newest first. Later messages may repeat them. */
  readonly caughtUp: readonly Bicycle[];
  /** The fields from messages without a version, since the last message with a version. */
  readonly unversioned: Bicycle | undefined;
  /** Whether the state comes from a message and no list has confirmed it yet. */
  readonly isStatePushed: boolean;
  /**
   * When the bicycle left the list, by the service's clock in milliseconds since the epoch.
   * Undefined while it is listed.
   */
  readonly goneMs: number | undefined;
}

/** Where a piece of information about a bicycle came from. */
export interface Origin {
  readonly source: 'push' | 'list';
  /** When the information arrived, by the system clock in milliseconds. */
  readonly receivedMs: number;
  /** The organization of the list or topic. */
  readonly followed: string;
  /** The JSON text of a list item; undefined for a message. */
  readonly json?: string | undefined;
  /** Whether the message or list item contains `modified`. Messages may leave it out. */
  readonly saysModified: boolean;
  /**
   * Whether the information comes from the first read of the list. New bicycles in it are not
   * changes.
   */
  readonly isFirstReading: boolean;
}

/** The result of comparing the whole list with the known bicycles. */
export interface Meeting {
  /** The number of distinct bicycles in the list. */
  readonly met: number;
  /**
   * The number of known bicycles that the list does not contain. Bicycles that the list hides from
   * this token do not count.
   */
  readonly missing: number;
  /** The number of known bicycles. */
  readonly known: number;
}

/** What a store needs in order to compare the whole list with its bicycles. */
export interface ListPass {
  readonly id: number;
  /**
   * When the list was requested. If this pass confirms the deletions that an earlier pass found,
   * `started` is the start of the earlier pass. A bicycle with a later message does not count as
   * deleted.
   */
  readonly started: Moment;
  /** When the list was requested, by the service's clock in milliseconds since the epoch. */
  readonly serviceMs: number;
  /**
   * The number of this pass through the pages. The pass that confirms a deletion has another number
   * than the first one.
   */
  readonly pass: number;
  /**
   * Whether the list shows every bicycle to this token. Observed: a token with fewer rights gets
   * messages about all bicycles, but its lists contain only available bicycles and its own. So a
   * bicycle is hidden, not gone, when a message showed another state.
   */
  readonly seesAll: boolean;
}

/** A store of known bicycles. */
export interface FleetStore extends ListedStore {
  get(uuid: string): KnownBicycle | undefined;
  /**
   * Stores a bicycle. Returns false when the store evicted another one. `isPlausible` says that the
   * bicycle's `modified` is not in the future.
   */
  keep(uuid: string, entry: KnownBicycle, origin: Origin, isPlausible: boolean): boolean;
  /** Returns the number of known bicycles, not counting those that are gone. */
  size(): number;
  /**
   * Returns how many known bicycles are missing in a list that contains only available bicycles.
   * Undefined when unknown.
   */
  hidden(): number | undefined;
  /** Returns how many changes lists have shown since the start. */
  found(): number;
  /** Whether the store is full. A full store evicts a known bicycle for each new one. */
  isFull(): boolean;
  /**
   * Whether the store is a database table. A table also stores the links of a bicycle, which only
   * lists contain. `watch` does not show links, so its store ignores them.
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
  /** Records the bicycles of a page that was read. */
  addListed(uuids: readonly string[], pass: number): void;
  /**
   * Compares the list with the known bicycles. A store in memory returns the result. A database
   * returns undefined, and its result follows later as an event.
   */
  meet(pass: ListPass): Meeting | undefined;
  /**
   * Marks known bicycles as gone if the list does not contain them and no message about them
   * arrived since the list was requested. Returns those whose last data is known.
   */
  removeMissing(pass: ListPass): readonly { uuid: string; bicycle: Bicycle }[];
}

/**
 * Whether a list that contains only available bicycles would omit this bicycle. This is the case
 * when a message set another state and no list has confirmed that state.
 */
export function isHidden({ bicycle, isStatePushed }: KnownBicycle): boolean {
  return isStatePushed && bicycle.state !== 'available';
}
