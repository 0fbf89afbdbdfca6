// The interface of the store of known bicycles, which is in memory or in a database.

import type { Bicycle } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';

/** The stored data of one bicycle. */
export interface KnownBicycle {
  readonly bicycle: Bicycle;
  /** The `concurrency_version` of the last message or list item; undefined when it had none. */
  readonly version: number | undefined;
  readonly modifiedMs: number | undefined;
  /** The sequence number of the last merged message; 0 when only lists contained the bicycle. */
  readonly merged: number;
  /**
   * The time of the last new information, on the monotonic clock. A list without news does not
   * count.
   */
  readonly touchedMs: number;
  /** Whether only a list contained this bicycle, so that no change of it was shown yet. */
  readonly isSilent: boolean;
  /** Changes that lists showed, newest first. A later message can repeat them. */
  readonly caughtUp: readonly Bicycle[];
  /**
   * The fields of the messages without a version that arrived since the last message with a
   * version.
   */
  readonly unversioned: Bicycle | undefined;
  /** Whether a message set the state of the bicycle, and no list has confirmed that state. */
  readonly isStatePushed: boolean;
  /**
   * When the bicycle left the list, by the service's clock in milliseconds since the epoch. It is
   * undefined while the bicycle is listed.
   */
  readonly goneMs: number | undefined;
}

/** Where information about a bicycle came from. */
export interface Origin {
  readonly source: 'push' | 'list';
  /** When it arrived, by the machine's clock in milliseconds. */
  readonly receivedMs: number;
  /** The organization of the list or topic. */
  readonly followed: string;
  /** The JSON text of the object, if it arrived as a list item. */
  readonly json?: string | undefined;
  /** Whether the message or list item has a `modified`. Messages may leave it out. */
  readonly saysModified: boolean;
  /** Whether this is the first reading, so that an unknown bicycle is not a change. */
  readonly isFirstReading: boolean;
}

/** The comparison of a whole reading with the known bicycles. */
export interface Meeting {
  /** The number of distinct bicycles in the reading. */
  readonly met: number;
  /**
   * The number of known bicycles that the reading lacks. Bicycles that the list hides from this
   * token are not counted.
   */
  readonly missing: number;
  /** The number of known bicycles. */
  readonly known: number;
}

/** The data of a whole reading that the store needs for the comparison. */
export interface ListPass {
  readonly id: number;
  /**
   * When the reading, or the reading that it confirms, began. A bicycle with a later message is not
   * missing.
   */
  readonly started: Moment;
  /** The time of the reading by the service's clock, in milliseconds since the epoch. */
  readonly serviceMs: number;
  /** The number of this pass through the pages. A confirming reading has a separate number. */
  readonly pass: number;
  /**
   * Whether the list shows every bicycle to this token. Observed: a token with fewer rights sees in
   * lists only available bicycles and its own, but receives messages about all. A bicycle that a
   * message showed in another state is hidden, not gone.
   */
  readonly seesAll: boolean;
}

/** The store of known bicycles. */
export interface FleetStore extends ListedStore {
  get(uuid: string): KnownBicycle | undefined;
  /**
   * Stores a bicycle. Returns false when another bicycle was evicted. `isPlausible` means that the
   * bicycle's `modified` can be right.
   */
  keep(uuid: string, entry: KnownBicycle, origin: Origin, isPlausible: boolean): boolean;
  /** Returns the number of known bicycles that are not gone. */
  size(): number;
  /**
   * Returns how many of the known bicycles a list of only the available bicycles would hide;
   * undefined when that is not known.
   */
  hidden(): number | undefined;
  /** Returns how many changes lists have shown since the start. */
  found(): number;
  /** Whether the store is full, so that the next unknown bicycle evicts a known one. */
  isFull(): boolean;
  /**
   * Whether the store is a database table. A list item has links that a message of the same version
   * lacks: a table stores the links, a watch does not show them.
   */
  readonly isTable: boolean;
}

/**
 * The bicycles that readings of the whole list contained, and the deletions that these readings
 * prove.
 */
export interface ListedStore {
  /**
   * Begins a reading of the whole list. The store forgets which bicycles the last reading
   * contained.
   */
  beginList(): void;
  /** Records the bicycles of a page. */
  addListed(uuids: readonly string[], pass: number): void;
  /**
   * Compares a whole reading with the known bicycles. Returns undefined when the store sends the
   * answer later as an event.
   */
  meet(pass: ListPass): Meeting | undefined;
  /**
   * Marks the known bicycles as gone that the reading lacks and that had no message since it began.
   * Returns those whose last data is known.
   */
  removeMissing(pass: ListPass): readonly { uuid: string; bicycle: Bicycle }[];
}

/**
 * Whether a list of only the available bicycles would hide this bicycle, because a message set
 * another state and no list has confirmed that state.
 */
export function isHidden({ bicycle, isStatePushed }: KnownBicycle): boolean {
  return isStatePushed && bicycle.state !== 'available';
}
