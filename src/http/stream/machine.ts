// What the connection of one topic does next: `(state, event, now) -> { state, effects }`, without I/O.
//
// trying -> open -> (lost) -> pausing -> trying …, until it is closed. The loop around it (../stream.ts) carries out the effects
// and reports what came of them; `run` numbers the tries, so that a late report counts for nothing.

import { doublingPauseMs } from '../../clock.js';
import { FleetError } from '../../errors.js';
import type { Headers } from '../exchange.js';
import { traceOf } from '../headers.js';
import { answeredAtMs, LONGEST_ASKED_PAUSE_MS, readRetryAfter } from '../retry.js';
import type { Ending, Received } from './connection.js';
import { type Cause, eventGap, type Happened, type StreamEvent } from './events.js';
import { isContinuation } from './replay.js';

/** What is the same for as long as the topic is followed. */
export interface ConnectionSettings {
  topic: string;
  /** Where the push channel is, for messages. */
  origin: string;
  /** How long a token, and how long connecting and the answer's head together may take. */
  timeoutMs: number;
  /** How long silence may last before a connection counts as dead; comments end silence. */
  idleMs: number;
  /** How long the stream may be down before it is given up; infinite is for ever. */
  giveUpAfterMs: number;
}

export interface Now {
  /** The machine's date in milliseconds since the epoch: printed, and compared with the monotonic clock to see a sleep. */
  wallMs: number;
  monotonicMs: number;
  /** From 0 up to, not including, 1; drawn anew for each event. Spreads the pauses. */
  random: number;
}

/** What happened. Those with a `run` answer the try of that number. */
export type ConnectionEvent =
  | { type: 'start' }
  /** Nothing happened, but time has passed. */
  | { type: 'tick' }
  /** The connection is made with this token. Undefined: there is no other than the refused one, and the try is over. */
  | { type: 'token'; run: number; token: string | undefined }
  | { type: 'opened'; run: number; headers: Headers }
  | { type: 'received'; run: number; received: Received }
  /** Nothing is read from the socket, because the reader of the events is behind; then it is read again. */
  | { type: 'hold'; run: number; isHeld: boolean }
  /** The try failed, or the connection ended. */
  | { type: 'ended'; run: number; ending: Ending | Failure };

export type ConnectionEffect =
  | { type: 'emit'; event: StreamEvent }
  /** Get a token, another one than the refused where there is one, and connect with it. */
  | { type: 'try'; run: number; lastEventId: string; refused: string | undefined }
  /** Ends the try or the connection of the moment. */
  | { type: 'disconnect'; error: FleetError };

export type Phase =
  /** Without a token until it is there; `refusal`: the token before was answered with 401. */
  | { name: 'trying'; sinceMs: number; lastEventId: string; token?: string; refusal?: Ending | Failure }
  | (Happened & {
      name: 'open';
      sinceMs: number;
      /** The one that the request named. */
      lastEventId: string;
      silentSinceMs: number;
      answeredAtMs: number | undefined;
      isHeld: boolean;
    })
  | { name: 'pausing'; untilMs: number }
  | { name: 'closed' };

/** Times without `Wall` in their name are on the machine's own clock: monotonic, and the time asleep added. */
export interface ConnectionState {
  readonly settings: ConnectionSettings;
  readonly phase: Phase;
  readonly run: number;
  /** When the last event came, on both clocks. */
  readonly seen: { readonly wallMs: number; readonly monotonicMs: number } | undefined;
  /** How long the machine has slept, as far as the monotonic clock does not know of it. */
  readonly sleptMs: number;
  /** '' when there is none. */
  readonly lastEventId: string;
  readonly retryMs: number;
  readonly attempt: number;
  readonly hasHadToken: boolean;
  /** How long connections have stood, all together. */
  readonly stoodMs: number;
  readonly lastLifeMs: number | undefined;
  /** Since when there is no connection, and the last failure; undefined while there is one. */
  readonly down: { readonly sinceMs: number; readonly error?: FleetError } | undefined;
  /** Begins with a loss, and is reported as a gap as soon as it is known whether it was replayed. */
  readonly blind: Blindness | undefined;
  /** Since when the next resync has to look, and when it is due; undefined while there is nothing to make up for, or no connection. */
  readonly resync: { readonly sinceMs: number | undefined; readonly dueMs: number | undefined };
  readonly hold: { readonly sinceMs: number; readonly untilMs: number | undefined } | undefined;
  readonly partialBytes: number;
}

