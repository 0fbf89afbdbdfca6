// The store of known bicycles, in memory or in a database: its interface.

import type { Bicycle } from '../api/bicycle.js';
import type { Moment } from '../system/clock.js';

/** What is kept of one bicycle. */
export interface KnownBicycle {
  readonly bicycle: Bicycle;
  /** The `concurrency_version` of the last statement; undefined when it had none. */
  readonly version: number | undefined;
  readonly modifiedMs: number | undefined;
  /** The number of the message about it that was merged last; 0 when only lists named it. */
  readonly merged: number;
  /** Since when what is known of it is known, on the monotonic clock: a list that only says it again does not count. */
  readonly touchedMs: number;
  /** A list alone has said it, and nothing of it was shown. */
  readonly isSilent: boolean;
  /** What was shown of it from a list, the newest first: a message that comes later says it again. */
  readonly caughtUp: readonly Bicycle[];
  /** What messages without any version said since the last one with it. */
  readonly unversioned: Bicycle | undefined;
  /** Its state was pushed, and no list has shown it in that state. */
  readonly isStatePushed: boolean;
  /** When it had left the list, by the service's time in milliseconds since the epoch; undefined while it has not. */
  readonly goneMs: number | undefined;
}

/** Where a statement about a bicycle comes from. */
export interface Origin {
  readonly source: 'push' | 'list';
  /** When it came, by the machine's date in milliseconds. */
  readonly receivedMs: number;
  /** The organization whose list or topic it is. */
  readonly followed: string;
  /** The object as it came, where it came alone. */
  readonly json?: string | undefined;
  /** Whether it says when it was modified: a message may leave that out. */
  readonly saysModified: boolean;
  /** A bicycle that was not known was there already: it is no change. */
  readonly isFirstReading: boolean;
}

/** A whole reading held against what is known. */
export interface Meeting {
  /** Distinct bicycles that the pass met. */
  readonly met: number;
  /** Bicycles that are known, that the reading did not show, and that the list does not hide from this token. */
  readonly missing: number;
  /** Bicycles that are known. */
  readonly known: number;
}

/** A reading of the whole list, as the store has to know it. */
export interface ListPass {
  readonly id: number;
  /** When the reading began, or the one that it confirms: what a message touched since is not missing. */
  readonly started: Moment;
  /** The same moment by the service's time, in milliseconds since the epoch. */
  readonly serviceMs: number;
  /** Each time that the pages are read has a number of its own, the reading that confirms another one too. */
  readonly pass: number;
  /**
   * Whether the list shows every bicycle to this token. Observed: one with fewer rights is listed available bicycles and its own, and gets
   * messages of the others; those that were pushed in another state are hidden, not gone.
   */
  readonly seesAll: boolean;
}

/** Where the bicycles that are known are kept: in memory, or in a database. */
export interface FleetStore extends ListedStore {
  get(uuid: string): KnownBicycle | undefined;
  /** Returns false when another bicycle had to be evicted for it. `isPlausible`: its `modified` can be the time of a change. */
  keep(uuid: string, entry: KnownBicycle, origin: Origin, isPlausible: boolean): boolean;
  /** How many are known that are not gone. */
  size(): number;
  /** How many of these a list of available bicycles alone would hide; undefined where that is not known. */
  hidden(): number | undefined;
  /** Changes that lists showed, counted for ever. */
  found(): number;
  /** Whether another bicycle would make one forgotten. */
  isFull(): boolean;
  /** Of the same version the list says more than a message, which leaves out links: a table takes it, a watch does not show it. */
  readonly isTable: boolean;
}

/** What whole readings have met, and what is gone by that. */
export interface ListedStore {
  /** Forgets which bicycles whole readings have met. */
  beginList(): void;
  /** A pass of a whole reading has met these. */
  addListed(uuids: readonly string[], pass: number): void;
  /** Holds a whole reading against what is known; undefined where the answer comes later, as an event. */
  meet(pass: ListPass): Meeting | undefined;
  /** What the reading has not met, and no message touched since it began, is gone; returns those that can be named. */
  removeMissing(pass: ListPass): readonly { uuid: string; bicycle: Bicycle }[];
}

/** Whether a list of available bicycles alone would not show it: it was pushed in another state, and no list has shown it so. */
export function isHidden({ bicycle, isStatePushed }: KnownBicycle): boolean {
  return isStatePushed && bicycle.state !== 'available';
}
