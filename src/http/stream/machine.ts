// Decides what the connection of one topic does next: `(state, event, now) -> { state, effects }`. No I/O.
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

export type ConnectionEffect =
  /** To be emitted. */
  | StreamEvent
  /** Connect. */
  | { type: 'try'; run: number; lastEventId: string }
  /** Ends the try of the moment. */
  | { type: 'disconnect'; error: FleetError };

export type Phase =
  /** `lastEventId`: the one that the request names; '' for none. */
  | { name: 'trying'; lastEventId: string }
  | { name: 'open'; lastEventId: string; since: Happened }
  | { name: 'pausing'; untilMs: number }
  | { name: 'closed' };

export interface ConnectionState {
  readonly settings: ConnectionSettings;
  readonly phase: Phase;
  readonly run: number;
  /** Failures since the connection last stood for a while. */
  readonly attempt: number;
  /** How long connections have stood, all together. */
  readonly stoodMs: number;
  /** The last sign of life; undefined while the connection has never stood. */
  readonly life: Happened | undefined;
  /** What the connections have said; `retryMs` is 0 when they asked for no pause. */
  readonly said: { readonly lastEventId: string; readonly retryMs: number; readonly partialBytes: number };
  /** Since when there is no connection, and the last failure; undefined while there is one. */
  readonly down: { readonly sinceMs: number; readonly error?: FleetError } | undefined;
  /** Begins with a loss, and is reported as a gap as soon as it is known whether it was replayed. */
  readonly blind: Blindness | undefined;
  /** Since when the next resync has to look, and when it is due: never while there is no connection. */
  readonly resync: { readonly since: Happened; readonly dueMs: number } | undefined;
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

export function startState(settings: ConnectionSettings): ConnectionState {
  return {
    settings,
    phase: { name: 'pausing', untilMs: Number.POSITIVE_INFINITY },
    run: 0,
    attempt: 0,
    stoodMs: 0,
    life: undefined,
    said: { lastEventId: '', retryMs: 0, partialBytes: 0 },
    down: undefined,
    blind: undefined,
    resync: undefined,
  };
}

/** One step: what follows from an event. The state that was given is left as it is. */
export function connectionState(
  state: ConnectionState,
  event: ConnectionEvent,
  now: Now,
): { state: ConnectionState; effects: ConnectionEffect[] } {
  if (state.phase.name === 'closed' || ('run' in event && event.run !== state.run)) return { state, effects: [] };
  const step: Step = { ...state, now, ms: now.monotonicMs, effects: [] };
  take(step, event);
  const { now: _now, ms: _ms, effects, ...next } = step;
  return { state: next, effects };
}

/** In how many whole milliseconds the machine wants a tick, if nothing else happens before; infinite for never. */
export function nextTickInMs(state: ConnectionState, monotonicMs: number): number {
  // Rounded up: what is left of a millisecond by the arithmetic of floating numbers would tick for ever.
  return Math.max(0, Math.ceil(deadline(state) - monotonicMs));
}

/** The state in the making: a copy that one step may change. */
type Step = { -readonly [Field in keyof ConnectionState]: ConnectionState[Field] } & {
  now: Now;
  ms: number;
  effects: ConnectionEffect[];
};

function take(step: Step, event: ConnectionEvent): void {
  const { phase } = step;
  if (event.type === 'tick') passTime(step);
  else if (event.type === 'start') {
    step.down = { sinceMs: step.ms };
    attempt(step, '');
  } else if (phase.name === 'trying') {
    if (event.type === 'opened') open(step, phase.lastEventId, event);
    else if (event.type === 'ended') refuse(step, phase.lastEventId, event.ending);
  } else if (phase.name === 'open') {
    if (event.type === 'received') receive(step, event.received, phase);
    else if (event.type === 'ended') fail(step, event.ending);
  }
}

// --- time

/** The time at which something is to be done though nothing happens. */
function deadline({ settings, phase, down, resync }: ConnectionState): number {
  const giveUpMs = (down?.sinceMs ?? Number.POSITIVE_INFINITY) + settings.giveUpAfterMs;
  if (phase.name === 'pausing') return Math.min(giveUpMs, phase.untilMs);
  if (phase.name === 'trying') return giveUpMs;
  return phase.name === 'open' && resync !== undefined ? resync.dueMs : Number.POSITIVE_INFINITY;
}

function passTime(step: Step): void {
  if (step.ms < deadline(step)) return;
  const { settings, phase, down } = step;
  if (down !== undefined && step.ms >= down.sinceMs + settings.giveUpAfterMs) giveUp(step, down);
  else if (phase.name === 'pausing') attempt(step, step.said.lastEventId);
  else if (phase.name === 'open') {
    settleGap(step, phase.since, false);
    resyncNow(step);
  }
}

/**
 * How long ago a moment was, a sleep included: the monotonic clock may stand still meanwhile. A date that was set forward looks the same;
 * one that was set back counts for nothing.
 */
function elapsedMs(from: Happened, to: Happened): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.atMs - from.atMs);
}