interface Blindness {
  readonly fromMs: number;
  readonly cause: Cause;
  readonly message: string;
  /** An event was cut off. */
  readonly isCutOff: boolean;
}

/** At least so often something happens: time that passes between two looks shows a sleep. */
const PULSE_MS = 1_000;
/** Two looks this much further apart than they should be: the machine slept. Above what a busy machine is ever late. */
const SLEPT_MS = 15_000;
/** A source that keeps the time itself names what hangs: it gets this much more. */
const TOKEN_GRACE_MS = 500;
/** A connection that stood this long was a good one: the next loss starts from the shortest pause again. */
const STEADY_MS = 5_000;
/** After so long a healthy stream, 401, 403 and 404 may be a deployment or a token on its way: tried again for as long. */
const HEALTHY_MS = 60_000;
const REFUSED_AGAIN_MS = 60_000;
/** Assumed: a service that replays what was missed begins within this time. What comes later is told apart by its content. */
const REPLAY_CHANCE_MS = 1_000;
/** What comes this soon after the answer's head came with it. */
const AT_ONCE_MS = 200;
/** A reader that held the stream back for this long is slow, not just busy; so much time of free reading ends its delay. */
const SLOW_READER_MS = 1_000;
/** The first pause is at most this long; each further one twice as long as the one before, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

export function startState(settings: ConnectionSettings): ConnectionState {
  return {
    settings,
    phase: { name: 'pausing', untilMs: Number.POSITIVE_INFINITY },
    run: 0,
    seen: undefined,
    sleptMs: 0,
    lastEventId: '',
    retryMs: 0,
    attempt: 0,
    hasHadToken: false,
    stoodMs: 0,
    lastLifeMs: undefined,
    down: undefined,
    blind: undefined,
    resync: { sinceMs: undefined, dueMs: undefined },
    hold: undefined,
    partialBytes: 0,
  };
}

/** One step: what follows from an event. The state that was given is left as it is. */
export function connectionState(
  state: ConnectionState,
  event: ConnectionEvent,
  now: Now,
): { state: ConnectionState; effects: ConnectionEffect[] } {
  if (state.phase.name === 'closed') return { state, effects: [] };
  const sleep = sleepBefore(state, now);
  const step: Step = {
    ...state,
    seen: { wallMs: now.wallMs, monotonicMs: now.monotonicMs },
    sleptMs: state.sleptMs + sleep.unknownMs,
    now,
    ms: now.monotonicMs + state.sleptMs + sleep.unknownMs,
    effects: [],
  };
  if (sleep.isSleep) wake(step);
  if (!('run' in event) || event.run === step.run) take(step, event);
  const { now: _now, ms: _ms, effects, ...next } = step;
  return { state: next, effects };
}

/** In how many whole milliseconds the machine wants a tick, if nothing else happens before. */
export function nextTickInMs(state: ConnectionState, monotonicMs: number): number {
  const pulseMs = Math.max(1, Math.min(PULSE_MS, state.settings.idleMs / 4));
  // Rounded up: what is left of a millisecond by the arithmetic of floating numbers would tick for ever.
  return Math.max(0, Math.min(pulseMs, Math.ceil(deadline(state) - monotonicMs - state.sleptMs)));
}

/** The state in the making: a copy that one step may change. */
type Step = { -readonly [Field in keyof ConnectionState]: ConnectionState[Field] } & {
  now: Now;
  /** The machine's own clock. */
  ms: number;
  effects: ConnectionEffect[];
};

