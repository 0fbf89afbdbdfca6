// The open gap: when it began, and why. Overlapping gaps are one.

import type { Moment } from '../system/clock.js';

export interface OpenGap {
  /** By the machine's date, in milliseconds. */
  readonly startedMs: number;
  /** When the channel stood again; undefined while it does not. */
  readonly endedMs: number | undefined;
  readonly reason: string;
  /** All of it was sent again so far. */
  readonly isBridged: boolean;
  /** How many changes lists had shown when it began. */
  readonly foundBefore: number;
}

/** The open gap is over. */
export interface ClosedGap {
  readonly type: 'gap-close';
  readonly startedMs: number;
  readonly endedMs: number;
  readonly reason: string;
  /** Changes that were found in the list. */
  readonly found: number;
}

/** What a gap begins with. */
export type GapStart = Pick<OpenGap, 'startedMs' | 'reason' | 'isBridged'>;

export class GapLog {
  readonly startedAt: Moment;
  /** How many changes lists have shown. */
  readonly #found: () => number;
  /** The topics without a connection. */
  readonly #down: Set<string>;
  /** Undefined while there is none. */
  open: OpenGap | undefined;

  constructor(topics: Iterable<string>, startedAt: Moment, found: () => number) {
    this.startedAt = startedAt;
    this.#found = found;
    this.#down = new Set(topics);
  }

  get isConnected(): boolean {
    return this.#down.size === 0;
  }

  connect(topic: string, now: Moment) {
    this.#down.delete(topic);
    const gap = this.open;
    if (gap !== undefined && gap.endedMs === undefined && this.isConnected)
      this.open = { ...gap, endedMs: now.wallMs };
  }

  disconnect(topic: string) {
    this.#down.add(topic);
  }

  /** Begins a gap, or widens the open one; it lasts as long as a topic is without a connection. */
  begin({ startedMs, reason, isBridged }: GapStart, now: Moment) {
    const endedMs = this.isConnected ? now.wallMs : undefined;
    const gap = this.open ?? { startedMs, reason, isBridged, foundBefore: this.#found() };
    const earliestMs = Math.min(gap.startedMs, startedMs);
    this.open = { ...gap, startedMs: earliestMs, endedMs, isBridged: gap.isBridged && isBridged };
  }

  /** Ends the gap whose channel stands again. A cut after which everything was sent again, and nothing was found, is none: undefined. */
  close(): ClosedGap | undefined {
    const gap = this.open;
    if (gap?.endedMs === undefined) return undefined;
    this.open = undefined;
    const found = this.#found() - gap.foundBefore;
    if (gap.isBridged && found === 0) return undefined;
    const { startedMs, reason } = gap;
    return {
      type: 'gap-close',
      startedMs,
      endedMs: Math.max(gap.endedMs, startedMs),
      reason,
      found,
    };
  }
}