// --- towards a connection

function attempt(step: Step, lastEventId: string): void {
  step.run++;
  step.phase = { name: 'trying', lastEventId };
  step.effects.push({ type: 'try', run: step.run, lastEventId });
}

function open(step: Step, lastEventId: string, { headers, as }: ConnectionEvent & { type: 'opened' }): void {
  const isReturn = step.life !== undefined;
  const since = stamp(step);
  step.effects.push({
    type: 'open',
    ...since,
    isReturn,
    serviceMs: answeredAtMs(headers),
    trace: traceOf(headers),
    ...(as === undefined ? {} : { as }),
  });
  step.phase = { name: 'open', lastEventId, since };
  step.said = { ...step.said, lastEventId, partialBytes: 0 };
  step.life = since;
  step.down = undefined;
  if (!isReturn) step.effects.push({ type: 'resync', ...since, sinceWallMs: undefined });
  if (step.blind === undefined) return;
  wantResync(step, step.blind.from);
  if (lastEventId === '') settleGap(step, since, false);
}

// --- while it stands

function receive(step: Step, received: Received, phase: Phase & { name: 'open' }): void {
  const { messages, tooBigBytes, firstId, lastEventId, partialBytes } = received;
  const at = stamp(step);
  step.life = at;
  if (firstId !== undefined || messages.length > 0)
    settleGap(step, phase.since, firstId !== undefined && isNextId(phase.lastEventId, firstId));
  for (const bytes of tooBigBytes) {
    const message = `an event of ${bytes} bytes was skipped: it is larger than the limit for one event`;
    step.effects.push(eventGap(at, 'too-big', message));
    wantResync(step, at);
  }
  for (const { data, name } of messages) step.effects.push({ type: 'message', ...at, data, name });
  step.said = { lastEventId, partialBytes, retryMs: received.retryMs ?? step.said.retryMs };
}

/** Ids longer than this are no numbers that somebody counts with. */
const NUMBERED_ID_CHARACTERS = 100;

/** Whether an id follows another one directly, as numbers do: then nothing was missed. Of other ids nobody knows (section 6.1: "not shown"). */
function isNextId(last: string, first: string): boolean {
  const [, prefix, number] = /^(.*?)(\d+)$/.exec(last.slice(0, NUMBERED_ID_CHARACTERS)) ?? [];
  return number !== undefined && first === `${prefix}${BigInt(number) + 1n}`;
}

// --- what was missed

/** Reports the blindness that ended when the connection came to stand, if there was one. */
function settleGap(step: Step, opened: Happened, replayed: boolean): void {
  const { blind } = step;
  if (blind === undefined) return;
  step.blind = undefined;
  const { cause, message, isCutOff, from } = blind;
  const durationMs = elapsedMs(from, opened);
  const span = { ...opened, fromWallMs: opened.atMs - durationMs, durationMs };
  const droppedEvents = isCutOff && !replayed ? 1 : 0;
  step.effects.push({ type: 'gap', ...span, cause, message, replayed, droppedEvents });
}

function wantResync(step: Step, since: Happened): void {
  step.resync = { since: step.resync?.since ?? since, dueMs: step.ms + REPLAY_CHANCE_MS };
}

function resyncNow(step: Step): void {
  if (step.resync === undefined) return;
  const at = stamp(step);
  step.effects.push({ type: 'resync', ...at, sinceWallMs: at.atMs - elapsedMs(step.resync.since, at) });
  step.resync = undefined;
}

// --- ends

/** A connection was not made: a 4xx is tried without the last id before it counts. */
function refuse(step: Step, lastEventId: string, ending: ConnectionEnd): void {
  if (isRefusal(ending) && ending.answer?.status !== 401 && lastEventId !== '') attempt(step, '');
  else fail(step, ending);
}