function take(step: Step, event: ConnectionEvent): void {
  const { phase } = step;
  if (event.type === 'tick') passTime(step);
  else if (event.type === 'start') {
    step.down = { sinceMs: step.ms };
    attempt(step, step.lastEventId);
  } else if (phase.name === 'trying') {
    if (event.type === 'token') takeToken(step, event.token, phase);
    else if (event.type === 'opened') open(step, phase.lastEventId, event.headers);
    else if (event.type === 'ended') refuse(step, phase, event.ending);
  } else if (phase.name === 'open') {
    if (event.type === 'received') receive(step, event.received, phase);
    else if (event.type === 'hold') hold(step, phase, event.isHeld);
    else if (event.type === 'ended') fail(step, event.ending);
  }
}

// --- time

/** Whether the machine slept since the last event, and how much of that its monotonic clock does not know. */
function sleepBefore({ seen }: ConnectionState, now: Now): { isSleep: boolean; unknownMs: number } {
  if (seen === undefined) return { isSleep: false, unknownMs: 0 };
  const passedMs = now.monotonicMs - seen.monotonicMs;
  // A date set forward looks the same as a sleep that the monotonic clock stopped for: nothing is known of the time between.
  const unknownMs = now.wallMs - seen.wallMs - passedMs;
  if (unknownMs > SLEPT_MS) return { isSleep: true, unknownMs };
  return { isSleep: passedMs > PULSE_MS + SLEPT_MS, unknownMs: 0 };
}

/** After a sleep no connection is trusted, and whatever was waited for is over. */
function wake(step: Step): void {
  step.attempt = 0;
  if (step.down !== undefined) step.down = { ...step.down, sinceMs: step.ms };
  if (step.phase.name === 'pausing') attempt(step, step.lastEventId);
  else cut(step, 'slept', 'the machine slept, or its clock was set forward');
}

/** The time at which something is to be done though nothing happens. */
function deadline({ settings, phase, down, resync }: ConnectionState): number {
  const giveUpMs = down === undefined ? Number.POSITIVE_INFINITY : down.sinceMs + settings.giveUpAfterMs;
  switch (phase.name) {
    case 'trying': {
      const graceMs = phase.token === undefined ? TOKEN_GRACE_MS : 0;
      return Math.min(giveUpMs, phase.sinceMs + settings.timeoutMs + graceMs);
    }
    case 'open': {
      const idleMs = phase.isHeld ? Number.POSITIVE_INFINITY : phase.silentSinceMs + settings.idleMs;
      return Math.min(idleMs, resync.dueMs ?? Number.POSITIVE_INFINITY);
    }
    case 'pausing':
      return Math.min(giveUpMs, phase.untilMs);
    case 'closed':
      return Number.POSITIVE_INFINITY;
  }
}

function passTime(step: Step): void {
  if (step.ms < deadline(step)) return;
  const { settings, phase, down } = step;
  const seconds = settings.timeoutMs / 1000;
  if (down !== undefined && step.ms >= down.sinceMs + settings.giveUpAfterMs) giveUp(step, down);
  else if (phase.name === 'pausing') attempt(step, step.lastEventId);
  else if (phase.name === 'open') passTimeOpen(step, phase);
  else if (phase.name === 'trying' && phase.token === undefined) cutWith(step, 'token', lateToken(seconds));
  else cut(step, 'timeout', `no answer from ${settings.origin} within ${seconds} s`);
}

function passTimeOpen(step: Step, phase: Phase & { name: 'open' }): void {
  // The same sum as the deadline: a difference would be rounded otherwise, and ask for the list again and again.
  if (!phase.isHeld && step.ms >= phase.silentSinceMs + step.settings.idleMs) {
    cut(step, 'idle', `nothing came for ${Math.round((step.ms - phase.silentSinceMs) / 1000)} s`);
    return;
  }
  settleGap(step, phase, false);
  resyncNow(step);
}

function lateToken(seconds: number): FleetError {
  return new FleetError('config', `no token came within ${seconds} s`, {
    hint: 'look at the token command or file with "fleet auth status", or give more time with --timeout',
  });
}

// --- towards a connection

