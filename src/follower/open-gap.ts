// Keeps track of the open gap. Merges overlapping gaps.

import type { Moment } from '../system/clock.js';

export interface OpenGap {
  /** When the gap began, by the system clock in milliseconds. */
  readonly startedMs: number;
  /** When the connection returned; undefined while it is down. */
  readonly endedMs: number | undefined;
  readonly reason: string;
  /** Whether the service resent all messages of the gap so far. */
  readonly wasReplayed: boolean;
  /** The number of changes that had been found in lists before the gap. */
  readonly foundBefore: number;
}

/** The event of a closed gap. */
export interface ClosedGap {
  readonly type: 'gap-close';
  readonly startedMs: number;
  readonly endedMs: number;
  readonly reason: string;
  /** The number of changes in this gap that were found in lists. */
  readonly found: number;
}

/** The facts that are known when a gap begins. */
export type GapStart = Pick<OpenGap, 'startedMs' | 'reason' | 'wasReplayed'>;

export class GapLog {
  readonly startedAt: Moment;
  /** Returns the number of changes that were found in lists. */
  readonly #found: () => number;
  /** The topics that are not connected. */
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

  /** Starts a gap, or extends the open gap. The gap ends when every topic is connected. */
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
   * Closes the gap if the connection is back. Returns the closed gap. Returns undefined when the
   * gap stays open. Also returns undefined when nothing was missed: the service resent every
   * message, and the lists showed no change.
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
