// Tracks the connections of a watch. The board shows the states of the connections, and the summary
// shows their gaps. Does no I/O.

import type { Gap, Lost, StreamEvent } from '../../http/stream/events.js';
import type { Moment } from '../../system/clock.js';
import type { BoardConnection } from '../../views/board-help.js';
import type { WatchSummary } from '../../views/connection.js';

interface TopicConnection extends BoardConnection {
  readonly hasStood: boolean;
  /**
   * The current outage: its cause, and when it began on the monotonic clock. Undefined while the
   * topic is connected.
   */
  readonly outage: ({ readonly fromMs: number } & Pick<Gap, 'cause' | 'message'>) | undefined;
}

/** The maximum number of gaps in the summary. Further gaps are only counted. */
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
    // An ongoing outage keeps the cause with which it began. If a topic was never connected, its
    // latest error is shown instead.
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

  /** Returns an error message when no topic was ever connected, and otherwise undefined. */
  get never(): string | undefined {
    const [first, ...others] = this.topics.values();
    if (first === undefined || [first, ...others].some(({ hasStood }) => hasStood))
      return undefined;
    return `never connected: ${first.outage?.message}`;
  }

  /** Returns the connections section of the summary. An ongoing outage is counted as a gap. */
  finish({ wallMs, monotonicMs }: Moment): Pick<WatchSummary, 'gaps' | 'neverConnected'> {
    const neverConnected: { topic: string; message: string }[] = [];
    for (const [topic, { outage, hasStood }] of this.topics) {
      if (outage === undefined) continue;
      const { fromMs, cause, message } = outage;
      const durationMs = Math.max(0, monotonicMs - fromMs);
      const at = { atMs: wallMs, monotonicMs, fromWallMs: wallMs - durationMs };
      // A topic that was never connected has no gap. The summary lists such topics separately.
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