function attempt(step: Step, lastEventId: string, refusal?: { token: string; ending: Ending | Failure }): void {
  step.run++;
  const about = refusal === undefined ? {} : { refusal: refusal.ending };
  step.phase = { name: 'trying', sinceMs: step.ms, lastEventId, ...about };
  step.effects.push({ type: 'try', run: step.run, lastEventId, refused: refusal?.token });
}

function takeToken(step: Step, token: string | undefined, phase: Phase & { name: 'trying' }): void {
  if (token !== undefined) {
    step.hasHadToken = true;
    step.phase = { ...phase, sinceMs: step.ms, token };
  } else if (phase.refusal !== undefined) fail(step, phase.refusal);
}

function open(step: Step, lastEventId: string, headers: Headers): void {
  const isReturn = step.lastLifeMs !== undefined;
  const at = stamp(step);
  emit(step, { type: 'open', ...at, isReturn, trace: traceOf(headers) });
  const sinceMs = step.ms;
  const life = { sinceMs, silentSinceMs: sinceMs, isHeld: false };
  step.phase = { name: 'open', ...at, ...life, lastEventId, answeredAtMs: answeredAtMs(headers) };
  step.lastEventId = lastEventId;
  step.lastLifeMs = step.ms;
  step.down = undefined;
  step.hold = undefined;
  step.partialBytes = 0;
  if (!isReturn) emit(step, { type: 'resync', ...at, sinceWallMs: undefined });
  if (step.blind === undefined) return;
  wantResync(step, step.blind.fromMs);
  if (lastEventId === '') settleGap(step, step.phase, false);
}

// --- while it stands

function receive(step: Step, received: Received, phase: Phase & { name: 'open' }): void {
  const { messages, tooBigBytes, firstId } = received;
  step.lastLifeMs = step.ms;
  step.phase = { ...phase, silentSinceMs: step.ms };
  if (step.blind !== undefined && (firstId !== undefined || messages.length > 0)) {
    const isAtOnce = step.ms - phase.sinceMs <= AT_ONCE_MS;
    const { lastEventId: lastId, answeredAtMs: answered } = phase;
    settleGap(step, phase, isContinuation({ lastId, firstId, answeredAtMs: answered, isAtOnce }));
  }
  for (const bytes of tooBigBytes) passOver(step, bytes);
  for (const { data, name } of messages) emit(step, { type: 'message', ...stamp(step), data, name });
  step.lastEventId = received.lastEventId;
  step.retryMs = received.retryMs ?? step.retryMs;
  step.partialBytes = received.partialBytes;
}

function passOver(step: Step, bytes: number): void {
  const message = `an event of ${bytes} bytes was skipped: it is above the limit for one event`;
  emit(step, eventGap(stamp(step), 'too-big', message));
  wantResync(step, step.ms);
}

/** Holds with hardly any reading between them are one: the reader never caught up. */
function hold(step: Step, phase: Phase & { name: 'open' }, isHeld: boolean): void {
  const before = step.hold;
  step.phase = { ...phase, isHeld, silentSinceMs: step.ms };
  if (!isHeld) step.hold = before === undefined ? undefined : { ...before, untilMs: step.ms };
  else if (before === undefined || step.ms - (before.untilMs ?? step.ms) >= SLOW_READER_MS)
    step.hold = { sinceMs: step.ms, untilMs: undefined };
  else step.hold = { ...before, untilMs: undefined };
}

// --- what was missed

/** Reports the blindness that ended when the connection came to stand. */
function settleGap(step: Step, opened: Phase & { name: 'open' }, replayed: boolean): void {
  const { blind } = step;
  if (blind === undefined) return;
  step.blind = undefined;
  const { topic, atMs, monotonicMs, sinceMs } = opened;
  const { cause, message, isCutOff } = blind;
  const durationMs = sinceMs - blind.fromMs;
  const span = { fromWallMs: atMs - durationMs, durationMs };
  const droppedEvents = isCutOff && !replayed ? 1 : 0;
  emit(step, { type: 'gap', topic, atMs, monotonicMs, cause, message, ...span, replayed, droppedEvents });
}

function wantResync(step: Step, sinceMs: number): void {
  step.resync = { sinceMs: Math.min(sinceMs, step.resync.sinceMs ?? sinceMs), dueMs: step.ms + REPLAY_CHANCE_MS };
}

