// Stores the known bicycles in memory, for `watch`, `board` and maps.

import type { Bicycle } from '../api/bicycle.js';
import {
  type FleetStore,
  isHidden,
  type KnownBicycle,
  type ListPass,
  type Meeting,
} from './fleet-store.js';

/**
 * The maximum number of bicycles in memory. This number of bicycles needs about 150 MB. At the
 * limit, the least recently updated bicycle is evicted.
 */
export const KNOWN_LIMIT = 100_000;

/** A store in memory. */
export class MemoryStore implements FleetStore {
  readonly isTable = false;
  readonly #known = new Map<string, KnownBicycle>();
  readonly #limit: number;
  /** The last pass in which each bicycle was listed. */
  readonly #listed = new Map<string, number>();
  /**
   * The bicycles that were updated or evicted since the last `takeTouched` call. Undefined until
   * the first call.
   */
  #touched: Set<string> | undefined;

  constructor(limit = KNOWN_LIMIT) {
    this.#limit = limit;
  }

  get(uuid: string): KnownBicycle | undefined {
    return this.#known.get(uuid);
  }

  keep(uuid: string, entry: KnownBicycle): boolean {
    // The order of the map is the order of the last updates. Deleting an entry before setting it
    // again moves the entry to the end.
    this.#forget(uuid);
    this.#known.set(uuid, entry);
    if (this.#known.size <= this.#limit) return true;
    const [oldest = ''] = this.#known.keys();
    this.#forget(oldest);
    return false;
  }

  #forget(uuid: string) {
    this.#known.delete(uuid);
    this.#touched?.add(uuid);
  }

  /**
   * Returns the bicycles that may have changed since the last call. The first call returns all
   * bicycles.
   */
  takeTouched(): Iterable<string> {
    const touched = this.#touched ?? new Set(this.#known.keys());
    this.#touched = new Set();
    return touched;
  }

  size(): number {
    let size = 0;
    for (const { goneMs } of this.#known.values()) if (goneMs === undefined) size++;
    return size;
  }

  /** Always returns 0. The number is needed only for a database that records gaps. */
  found(): number {
    return 0;
  }

  isFull(): boolean {
    return this.#known.size >= this.#limit;
  }

  /** Yields all known bicycles, least recently updated first. */
  *bicycles(): Generator<Bicycle> {
    for (const { bicycle, goneMs } of this.#known.values()) if (goneMs === undefined) yield bicycle;
  }

  beginList() {
    this.#listed.clear();
  }

  addListed(uuids: readonly string[], pass: number) {
    for (const uuid of uuids) this.#listed.set(uuid, pass);
  }

  meet(reading: ListPass): Meeting {
    let met = 0;
    for (const pass of this.#listed.values()) if (pass === reading.pass) met++;
    return { met, missing: this.#missing(reading).length, known: this.size() };
  }

  removeMissing(reading: ListPass): { uuid: string; bicycle: Bicycle }[] {
    return this.#missing(reading).map(([uuid, entry]) => {
      this.keep(uuid, { ...entry, goneMs: reading.serviceMs });
      return { uuid, bicycle: entry.bicycle };
    });
  }

  hidden(): number {
    let hidden = 0;
    for (const entry of this.#known.values())
      if (entry.goneMs === undefined && isHidden(entry)) hidden++;
    return hidden;
  }

  #missing({ started, seesAll }: ListPass) {
    return [...this.#known].filter(
      ([uuid, entry]) =>
        entry.goneMs === undefined &&
        !this.#listed.has(uuid) &&
        entry.touchedMs < started.monotonicMs &&
        (seesAll || !isHidden(entry)),
    );
  }
}
