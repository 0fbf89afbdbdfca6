// A state machine that decides when to connect to a topic again. It does no I/O.
//
// The loop in ../stream.ts opens one connection after another. It reports the result of each
// connection to the state machine, and asks the state machine when to open the next connection.

import { FleetError } from '../../errors.js';
import type { Clock } from '../../system/clock.js';
import type { Headers } from '../exchange.js';
import { traceOf } from '../headers.js';
import { answeredAtMs, pauseBeforeReturn } from '../retry.js';
import type { ConnectionEnd, Received } from './connection.js';
import { type Cause, eventGap, type Happened, type StreamEvent } from './events.js';

/**
 * The next connection attempt: the time when it begins, and the last event id to send. The id is ''
 * when there is no last event.
 */
export interface NextTry {
  readonly inMs: number;
  readonly lastEventId: string;
}

interface Outage {
  readonly from: Happened;
  readonly cause: Cause;
  readonly message: string;
  /** Whether the connection ended in the middle of an event. */
  readonly isCutOff: boolean;
}

/**
 * A connection that lasts at least this long resets the failure count, so that the next pauses are
 * short again.
 */
const STEADY_MS = 5_000;
/**
 * After connections with at least this total duration, 401, 403 and 404 are retried for
 * REFUSED_AGAIN_MS. A deployment or a token renewal can cause these statuses.
 */
const HEALTHY_MS = 60_000;
const REFUSED_AGAIN_MS = 60_000;
/**
 * Assumed: a service resends missed events within this time. If an event is repeated after this
 * time, fleet recognises the repeat by its content.
 */
const REPLAY_CHANCE_MS = 1_000;

export class TopicMachine {
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #emit: (event: StreamEvent) => void;
  /** The number of failures since the last connection that lasted at least STEADY_MS. */
  #failures = 0;
  /** The total duration of all connections so far. */
  #stoodMs = 0;
  /** The open connection: when it was opened, and the event id that was sent in its request. */
  #open: { readonly since: Happened; readonly lastEventId: string } | undefined;
  /** When the last connection ended, on the monotonic clock. */
  #downSinceMs: number;
  /** When data last arrived. Undefined before the first connection. */
  #life: Happened | undefined;
  /**
   * The position in the stream after the last chunk. `retryMs` is 0 when the service requested no
   * pause.
   */
  #position = { lastEventId: '', retryMs: 0, partialBytes: 0 };
  /**
   * The current gap. A gap begins when a connection is lost. It is reported as soon as fleet knows
   * whether the service resent the missed events.
   */
  #outage: Outage | undefined;
  /**
   * The start of the time range in which changes may have been missed. The next resync must find
   * these changes.
   */
  #resyncSince: Happened | undefined;
  #cancelResync = () => {};

  /**
   * Creates the state machine of a topic. `emit` receives each event. The last event is `closed`.
   */
  constructor(topic: string, clock: Clock, emit: (event: StreamEvent) => void) {
    this.#topic = topic;
    this.#clock = clock;
    this.#emit = emit;
    this.#downSinceMs = clock.monotonicMs();
  }

  /** Cancels the timer for the next resync. */
  stop() {
    this.#cancelResync();
  }

  // Methods for an open connection

  /**
   * Records that a connection was opened. `as` is the topic that was actually subscribed, if it is
   * not the requested topic.
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

  // Methods for gaps

  /** Reports the gap that ended with the current connection, if there is one. */
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
   * Schedules a resync after a short wait. During the wait, the service can resend missed events.
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

  // Methods for the end of a connection

  /**
   * Handles a connection that ended or could not be opened. Returns the next attempt, or undefined
   * when the topic is closed permanently.
   */
  ended(lastEventId: string, ending: ConnectionEnd): NextTry | undefined {
    // The service may return a 4xx status because the event id is too old. fleet retries without
    // the id to find out whether the id is the cause.
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

  /** Handles a lost connection. The gap begins at the time of the last data. */
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

  /** Whether all later attempts would fail too. */
  #isFinal(cause: Cause, ending: ConnectionEnd, downMs: number): boolean {
    // When fleet starts, a missing token file means that a setting is wrong. Later, the file may be
    // missing for a moment because another process is replacing it.
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
 * Returns the milliseconds between two moments. Uses the monotonic clock, because the system time
 * may have been changed in between.
 */
function elapsedMs(from: Happened, to: Happened): number {
  return to.monotonicMs - from.monotonicMs;
}

/** Event ids that are longer than this are not compared as numbers. */
const NUMBERED_ID_CHARACTERS = 100;

/**
 * Whether the id `first` directly follows the id `last`: the ids differ only in the number at their
 * end, which is larger by one. If so, no event is missing between these ids. Any other pair of ids
 * proves nothing (section 6.1: "not shown").
 */
function isNextId(last: string, first: string): boolean {
  const [, prefix, number] = /^(.*?)(\d+)$/.exec(last.slice(0, NUMBERED_ID_CHARACTERS)) ?? [];
  return number !== undefined && first === `${prefix}${BigInt(number) + 1n}`;
}

/** Whether the connection ended with a 4xx status that a retry usually does not fix. */
function isRefusal({ cause, answer }: ConnectionEnd): boolean {
  const status = answer?.status ?? 0;
  return cause === 'status' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}
