// The store of known bicycles in memory: for watch, board and maps.

import type { Bicycle } from '../api/bicycle.js';
import {
  type FleetStore,
  isHidden,
  type KnownBicycle,
  type ListPass,
  type Meeting,
} from './fleet-store.js';

/** How many bicycles are kept in mind: a big fleet in some 150 MB. The least recently updated is evicted first. */
export const KNOWN_LIMIT = 100_000;

/** The bicycles that are known, in memory. */
export class MemoryStore implements FleetStore {
  readonly isTable = false;
  readonly #known = new Map<string, KnownBicycle>();
  readonly #limit: number;
  /** The pass in which each bicycle was met last. */
  readonly #listed = new Map<string, number>();
  /** What was touched or evicted since it was asked for last; undefined before somebody asks. */
  #touched: Set<string> | undefined;

  constructor(limit = KNOWN_LIMIT) {
    this.#limit = limit;
  }

  get(uuid: string): KnownBicycle | undefined {
    return this.#known.get(uuid);
  }

  keep(uuid: string, entry: KnownBicycle): boolean {
    // Taken out first, so that the order of the map is the order of touching.
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

  /** The bicycles of which something may be new since this was called last; the first time, all. */
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

  /** No gap is recorded in memory. */
  found(): number {
    return 0;
  }

  isFull(): boolean {
    return this.#known.size >= this.#limit;
  }

  /** Every bicycle that is known, the least recently updated first. */
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
