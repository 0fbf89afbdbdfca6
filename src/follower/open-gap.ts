// The open gap: its start and its reason. Overlapping gaps are merged.

import type { Moment } from '../system/clock.js';

export interface OpenGap {
  /** When the gap began, by the machine's clock in milliseconds. */
  readonly startedMs: number;
  /** When the connection was back; undefined while it is down. */
  readonly endedMs: number | undefined;
  readonly reason: string;
  /** Whether the service resent all messages of the gap so far. */
  readonly wasReplayed: boolean;
  /** How many changes lists had shown when the gap began. */
  readonly foundBefore: number;
}

/** The event of a closed gap. */
export interface ClosedGap {
  readonly type: 'gap-close';
  readonly startedMs: number;
  readonly endedMs: number;
  readonly reason: string;
  /** How many changes the list showed for this gap. */
  readonly found: number;
}

/** The data of a new gap. */
export type GapStart = Pick<OpenGap, 'startedMs' | 'reason' | 'wasReplayed'>;

export class GapLog {
  readonly startedAt: Moment;
  /** Returns how many changes lists have shown. */
  readonly #found: () => number;
  /** The topics without a connection. */
  readonly #down: Set<string>;
  /** The open gap, if any. */
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

  /** Begins a gap, or extends the open one. The gap lasts until every topic is connected. */
  begin({ startedMs, reason, wasReplayed }: GapStart, now: Moment) {
    const endedMs = this.isConnected ? now.wallMs : undefined;
    const gap = this.open ?? { startedMs, reason, wasReplayed, foundBefore: this.#found() };
    const earliestMs = Math.min(gap.startedMs, startedMs);
    this.open = {
      ...gap,
      startedMs: earliestMs,
      endedMs,
      wasReplayed: gap.wasReplayed && wasReplayed,
    };
  }

  /**
   * Closes the gap if the connection is back. Returns undefined when the connection is still down,
   * and when the service resent every message and the list showed no change.
   */
  close(): ClosedGap | undefined {
    const gap = this.open;
    if (gap?.endedMs === undefined) return undefined;
    this.open = undefined;
    const found = this.#found() - gap.foundBefore;
    if (gap.wasReplayed && found === 0) return undefined;
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
