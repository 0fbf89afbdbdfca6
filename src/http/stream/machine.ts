// Decides the next step of a topic's connection. No I/O.
//
// The loop in ../stream.ts makes one connection after another, reports their results to the
// machine, and asks for the time of the next one.

import { FleetError } from '../../errors.js';
import type { Clock } from '../../system/clock.js';
import type { Headers } from '../exchange.js';
import { traceOf } from '../headers.js';
import { answeredAtMs, pauseBeforeReturn } from '../retry.js';
import type { ConnectionEnd, Received } from './connection.js';
import { type Cause, eventGap, type Happened, type StreamEvent } from './events.js';

/** The next connection: when it begins, and the last event id that it sends, which can be empty. */
export interface NextTry {
  readonly inMs: number;
  readonly lastEventId: string;
}

interface Outage {
  readonly from: Happened;
  readonly cause: Cause;
  readonly message: string;
  /** Whether an event was cut off. */
  readonly isCutOff: boolean;
}

/** After a connection of at least this length, the pauses start again with the shortest one. */
const STEADY_MS = 5_000;
/**
 * After a connection of at least this length, a deployment or a token renewal can cause 401, 403
 * and 404. These answers are retried for REFUSED_AGAIN_MS.
 */
const HEALTHY_MS = 60_000;
const REFUSED_AGAIN_MS = 60_000;
/**
 * Assumed: a service resends missed events within this time. Events that are resent later are
 * recognised by their content.
 */
const REPLAY_CHANCE_MS = 1_000;

export class TopicMachine {
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #emit: (event: StreamEvent) => void;
  /** The number of failures since the last connection that stayed open for a while. */
  #failures = 0;
  /** The total time of open connections. */
  #stoodMs = 0;
  /** The open connection: its start, and the event id that it sent. */
  #open: { readonly since: Happened; readonly lastEventId: string } | undefined;
  /** When the connection was lost, on the monotonic clock. */
  #downSinceMs: number;
  /** When the last data arrived; undefined before the first connection. */
  #life: Happened | undefined;
  /**
   * The position in the stream after the last received chunk. `retryMs` is 0 when the service did
   * not request a pause.
   */
  #position = { lastEventId: '', retryMs: 0, partialBytes: 0 };
  /**
   * The current gap. It begins with a lost connection. It is reported when it is known whether the
   * service resent the events.
   */
  #outage: Outage | undefined;
  /** The moment after which the next reading of the list must find changes. */
  #resyncSince: Happened | undefined;
  #cancelResync = () => {};

  /** Creates the machine of one topic. `emit` receives each event; the last event is `closed`. */
  constructor(topic: string, clock: Clock, emit: (event: StreamEvent) => void) {
    this.#topic = topic;
    this.#clock = clock;
    this.#emit = emit;
    this.#downSinceMs = clock.monotonicMs();
  }

  /** Stops the timer. */
  stop() {
    this.#cancelResync();
  }

  // While the connection is open

