// Tracks the connections of a watch: their state for the board and their gaps for the summary. No
// I/O.

import type { Gap, Lost, StreamEvent } from '../../http/stream/events.js';
import type { Moment } from '../../system/clock.js';
import type { BoardConnection } from '../../views/board-help.js';
import type { WatchSummary } from '../../views/connection.js';

interface TopicConnection extends BoardConnection {
  readonly hasStood: boolean;
  /**
   * When the current outage began, on the monotonic clock, and its cause; undefined while the topic
   * is connected.
   */
  readonly outage: ({ readonly fromMs: number } & Pick<Gap, 'cause' | 'message'>) | undefined;
}

/** How many gaps are kept for the summary. Further gaps are only counted. */
const KEPT_GAPS = 1_000;

export class ConnectionLog {
  readonly topics: Map<string, TopicConnection>;
  readonly counts = { reconnects: 0, gapCount: 0, downMs: 0, dropped: 0 };
  readonly #gaps: Gap[] = [];

  constructor(topics: readonly string[], { monotonicMs: sinceMs }: Moment) {
    const outage = {
      fromMs: sinceMs,
      cause: 'timeout',
      message: 'no connection was made',
    } as const;
    this.topics = new Map(
      topics.map((topic) => [topic, { state: 'connecting', sinceMs, hasStood: false, outage }]),
    );
  }

  take(event: StreamEvent) {
    if (event.type === 'gap') this.add(event);
    else if (event.type === 'lost') this.#lose(event);
    if (event.type !== 'open') return;
    const { topic, monotonicMs: sinceMs, isReturn } = event;
    this.topics.set(topic, { state: 'open', sinceMs, hasStood: true, outage: undefined });
    if (isReturn) this.counts.reconnects++;
  }

  #lose({ topic, cause, downMs, retryInMs, monotonicMs, error: { message } }: Lost) {
    const { hasStood = false, outage: before } = this.topics.get(topic) ?? {};
    const fromMs = before?.fromMs ?? monotonicMs - downMs;
    // The first cause of an outage is kept. For a topic that was never connected, the latest error
    // is kept.
    const outage = hasStood && before !== undefined ? before : { fromMs, cause, message };
    const retryAtMs = monotonicMs + retryInMs;
    this.topics.set(topic, {
      state: 'lost',
      sinceMs: fromMs,
      message,
      retryAtMs,
      hasStood,
      outage,
    });
  }

  add(gap: Gap) {
    if (this.#gaps.length < KEPT_GAPS) this.#gaps.push(gap);
    this.counts.gapCount++;
    this.counts.downMs += gap.durationMs;
    this.counts.dropped += gap.droppedEvents;
  }

  /** The error message when no topic was ever connected; otherwise undefined. */
  get never(): string | undefined {
    const [first, ...others] = this.topics.values();
    if (first === undefined || [first, ...others].some(({ hasStood }) => hasStood))
      return undefined;
    return `never connected: ${first.outage?.message}`;
  }

  /**
   * Returns the part of the summary about connections. A gap that lasts until the end is included.
   */
  finish({ wallMs, monotonicMs }: Moment): Pick<WatchSummary, 'gaps' | 'neverConnected'> {
    const neverConnected: { topic: string; message: string }[] = [];
    for (const [topic, { outage, hasStood }] of this.topics) {
      if (outage === undefined) continue;
      const { fromMs, cause, message } = outage;
      const durationMs = Math.max(0, monotonicMs - fromMs);
      const at = { atMs: wallMs, monotonicMs, fromWallMs: wallMs - durationMs };
      // A topic that was never connected is reported separately and not as a gap.
      if (!hasStood) neverConnected.push({ topic, message });
      else
        this.add({
          type: 'gap',
          topic,
          ...at,
          cause,
          message,
          durationMs,
          replayed: false,
          droppedEvents: 0,
        });
    }
    return { gaps: this.#gaps, neverConnected };
  }
}
