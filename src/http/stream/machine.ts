// Decides what the connection of one topic does next. No I/O.
//
// trying -> open -> (lost) -> pausing -> trying …, until it is closed. The loop around it (../stream.ts) carries out the effects
// and reports what came of them; `run` numbers the tries, so that a late report counts for nothing.

import { FleetError } from '../../errors.js';
import type { Headers } from '../exchange.js';
import { traceOf } from '../headers.js';
import { answeredAtMs, pauseBeforeReturn } from '../retry.js';
import type { ConnectionEnd, Received } from './connection.js';
import { type Cause, eventGap, type Happened, type StreamEvent } from './events.js';

/** What is the same for as long as the topic is followed. */
export interface ConnectionSettings {
  topic: string;
  /** Where the push channel is, for messages. */
  origin: string;
  /** How long the stream may be down before it is given up; infinite is for ever. */
  giveUpAfterMs: number;
}

export interface Now {
  /** The machine's date in milliseconds since the epoch: printed, and what shows that the machine slept. */
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** From 0 up to, not including, 1; drawn anew for each event. Spreads the pauses. */
  readonly random: number;
}

/** What happened. Those with a `run` answer the try of that number. */
export type ConnectionEvent =
  | { type: 'start' }
  /** Nothing happened, but time has passed. */
  | { type: 'tick' }
  | { type: 'opened'; run: number; headers: Headers; as?: string }
  | { type: 'received'; run: number; received: Received }
  /** The try failed, or the connection ended. */
  | { type: 'ended'; run: number; ending: ConnectionEnd };

/** An event to be emitted, or a connection to be made: `lastEventId` is '' for none. */
export type ConnectionEffect = StreamEvent | { type: 'try'; run: number; lastEventId: string };

type Phase =
  /** `lastEventId`: the one that the request names. */
  | { name: 'trying'; lastEventId: string }
  | { name: 'open'; lastEventId: string; since: Happened }
  | { name: 'pausing'; untilMs: number }
  | { name: 'closed' };

/** Since when there is no connection, on the monotonic clock, and the last failure. */
interface Down {
  readonly sinceMs: number;
  readonly error?: FleetError;
}

interface Blindness {
  readonly from: Happened;
  readonly cause: Cause;
  readonly message: string;
  /** An event was cut off. */
  readonly isCutOff: boolean;
}

/** A connection that stood this long was a good one: the next loss starts from the shortest pause again. */
const STEADY_MS = 5_000;
/** After so long a healthy stream, 401, 403 and 404 may be a deployment or a token on its way: tried again for as long. */
const HEALTHY_MS = 60_000;
const REFUSED_AGAIN_MS = 60_000;
/** Assumed: a service that replays what was missed begins within this time. What comes later is told apart by its content. */
const REPLAY_CHANCE_MS = 1_000;

export class TopicMachine {
  readonly #settings: ConnectionSettings;
  readonly #emit: (effect: ConnectionEffect) => void;
  #phase: Phase = { name: 'pausing', untilMs: Number.POSITIVE_INFINITY };
  #run = 0;
  /** Failures since the connection last stood for a while. */
  #failures = 0;
  /** How long connections have stood, all together. */
  #stoodMs = 0;
  /** The last sign of life; undefined while the connection has never stood. */
  #life: Happened | undefined;
  /** What the connections have said; `retryMs` is 0 when they asked for no pause. */
  #said = { lastEventId: '', retryMs: 0, partialBytes: 0 };
  /** Since when there is no connection, and the last failure; undefined while there is one. */
  #down: Down | undefined;
  /** Begins with a loss, and is reported as a gap as soon as it is known whether it was replayed. */
  #blind: Blindness | undefined;
  /** Since when the next resync has to look, and when it is due: never while there is no connection. */
  #resync: { readonly since: Happened; readonly dueMs: number } | undefined;
  #now: Now = { wallMs: 0, monotonicMs: 0, random: 0 };

  constructor(settings: ConnectionSettings, emit: (effect: ConnectionEffect) => void) {
    this.#settings = settings;
    this.#emit = emit;
  }

  /** The number of the last try. */
  get run(): number {
    return this.#run;
  }

  get isClosed(): boolean {
    return this.#phase.name === 'closed';
  }