  /**
   * Handles an open connection. `as` is the subscribed topic if it differs from the requested one.
   */
  opened(lastEventId: string, headers: Headers, as?: string) {
    const isReturn = this.#life !== undefined;
    const since = this.#stamp();
    const answer = {
      serviceMs: answeredAtMs(headers),
      trace: traceOf(headers),
      ...(as === undefined ? {} : { as }),
    };
    this.#emit({ type: 'open', ...since, isReturn, ...answer });
    this.#open = { since, lastEventId };
    this.#position = { ...this.#position, lastEventId, partialBytes: 0 };
    this.#life = since;
    if (!isReturn) this.#emit({ type: 'resync', ...since, sinceWallMs: undefined });
    if (this.#outage === undefined) return;
    this.#wantResync(this.#outage.from);
    if (lastEventId === '') this.#settleGap(false);
  }

  received({ messages, tooBigBytes, firstId, lastEventId, partialBytes, retryMs }: Received) {
    const at = this.#stamp();
    this.#life = at;
    if (firstId !== undefined || messages.length > 0)
      this.#settleGap(firstId !== undefined && isNextId(this.#open?.lastEventId ?? '', firstId));
    for (const bytes of tooBigBytes) {
      const message = `an event of ${bytes} bytes was skipped: it is larger than the limit for one event`;
      this.#emit(eventGap(at, 'too-big', message));
      this.#wantResync(at);
    }
    for (const data of messages) this.#emit({ type: 'message', ...at, data });
    this.#position = { lastEventId, partialBytes, retryMs: retryMs ?? this.#position.retryMs };
  }

  // Gaps

  /** Reports the gap that ended with this connection, if any. */
  #settleGap(replayed: boolean) {
    if (this.#outage === undefined || this.#open === undefined) return;
    const { cause, message, isCutOff, from } = this.#outage;
    const { since } = this.#open;
    this.#outage = undefined;
    const durationMs = elapsedMs(from, since);
    const span = { ...since, fromWallMs: since.atMs - durationMs, durationMs };
    const droppedEvents = isCutOff && !replayed ? 1 : 0;
    this.#emit({ type: 'gap', ...span, cause, message, replayed, droppedEvents });
  }

  /**
   * Schedules a resync after a short pause for resent events. Does nothing without a connection.
   */
  #wantResync(since: Happened) {
    this.#resyncSince ??= since;
    this.#cancelResync();
    this.#cancelResync = this.#clock.after(REPLAY_CHANCE_MS, () => {
      this.#settleGap(false);
      const at = this.#stamp();
      this.#emit({
        type: 'resync',
        ...at,
        sinceWallMs: at.atMs - elapsedMs(this.#resyncSince ?? at, at),
      });
      this.#resyncSince = undefined;
    });
  }

  // Ends of connections

  /**
   * Handles the end of a connection or a failed attempt. Returns the next attempt, or undefined
   * when the topic is closed permanently.
   */
  ended(lastEventId: string, ending: ConnectionEnd): NextTry | undefined {
    // The service may refuse an old event id with a 4xx. One connection without the id is tried
    // before the 4xx counts.
    const isRefused =
      this.#open === undefined && isRefusal(ending) && ending.answer?.status !== 401;
    if (isRefused && lastEventId !== '') return { inMs: 0, lastEventId: '' };
    const { cause, error } =
      this.#open === undefined ? ending : this.#lose(this.#open.since, ending);
    const at = this.#stamp();
    if (this.#isFinal(cause, ending, at.monotonicMs - this.#downSinceMs)) {
      this.#emit({ type: 'closed', ...at, error });
      return undefined;
    }
    const attempt = ++this.#failures;
    const now = { wallMs: at.atMs, random: this.#clock.random() };
    const { pauseMs, ...capped } = pauseBeforeReturn(
      attempt,
      this.#position.retryMs,
      ending.answer?.headers,
      now,
    );
    const from = this.#outage?.from ?? this.#life;
    const downMs = elapsedMs(from ?? at, at);
    const lastLifeWallMs = from === undefined ? undefined : at.atMs - downMs;
    const times = { lastLifeWallMs, downMs, retryInMs: pauseMs, ...capped };
    this.#emit({ type: 'lost', ...at, cause, error, attempt, ...times });
    return { inMs: pauseMs, lastEventId: this.#position.lastEventId };
  }

  /** Handles a lost connection. The gap begins when the last data arrived. */
  #lose(since: Happened, ending: ConnectionEnd): Pick<ConnectionEnd, 'cause' | 'error'> {
    const stoodMs = this.#clock.monotonicMs() - since.monotonicMs;
    this.#stoodMs += stoodMs;
    if (stoodMs >= STEADY_MS) this.#failures = 0;
    this.#settleGap(false);
    this.#cancelResync();
    this.#open = undefined;
    this.#downSinceMs = this.#clock.monotonicMs();
    const { partialBytes } = this.#position;
    const isCutOff = partialBytes > 0;
    const message = `the connection ended in the middle of an event, after ${partialBytes} bytes of it`;
    const isCut = isCutOff && (ending.cause === 'ended' || ending.cause === 'network');
    const { cause, error } = isCut
      ? { cause: 'cut-off' as const, error: new FleetError('network', message) }
      : ending;
    this.#outage = { from: this.#life ?? since, cause, message: error.message, isCutOff };
    return { cause, error };
  }

  /** Whether a later attempt cannot succeed. */
  #isFinal(cause: Cause, ending: ConnectionEnd, downMs: number): boolean {
    // At the start, a missing token file is a wrong setting. Later, another process may be writing
    // the file.
    if (cause === 'token')
      return ending.error.isLasting && this.#life === undefined && this.#failures === 0;
    const status = ending.answer?.status;
    if (cause === 'status' && status === 204) return true;
    if (!isRefusal(ending)) return false;
    const mayPass = status === 401 || status === 403 || status === 404;
    return !(mayPass && this.#stoodMs >= HEALTHY_MS && downMs < REFUSED_AGAIN_MS);
  }

  #stamp(): Happened {
    return {
      topic: this.#topic,
      atMs: this.#clock.wallMs(),
      monotonicMs: this.#clock.monotonicMs(),
    };
  }
}

/**
 * Returns the time between two moments. It uses the monotonic clock, because the user can set the
 * date between the two moments.
 */
function elapsedMs(from: Happened, to: Happened): number {
  return to.monotonicMs - from.monotonicMs;
}

/** Longer ids are not treated as numbers. */
const NUMBERED_ID_CHARACTERS = 100;

/**
 * Whether one id directly follows another, as numbers do, so that no event is missing between them.
 * Other ids prove nothing (section 6.1: "not shown").
 */
function isNextId(last: string, first: string): boolean {
  const [, prefix, number] = /^(.*?)(\d+)$/.exec(last.slice(0, NUMBERED_ID_CHARACTERS)) ?? [];
  return number !== undefined && first === `${prefix}${BigInt(number) + 1n}`;
}

/** Whether the connection ended with a 4xx that a retry cannot fix. */
function isRefusal({ cause, answer }: ConnectionEnd): boolean {
  const status = answer?.status ?? 0;
  return cause === 'status' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}