function resyncNow(step: Step): void {
  const sinceMs = step.ms - (step.resync.sinceMs ?? step.ms);
  step.resync = { sinceMs: undefined, dueMs: undefined };
  emit(step, { type: 'resync', ...stamp(step), sinceWallMs: step.now.wallMs - sinceMs });
}

// --- ends

export type Failure = Omit<Ending, 'cause'> & { cause: Cause };

/** A connection was not made: with 401 a newer token is asked for, another 4xx is tried without the last id. */
function refuse(
  step: Step,
  { token, refusal, lastEventId }: Phase & { name: 'trying' },
  ending: Ending | Failure,
): void {
  const status = ending.answer?.status;
  // A source whose renewal failed gives the refused token again: each try may renew it anew, and only once.
  if (status === 401 && token !== undefined && refusal === undefined) attempt(step, lastEventId, { token, ending });
  else if (isRefusal(ending) && status !== 401 && lastEventId !== '') attempt(step, '');
  else fail(step, ending);
}

/** Ends the connection of the moment, because it is of no more use. */
function cut(step: Step, cause: Cause, message: string): void {
  cutWith(step, cause, new FleetError('network', message));
}

function cutWith(step: Step, cause: Cause, error: FleetError): void {
  step.effects.push({ type: 'disconnect', error });
  fail(step, { cause, error });
}

/** What every failure leads to: the end, or a pause and another try. */
function fail(step: Step, ending: Ending | Failure): void {
  const { cause, error } = step.phase.name === 'open' ? lose(step, step.phase, ending) : blame(ending);
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
  const { pauseMs, cappedFromMs } = pauseBefore(step, headers);
  const retryInMs = Math.min(leftMs, pauseMs);
  const blindMs = step.lastLifeMs === undefined ? 0 : step.ms - (step.blind?.fromMs ?? step.lastLifeMs);
  const lastLifeWallMs = step.lastLifeMs === undefined ? undefined : step.now.wallMs - blindMs;
  const capped = cappedFromMs === undefined ? {} : { cappedFromMs };
  const lost = { ...failure, lastLifeWallMs, blindMs, attempt: step.attempt, retryInMs, ...capped };
  emit(step, { type: 'lost', ...stamp(step), ...lost });
  step.phase = { name: 'pausing', untilMs: step.ms + retryInMs };
}

/** An open connection is lost: the blindness begins, where the reader held it back or at the last sign of life. */
function lose(
  step: Step,
  phase: Phase & { name: 'open' },
  ending: Ending | Failure,
): { cause: Cause; error: FleetError } {
  const stoodMs = step.ms - phase.sinceMs;
  step.stoodMs += stoodMs;
  if (stoodMs >= STEADY_MS) step.attempt = 0;
  settleGap(step, phase, false);
  step.resync = { ...step.resync, dueMs: undefined };
  const isCutOff = step.partialBytes > 0;
  const { cause, error } = blame(ending, step.partialBytes, holdToBlame(step, ending.cause));
  const lifeMs = step.lastLifeMs ?? step.ms;
  const fromMs = cause === 'slow-reader' || phase.isHeld ? Math.min(lifeMs, step.hold?.sinceMs ?? lifeMs) : lifeMs;
  step.blind = { fromMs, cause, message: error.message, isCutOff };
  step.down = { sinceMs: step.ms };
  return { cause, error };
}

/** How long the reader held the stream back, where that may be why it broke; else 0. */
function holdToBlame({ hold: held, ms, settings }: Step, cause: Failure['cause'] | Ending['cause']): number {
  if (held === undefined || (cause !== 'ended' && cause !== 'network')) return 0;
  const untilMs = held.untilMs ?? ms;
  const heldMs = untilMs - held.sinceMs;
  return heldMs >= SLOW_READER_MS && ms - untilMs <= settings.idleMs ? heldMs : 0;
}