  /** In how many whole milliseconds it wants a tick, if nothing else happens before; infinite for never. */
  nextTickInMs(monotonicMs: number): number {
    // Rounded up: what is left of a millisecond by the arithmetic of floating numbers would tick for ever.
    return Math.max(0, Math.ceil(this.#deadline() - monotonicMs));
  }

  take(event: ConnectionEvent, now: Now) {
    const phase = this.#phase;
    if (phase.name === 'closed' || ('run' in event && event.run !== this.#run)) return;
    this.#now = now;
    if (event.type === 'tick') this.#passTime();
    else if (event.type === 'start') {
      this.#down = { sinceMs: now.monotonicMs };
      this.#try('');
    } else if (event.type === 'received') {
      if (phase.name === 'open') this.#receive(event.received, phase);
    } else if (phase.name === 'trying') {
      if (event.type === 'opened') this.#open(phase.lastEventId, event);
      else this.#refuse(phase.lastEventId, event.ending);
    } else if (phase.name === 'open' && event.type === 'ended') this.#fail(event.ending);
  }

  // Time

  /** The time at which something is to be done though nothing happens. */
  #deadline(): number {
    const phase = this.#phase;
    const giveUpMs = (this.#down?.sinceMs ?? Number.POSITIVE_INFINITY) + this.#settings.giveUpAfterMs;
    if (phase.name === 'pausing') return Math.min(giveUpMs, phase.untilMs);
    if (phase.name === 'trying') return giveUpMs;
    return (phase.name === 'open' ? this.#resync?.dueMs : undefined) ?? Number.POSITIVE_INFINITY;
  }

  #passTime() {
    const { monotonicMs } = this.#now;
    if (monotonicMs < this.#deadline()) return;
    const phase = this.#phase;
    const down = this.#down;
    if (down !== undefined && monotonicMs >= down.sinceMs + this.#settings.giveUpAfterMs) this.#giveUp(down);
    else if (phase.name === 'pausing') this.#try(this.#said.lastEventId);
    else if (phase.name === 'open') this.#resyncNow(phase.since);
  }

  // Towards a connection

  #try(lastEventId: string) {
    this.#run++;
    this.#phase = { name: 'trying', lastEventId };
    this.#emit({ type: 'try', run: this.#run, lastEventId });
  }

  #open(lastEventId: string, { headers, as }: ConnectionEvent & { type: 'opened' }) {
    const isReturn = this.#life !== undefined;
    const since = this.#stamp();
    const answer = { serviceMs: answeredAtMs(headers), trace: traceOf(headers), ...(as === undefined ? {} : { as }) };
    this.#emit({ type: 'open', ...since, isReturn, ...answer });
    this.#phase = { name: 'open', lastEventId, since };
    this.#said = { ...this.#said, lastEventId, partialBytes: 0 };
    this.#life = since;
    this.#down = undefined;
    if (!isReturn) this.#emit({ type: 'resync', ...since, sinceWallMs: undefined });
    if (this.#blind === undefined) return;
    this.#wantResync(this.#blind.from);
    if (lastEventId === '') this.#settleGap(since, false);
  }

  // While it stands

  #receive(received: Received, phase: Phase & { name: 'open' }) {
    const { messages, tooBigBytes, firstId, lastEventId, partialBytes } = received;
    const at = this.#stamp();
    this.#life = at;
    if (firstId !== undefined || messages.length > 0)
      this.#settleGap(phase.since, firstId !== undefined && isNextId(phase.lastEventId, firstId));
    for (const bytes of tooBigBytes) {
      const message = `an event of ${bytes} bytes was skipped: it is larger than the limit for one event`;
      this.#emit(eventGap(at, 'too-big', message));
      this.#wantResync(at);
    }
    for (const data of messages) this.#emit({ type: 'message', ...at, data });
    this.#said = { lastEventId, partialBytes, retryMs: received.retryMs ?? this.#said.retryMs };
  }

  // What was missed

  /** Reports the blindness that ended when the connection came to stand, if there was one. */
  #settleGap(opened: Happened, replayed: boolean) {
    if (this.#blind === undefined) return;
    const { cause, message, isCutOff, from } = this.#blind;
    this.#blind = undefined;
    const durationMs = elapsedMs(from, opened);
    const span = { ...opened, fromWallMs: opened.atMs - durationMs, durationMs };
    const droppedEvents = isCutOff && !replayed ? 1 : 0;
    this.#emit({ type: 'gap', ...span, cause, message, replayed, droppedEvents });
  }

  #wantResync(since: Happened) {
    this.#resync = { since: this.#resync?.since ?? since, dueMs: this.#now.monotonicMs + REPLAY_CHANCE_MS };
  }

  #resyncNow(opened: Happened) {
    this.#settleGap(opened, false);
    if (this.#resync === undefined) return;
    const at = this.#stamp();
    this.#emit({ type: 'resync', ...at, sinceWallMs: at.atMs - elapsedMs(this.#resync.since, at) });
    this.#resync = undefined;
  }

  // Ends

  /** A connection was not made: a 4xx is tried without the last id before it counts. */
  #refuse(lastEventId: string, ending: ConnectionEnd) {
    if (isRefusal(ending) && ending.answer?.status !== 401 && lastEventId !== '') this.#try('');
    else this.#fail(ending);
  }

  /** What every failure leads to: the end, or a pause and another try. */
  #fail(ending: ConnectionEnd) {
    const { cause, error } = this.#phase.name === 'open' ? this.#lose(this.#phase, ending) : ending;
    const { monotonicMs } = this.#now;
    const down = { sinceMs: this.#down?.sinceMs ?? monotonicMs, error };
    this.#down = down;
    const downMs = monotonicMs - down.sinceMs;
    const leftMs = this.#settings.giveUpAfterMs - downMs;
    if (this.#isFinal(cause, ending, downMs)) return this.#close(error);
    if (leftMs <= 0) return this.#giveUp(down);
    const attempt = ++this.#failures;
    const { pauseMs, ...capped } = pauseBeforeReturn(attempt, this.#said.retryMs, ending.answer?.headers, this.#now);
    const retryInMs = Math.min(leftMs, pauseMs);
    const at = this.#stamp();
    const from = this.#blind?.from ?? this.#life;
    const blindMs = elapsedMs(from ?? at, at);
    const lastLifeWallMs = from === undefined ? undefined : at.atMs - blindMs;
    const times = { lastLifeWallMs, blindMs, downMs, retryInMs, ...capped };
    this.#emit({ type: 'lost', ...at, cause, error, attempt, ...times });
    this.#phase = { name: 'pausing', untilMs: monotonicMs + retryInMs };
  }

  /** An open connection is lost: the blindness begins at the last sign of life. */
  #lose({ since }: Phase & { name: 'open' }, ending: ConnectionEnd): Pick<ConnectionEnd, 'cause' | 'error'> {
    const { monotonicMs } = this.#now;
    const stoodMs = monotonicMs - since.monotonicMs;
    this.#stoodMs += stoodMs;
    if (stoodMs >= STEADY_MS) this.#failures = 0;
    this.#settleGap(since, false);
    const { partialBytes } = this.#said;
    const isCutOff = partialBytes > 0;
    const message = `the connection ended in the middle of an event, after ${partialBytes} bytes of it`;
    const isCut = isCutOff && (ending.cause === 'ended' || ending.cause === 'network');
    const { cause, error } = isCut ? { cause: 'cut-off' as const, error: new FleetError('network', message) } : ending;
    this.#blind = { from: this.#life ?? since, cause, message: error.message, isCutOff };
    this.#down = { sinceMs: monotonicMs };
    return { cause, error };
  }

  /** "Ends that are final": nothing that happens later can change the answer. */
  #isFinal(cause: Cause, ending: ConnectionEnd, downMs: number): boolean {
    // A file that is not there at the start is a wrong setting; later somebody is writing it anew.
    if (cause === 'token') return this.#run === 1 && ending.error.isLasting;
    const status = ending.answer?.status;
    if (cause === 'status' && status === 204) return true;
    if (!isRefusal(ending)) return false;
    const mayPass = status === 401 || status === 403 || status === 404;
    return !(mayPass && this.#stoodMs >= HEALTHY_MS && downMs < REFUSED_AGAIN_MS);
  }

  #giveUp({ sinceMs, error: last = new FleetError('network', `no answer from ${this.#settings.origin}`) }: Down) {
    const seconds = Math.round((this.#now.monotonicMs - sinceMs) / 1000);
    const { status, trace } = last;
    const hint = 'leave out --give-up-after to retry forever';
    const message = `gave up after ${seconds} s without a connection: ${last.message}`;
    const kind = last.kind === 'service' ? 'service' : 'network';
    this.#close(new FleetError(kind, message, { status, trace, cause: last, hint }));
  }

  #close(error: FleetError) {
    this.#phase = { name: 'closed' };
    this.#emit({ type: 'closed', ...this.#stamp(), error });
  }

  #stamp(): Happened {
    return { topic: this.#settings.topic, atMs: this.#now.wallMs, monotonicMs: this.#now.monotonicMs };
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