/** What every failure leads to: the end, or a pause and another try. */
function fail(step: Step, ending: ConnectionEnd): void {
  const { cause, error } = step.phase.name === 'open' ? lose(step, step.phase, ending) : ending;
  const down = { sinceMs: step.down?.sinceMs ?? step.ms, error };
  step.down = down;
  const downMs = step.ms - down.sinceMs;
  const leftMs = step.settings.giveUpAfterMs - downMs;
  if (isFinal(step, cause, ending)) close(step, error);
  else if (leftMs <= 0) giveUp(step, down);
  else retry(step, { cause, error, downMs }, leftMs, ending.answer?.headers);
}

function retry(
  step: Step,
  failure: { cause: Cause; error: FleetError; downMs: number },
  leftMs: number,
  headers: Headers | undefined,
): void {
  step.attempt++;
  const { pauseMs, ...capped } = pauseBeforeReturn(step.attempt, step.said.retryMs, headers, step.now);
  const retryInMs = Math.min(leftMs, pauseMs);
  const at = stamp(step);
  const from = step.blind?.from ?? step.life;
  const blindMs = elapsedMs(from ?? at, at);
  const lastLifeWallMs = from === undefined ? undefined : at.atMs - blindMs;
  const more = { lastLifeWallMs, blindMs, attempt: step.attempt, retryInMs, ...capped };
  step.effects.push({ type: 'lost', ...at, ...failure, ...more });
  step.phase = { name: 'pausing', untilMs: step.ms + retryInMs };
}

/** An open connection is lost: the blindness begins at the last sign of life. */
function lose(
  step: Step,
  phase: Phase & { name: 'open' },
  ending: ConnectionEnd,
): Pick<ConnectionEnd, 'cause' | 'error'> {
  const stoodMs = step.ms - phase.since.monotonicMs;
  step.stoodMs += stoodMs;
  if (stoodMs >= STEADY_MS) step.attempt = 0;
  settleGap(step, phase.since, false);
  const { partialBytes } = step.said;
  const isCutOff = partialBytes > 0;
  const message = `the connection ended in the middle of an event, after ${partialBytes} bytes of it`;
  const isCut = isCutOff && (ending.cause === 'ended' || ending.cause === 'network');
  const { cause, error } = isCut ? { cause: 'cut-off' as const, error: new FleetError('network', message) } : ending;
  step.blind = { from: step.life ?? phase.since, cause, message: error.message, isCutOff };
  step.down = { sinceMs: step.ms };
  return { cause, error };
}

/** A 4xx that a retry cannot fix. */
function isRefusal({ cause, answer }: ConnectionEnd): boolean {
  const status = answer?.status ?? 0;
  return cause === 'status' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** "Ends that are final": nothing that happens later can change the answer. */
function isFinal(step: Step, cause: Cause, ending: ConnectionEnd): boolean {
  // A file that is not there at the start is a wrong setting; later somebody is writing it anew.
  if (cause === 'token') return step.run === 1 && ending.error.isLasting;
  const status = ending.answer?.status;
  if (cause === 'status' && status === 204) return true;
  if (!isRefusal(ending)) return false;
  const mayPass = status === 401 || status === 403 || status === 404;
  const downMs = step.ms - (step.down?.sinceMs ?? step.ms);
  return !(mayPass && step.stoodMs >= HEALTHY_MS && downMs < REFUSED_AGAIN_MS);
}

function giveUp(step: Step, down: { sinceMs: number; error?: FleetError }): void {
  const seconds = Math.round((step.ms - down.sinceMs) / 1000);
  const last = down.error ?? new FleetError('network', `no answer from ${step.settings.origin}`);
  const { status, trace } = last;
  const hint = 'leave out --give-up-after to retry forever';
  const message = `gave up after ${seconds} s without a connection: ${last.message}`;
  const kind = last.kind === 'service' ? 'service' : 'network';
  const error = new FleetError(kind, message, { status, trace, cause: last, hint });
  if (step.phase.name === 'trying') step.effects.push({ type: 'disconnect', error });
  close(step, error);
}

function close(step: Step, error: FleetError): void {
  step.phase = { name: 'closed' };
  step.effects.push({ type: 'closed', ...stamp(step), error });
}

function stamp({ settings, now }: Step): Happened {
  return { topic: settings.topic, atMs: now.wallMs, monotonicMs: now.monotonicMs };
}