/** Names the cause behind an ending: an event that was cut off, a slow reader. */
function blame(ending: Ending | Failure, partialBytes = 0, heldMs = 0): { cause: Cause; error: FleetError } {
  const cause = ending.cause === 'aborted' ? 'network' : ending.cause;
  const isCut = partialBytes > 0 && (cause === 'ended' || cause === 'network');
  const error = isCut
    ? new FleetError('network', `the connection ended in the middle of an event, after ${partialBytes} bytes of it`)
    : ending.error;
  if (heldMs === 0) return { cause: isCut ? 'cut-off' : cause, error };
  const message = `the reader of the output held the stream back for ${(heldMs / 1000).toFixed(1)} s, then ${error.message}`;
  const hint = 'use a faster reader, or write to a file first';
  return { cause: 'slow-reader', error: new FleetError('network', message, { cause: error, hint }) };
}

/** A status that says no to this request: asking again as it is changes nothing. */
function isRefusal({ cause, answer }: Ending | Failure): boolean {
  const status = answer?.status ?? 0;
  return cause === 'status' && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** "Ends that are final": nothing that happens later can change the answer. */
function isFinal(step: Step, cause: Cause, ending: Ending | Failure): boolean {
  // Without a token at the start the settings are wrong; later the token command may fail for want of a network.
  const isRenewal = step.phase.name === 'trying' && step.phase.refusal !== undefined;
  if (cause === 'token') return step.lastLifeMs === undefined && (isRenewal || !step.hasHadToken);
  const status = ending.answer?.status;
  if (cause === 'status' && status === 204) return true;
  if (!isRefusal(ending)) return false;
  const mayPass = status === 401 || status === 403 || status === 404;
  const downMs = step.ms - (step.down?.sinceMs ?? step.ms);
  return !(mayPass && step.stoodMs >= HEALTHY_MS && downMs < REFUSED_AGAIN_MS);
}

function giveUp(step: Step, down: { sinceMs: number; error?: FleetError }): void {
  const seconds = Math.round((step.ms - down.sinceMs) / 1000);
  const { phase } = step;
  const isAsking = phase.name === 'trying' && phase.token === undefined;
  const missing = isAsking ? 'no token came' : `no answer from ${step.settings.origin}`;
  const last = down.error ?? new FleetError('network', missing);
  const error = new FleetError(
    last.kind === 'service' ? 'service' : 'network',
    `gave up after ${seconds} s without the stream: ${last.message}`,
    {
      status: last.status,
      trace: last.trace,
      cause: last,
      hint: 'leave out --give-up-after to try for ever',
    },
  );
  if (phase.name === 'trying') step.effects.push({ type: 'disconnect', error });
  close(step, error);
}

function close(step: Step, error: FleetError): void {
  step.phase = { name: 'closed' };
  emit(step, { type: 'closed', ...stamp(step), error });
}

/**
 * Milliseconds to wait before the next try: never less than the service asked for (`retry:`, `Retry-After`), five minutes at
 * most, and spread by full jitter so that a fleet of watches does not come back in step.
 */
function pauseBefore(
  { attempt, retryMs, now }: Step,
  headers: Headers | undefined,
): { pauseMs: number; cappedFromMs?: number } {
  // A date in `Retry-After` is of the service's clock, which its `Date` shows.
  const retryAfterMs = readRetryAfter(headers?.['retry-after'], answeredAtMs(headers) ?? now.wallMs) ?? 0;
  const askedMs = Math.max(retryMs, retryAfterMs);
  const longestMs = doublingPauseMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  const spreadMs = now.random * longestMs;
  if (askedMs > LONGEST_ASKED_PAUSE_MS)
    return { pauseMs: Math.round(LONGEST_ASKED_PAUSE_MS - spreadMs), cappedFromMs: askedMs };
  return { pauseMs: Math.round(Math.min(LONGEST_ASKED_PAUSE_MS, askedMs + spreadMs)) };
}

// --- events

function emit(step: Step, event: StreamEvent): void {
  step.effects.push({ type: 'emit', event });
}

function stamp({ settings, now }: Step): Happened {
  return { topic: settings.topic, atMs: now.wallMs, monotonicMs: now.monotonicMs };
}
