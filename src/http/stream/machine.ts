// Decides what the connection of one topic does next. No I/O.
//
// The loop around it (../stream.ts) makes one connection after the other, reports what came of each, and asks when to make the next one.

import { FleetError } from '../../errors.js';
import type { Clock } from '../../system/clock.js';
import type { Headers } from '../exchange.js';
import { traceOf } from '../headers.js';
import { answeredAtMs, pauseBeforeReturn } from '../retry.js';
import type { ConnectionEnd, Received } from './connection.js';
import { type Cause, eventGap, type Happened, type StreamEvent } from './events.js';

/** A connection to be made: when, and with which last id; '' for none. */
export interface NextTry {
  readonly inMs: number;
  readonly lastEventId: string;
}

interface Outage {
  readonly from: Happened;
  readonly cause: Cause;
  readonly message: string;
  /** An event was cut off. */
  readonly isCutOff: boolean;
}

/** After a connection of this length the next pause is the shortest one again. */
const STEADY_MS = 5_000;
/** After connections of this length 401, 403 and 404 may come from a deployment or a token being renewed: retried for REFUSED_AGAIN_MS. */
const HEALTHY_MS = 60_000;
const REFUSED_AGAIN_MS = 60_000;
/** Assumed: a service that replays what was missed begins within this time. What comes later is told apart by its content. */
const REPLAY_CHANCE_MS = 1_000;

export class TopicMachine {
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #emit: (event: StreamEvent) => void;
  /** Failures since the connection last stood for a while. */
  #failures = 0;
  /** How long connections have stood, all together. */
  #stoodMs = 0;
  /** The connection that stands: since when, and the id that it was asked to go on after. */
  #open: { readonly since: Happened; readonly lastEventId: string } | undefined;
  /** Since when there is no connection, on the monotonic clock. */
  #downSinceMs: number;
  /** The last sign of life; undefined while the connection has never stood. */
  #life: Happened | undefined;
  /** What the connections have said; `retryMs` is 0 when they asked for no pause. */
  #said = { lastEventId: '', retryMs: 0, partialBytes: 0 };
  /** Begins with a loss, and is reported as a gap as soon as it is known whether it was replayed. */
  #outage: Outage | undefined;
  /** Since when the next resync has to look. */
  #resyncSince: Happened | undefined;
  #cancelResync = () => {};

  /** `emit` takes each event; `closed` is the last one. */
  constructor(topic: string, clock: Clock, emit: (event: StreamEvent) => void) {
    this.#topic = topic;
    this.#clock = clock;
    this.#emit = emit;
    this.#downSinceMs = clock.monotonicMs();
  }

  /** Ends its timer. */
  stop() {
    this.#cancelResync();
  }

  // While there is a connection

  /** The connection stands that was to go on after the last id; `as` is the topic that was subscribed to, where it is another one. */
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
    this.#said = { ...this.#said, lastEventId, partialBytes: 0 };
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
    this.#said = { lastEventId, partialBytes, retryMs: retryMs ?? this.#said.retryMs };
  }

  // What was missed

  /** Reports the outage that ended with this connection, if there was one. */
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

  /** Soon, so that a replay has its chance; not while there is no connection. */
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

  // Ends

  /** The connection ended, or was not made: when to try again; undefined: never. */
  ended(lastEventId: string, ending: ConnectionEnd): NextTry | undefined {
    // A 4xx is tried without the last id before it counts.
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
      this.#said.retryMs,
      ending.answer?.headers,
      now,
    );
    const from = this.#outage?.from ?? this.#life;
    const downMs = elapsedMs(from ?? at, at);
    const lastLifeWallMs = from === undefined ? undefined : at.atMs - downMs;
    const times = { lastLifeWallMs, downMs, retryInMs: pauseMs, ...capped };
    this.#emit({ type: 'lost', ...at, cause, error, attempt, ...times });
    return { inMs: pauseMs, lastEventId: this.#said.lastEventId };
  }

  /** An open connection is lost: the outage begins at the last sign of life. */
  #lose(since: Happened, ending: ConnectionEnd): Pick<ConnectionEnd, 'cause' | 'error'> {
    const stoodMs = this.#clock.monotonicMs() - since.monotonicMs;
    this.#stoodMs += stoodMs;
    if (stoodMs >= STEADY_MS) this.#failures = 0;
    this.#settleGap(false);
    this.#cancelResync();
    this.#open = undefined;
    this.#downSinceMs = this.#clock.monotonicMs();
    const { partialBytes } = this.#said;
    const isCutOff = partialBytes > 0;
    const message = `the connection ended in the middle of an event, after ${partialBytes} bytes of it`;
    const isCut = isCutOff && (ending.cause === 'ended' || ending.cause === 'network');
    const { cause, error } = isCut
      ? { cause: 'cut-off' as const, error: new FleetError('network', message) }
      : ending;
    this.#outage = { from: this.#life ?? since, cause, message: error.message, isCutOff };
    return { cause, error };
  }

  /** Nothing that happens later can change the answer. */
  #isFinal(cause: Cause, ending: ConnectionEnd, downMs: number): boolean {
    // A file that is not there at the start is a wrong setting; later somebody is writing it anew.
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
 * How long ago a moment was, a sleep included: the monotonic clock may stand still meanwhile. A date that was set forward looks the same;
 * one that was set back counts for nothing.
 */
function elapsedMs(from: Happened, to: Happened): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.atMs - from.atMs);
}

/** Ids longer than this are no numbers that somebody counts with. */
const NUMBERED_ID_CHARACTERS = 100;

/** Whether an id follows another one directly, as numbers do: then nothing was missed. Of other ids nobody knows (section 6.1: "not shown"). */
function isNextId(last: string, first: string): boolean {
  const [, prefix, number] = /^(.*?)(\d+)$/.exec(last.slice(0, NUMBERED_ID_CHARACTERS)) ?? [];
  return number !== undefined && first === `${prefix}${BigInt(number) + 1n}`;
}

/** A 4xx that a retry cannot fix. */
function isRefusal({ cause, answer }: ConnectionEnd): boolean {
  const status = answer?.status ?? 0;
  return cause === 'status' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}
