// A live stream: one connection a topic, each kept up for ever, and everything that happens to them told in order.

import { type Clock, sleep } from '../clock.js';
import { FleetError } from '../errors.js';
import type { Headers } from './exchange.js';
import { authorization, traceOf } from './headers.js';
import type { Network } from './network.js';
import { readRetryAfter } from './retry.js';
import { pauseBeforeReturn } from './stream/backoff.js';
import { connectOnce, type Ending } from './stream/connection.js';
import type { Cause, Gap, StreamEvent } from './stream/events.js';
import type { Tokens } from './types.js';

export interface Subscription {
  /** As it is told in the events. */
  topic: string;
  url: URL;
}

export interface StreamOptions {
  subscriptions: readonly Subscription[];
  apiVersion: string;
  /** How long connecting and the answer's head may take together; lifted once the stream stands. */
  timeoutMs: number;
  /** How long silence may last before a connection counts as dead; comments end silence. */
  idleMs: number;
  /** How long the stream may be down before it is given up; undefined is for ever. */
  giveUpAfterMs?: number;
  network: Network;
  tokens: Tokens;
  clock: Clock;
  /** Ends everything. */
  signal: AbortSignal;
  /** Takes each event; `size` is its weight in characters. */
  emit(event: StreamEvent, size?: number): void;
  /** A promise while the one who takes the events is behind: the sockets are held back until then. */
  room(): Promise<void> | undefined;
  onRequest(url: URL, headers: Headers): void;
  onAnswer(url: URL, status: number, headers: Headers, milliseconds: number): void;
}

/** How often life is looked for. Short against the idle limit; the clock's jumps show between two looks. */
const PULSE_MS = 1_000;
/** Two looks this much further apart than they should be: the machine slept. Above what a busy machine is ever late. */
const SLEPT_MS = 15_000;
/** A connection that stood this long was a good one: the next loss starts from the shortest pause again. */
const STEADY_MS = 5_000;
/** Assumed: a service that replays what was missed begins at once. What comes later is told apart by its content. */
const REPLAY_CHANCE_MS = 1_000;
/** A reader that held the stream back for this long is slow, not just busy. */
const SLOW_READER_MS = 1_000;

/**
 * Section 4.6: "Authentication and headers work as for ordinary requests", so the version is named as section 9 says.
 * Assumed: for the stream's own media type as well as for JSON, which errors come in.
 */
export function acceptStream(version: string): string {
  return `text/event-stream; version=${version}, application/json; version=${version}`;
}

/** One topic's connection as the pulse sees it. */
interface Follower {
  pulse(now: number, slept: boolean): void;
}

/**
 * Follows all subscriptions until the signal is aborted or one of them is closed for good, and resolves then. Final are
 * 204, 401 with a renewed token, 403, 404 and other 4xx; everything else is tried again: end of stream, reset, refused,
 * DNS, TLS, 408, 429, 5xx, a wrong content type, silence beyond the idle limit. Every connection asks for the token anew.
 */
export async function followStream(options: StreamOptions): Promise<void> {
  const { clock } = options;
  const end = new AbortController();
  const onAbort = () => end.abort(options.signal.reason);
  if (options.signal.aborted) return;
  options.signal.addEventListener('abort', onAbort, { once: true });
  const followers: Follower[] = [];
  let callOff = () => {};
  let lastPulseAt = clock.wallMs();
  const pulseMs = Math.max(1, Math.min(PULSE_MS, options.idleMs / 4));
  const pulse = () => {
    const now = clock.wallMs();
    const slept = now - lastPulseAt > pulseMs + SLEPT_MS;
    lastPulseAt = now;
    for (const follower of followers) follower.pulse(now, slept);
    callOff = clock.after(pulseMs, pulse);
  };
  callOff = clock.after(pulseMs, pulse);
  try {
    await Promise.all(
      options.subscriptions.map(async (subscription) => {
        await follow(options, subscription, end.signal, (follower) => followers.push(follower));
        // One topic that is gone for good ends them all: a watch on half of what was asked for would be silent on the rest.
        end.abort();
      }),
    );
  } finally {
    callOff();
    options.signal.removeEventListener('abort', onAbort);
  }
}

/** Keeps one topic's connection up. Resolves when it is closed for good or the signal is aborted. */
async function follow(
  options: StreamOptions,
  { topic, url }: Subscription,
  signal: AbortSignal,
  register: (follower: Follower) => void,
): Promise<void> {
  const { clock, emit, tokens } = options;
  let lastEventId = '';
  let retryMs = 0;
  let attempt = 0;
  let lastLifeAt: Moment | undefined;
  /** The blindness that began with the last loss, while it lasts. */
  let blindness: (Pick<Gap, 'cause' | 'message' | 'droppedEvents'> & { from: Moment }) | undefined;
  let downSince = clock.monotonicMs();
  let isRenewed = false;

  /** The connection or the pause of the moment. */
  let phase = new AbortController();
  let cutBy: { cause: Cause; error: FleetError } | undefined;
  const cutPhase = (cause: Cause, message: string) => {
    cutBy ??= { cause, error: new FleetError('network', message) };
    phase.abort(cutBy.error);
  };
  const onAbort = () => phase.abort(signal.reason);
  signal.addEventListener('abort', onAbort);

  let isOpen = false;
  let silentSince = clock.wallMs();
  let heldSince: number | undefined;
  let lastHold: { until: number; milliseconds: number } | undefined;
  register({
    pulse(now, slept) {
      // A clock that was set back must not hide silence.
      silentSince = Math.min(silentSince, now);
      if (heldSince !== undefined) silentSince = now;
      if (slept) cutPhase('slept', 'the machine slept, or its clock was set forward');
      else if (isOpen && now - silentSince > options.idleMs) {
        cutPhase('idle', `nothing came for ${Math.round((now - silentSince) / 1000)} s`);
      }
    },
  });

  /** Since when the topic is blind without a resync; told with the next one. */
  let unsyncedSince: Moment | undefined;
  let isSyncedOnce = false;
  let callOffResync = () => {};
  const askForResync = (since: Moment | undefined, delayMs: number) => {
    unsyncedSince ??= since;
    callOffResync();
    callOffResync = clock.after(delayMs, () => {
      const now = readMoment(clock);
      const sinceMs = isSyncedOnce && unsyncedSince !== undefined ? now.monotonicMs - unsyncedSince.monotonicMs : 0;
      const sinceWallMs = isSyncedOnce ? now.atMs - sinceMs : undefined;
      emit({ type: 'resync', topic, ...now, sinceWallMs, sinceMs, replayed: false });
      isSyncedOnce = true;
      unsyncedSince = undefined;
    });
  };

  const onOpen = (headers: Headers) => {
    const now = readMoment(clock);
    isOpen = true;
    isRenewed = false;
    silentSince = now.atMs;
    const isReturn = lastLifeAt !== undefined;
    const downMs = isReturn ? now.monotonicMs - downSince : 0;
    emit({ type: 'open', topic, ...now, isReturn, downMs, trace: traceOf(headers) });
    if (blindness !== undefined) {
      const { from, ...rest } = blindness;
      const durationMs = now.monotonicMs - from.monotonicMs;
      emit({ type: 'gap', topic, ...now, fromWallMs: now.atMs - durationMs, durationMs, replayed: false, ...rest });
    }
    const since = blindness?.from;
    lastLifeAt = now;
    blindness = undefined;
    askForResync(since, since === undefined && !isSyncedOnce ? 0 : REPLAY_CHANCE_MS);
  };

  /** One connection, with a fresh token; undefined when a renewed token is to be tried at once. */
  const connect = async (): Promise<(Omit<Ending, 'cause'> & { cause: Cause }) | undefined> => {
    let token: string;
    const startedAt = clock.wallMs();
    try {
      token = await tokens.get();
    } catch (thrown) {
      return { cause: 'token', error: asTokenFailure(thrown), lastEventId, retryMs: undefined };
    }
    const callOffTimeout = clock.after(options.timeoutMs, () =>
      cutPhase('timeout', `no answer from ${url.origin} within ${options.timeoutMs / 1000} s`),
    );
    const ending = await connectOnce({
      dispatcher: options.network.dispatcher,
      url,
      headers: {
        accept: acceptStream(options.apiVersion),
        'cache-control': 'no-store',
        authorization: authorization(token),
      },
      lastEventId,
      signal: phase.signal,
      subject: `the subscription to ${topic}`,
      room: options.room,
      onRequest: options.onRequest,
      onAnswer: (answeredUrl, status, headers) =>
        options.onAnswer(answeredUrl, status, headers, clock.wallMs() - startedAt),
      onOpen(headers) {
        callOffTimeout();
        onOpen(headers);
      },
      onLife() {
        lastLifeAt = readMoment(clock);
        silentSince = lastLifeAt.atMs;
      },
      onHold(isHeld) {
        const now = clock.wallMs();
        if (isHeld) {
          heldSince = now;
          return;
        }
        const milliseconds = now - (heldSince ?? now);
        if (milliseconds >= SLOW_READER_MS) lastHold = { until: now, milliseconds };
        heldSince = undefined;
        silentSince = now;
      },
      onMessage: (data, name) =>
        emit({ type: 'message', topic, ...(lastLifeAt ?? readMoment(clock)), data, name }, data.length),
      onTooBig(bytes) {
        const now = readMoment(clock);
        const message = `an event of ${bytes} bytes was passed over: it is above the limit for one event`;
        const nothing = { fromWallMs: now.atMs, durationMs: 0, replayed: false };
        emit({ type: 'gap', topic, ...now, cause: 'too-big', message, ...nothing, droppedEvents: 1 });
        askForResync(now, REPLAY_CHANCE_MS);
      },
    });
    callOffTimeout();
    if (ending.cause === 'aborted') return { ...ending, ...(cutBy ?? { cause: 'network', error: ending.error }) };
    if (ending.answer?.status === 401 && !isRenewed) {
      isRenewed = true;
      try {
        if ((await tokens.renew(token)) !== undefined) return undefined;
      } catch (thrown) {
        return { ...ending, cause: 'token', error: asTokenFailure(thrown) };
      }
    }
    return { ...ending, cause: ending.cause };
  };

  try {
    while (!signal.aborted) {
      phase = new AbortController();
      cutBy = undefined;
      isOpen = false;
      const startedAt = clock.wallMs();
      const ending = await connect();
      if (signal.aborted) return;
      if (ending === undefined) continue;
      callOffResync();
      const now = clock.wallMs();
      const wasOpen = isOpen;
      isOpen = false;
      lastEventId = ending.lastEventId;
      retryMs = ending.retryMs ?? retryMs;
      if (wasOpen && now - startedAt >= STEADY_MS) attempt = 0;
      if (ending.cause === 'slept') attempt = 0;
      attempt++;

      const { cause, error } = blame(ending, wasOpen ? lastHold : undefined, now, options.idleMs);
      if (wasOpen && lastLifeAt !== undefined) {
        const droppedEvents = ending.cause === 'cut-off' ? 1 : 0;
        blindness = { from: lastLifeAt, cause, message: error.message, droppedEvents };
        downSince = clock.monotonicMs();
      }
      if (isFinal(ending, lastLifeAt !== undefined))
        return emit({ type: 'closed', topic, ...readMoment(clock), error });
      const downMs = clock.monotonicMs() - downSince;
      const leftMs = (options.giveUpAfterMs ?? Number.POSITIVE_INFINITY) - downMs;
      if (leftMs <= 0) return emit({ type: 'closed', topic, ...readMoment(clock), error: givenUp(error, downMs) });

      const askedMs = Math.max(retryMs, readRetryAfter(ending.answer?.headers['retry-after'], now) ?? 0);
      const retryInMs = Math.min(leftMs, pauseBeforeReturn(attempt, askedMs, clock.random));
      const lostAt = readMoment(clock);
      const blindMs = lastLifeAt === undefined ? 0 : lostAt.monotonicMs - lastLifeAt.monotonicMs;
      const lastLifeWallMs = lastLifeAt === undefined ? undefined : lostAt.atMs - blindMs;
      const life = { lastLifeWallMs, blindMs };
      emit({ type: 'lost', topic, ...lostAt, cause, error, ...life, downMs, attempt, retryInMs });
      phase = new AbortController();
      cutBy = undefined;
      lastHold = undefined;
      // `pulse` cuts the pause short when the machine slept: what was waited for is over.
      await sleep(clock, retryInMs, phase.signal).catch(() => {});
    }
  } finally {
    callOffResync();
    signal.removeEventListener('abort', onAbort);
  }
}

/** "Ends that are final": nothing that happens later can change the answer. */
function isFinal(ending: { cause: Cause; answer?: { status: number } }, stoodBefore: boolean): boolean {
  // Without a token at the start the settings are wrong; later the token command may fail for want of a network.
  if (ending.cause === 'token') return !stoodBefore;
  if (ending.cause !== 'status' || ending.answer === undefined) return false;
  const { status } = ending.answer;
  return status === 204 || (status >= 400 && status < 500 && status !== 408 && status !== 429);
}

/** One moment on both clocks. */
interface Moment {
  atMs: number;
  monotonicMs: number;
}

function readMoment(clock: Clock): Moment {
  return { atMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
}

/** Names a slow reader as the cause when the stream was held back shortly before it was lost. */
function blame(
  ending: { cause: Cause; error: FleetError },
  lastHold: { until: number; milliseconds: number } | undefined,
  now: number,
  idleMs: number,
): { cause: Cause; error: FleetError } {
  const { cause, error } = ending;
  const isBroken = cause === 'ended' || cause === 'cut-off' || cause === 'network';
  if (lastHold === undefined || !isBroken || now - lastHold.until > idleMs) return { cause, error };
  const seconds = (lastHold.milliseconds / 1000).toFixed(1);
  return {
    cause: 'slow-reader',
    error: new FleetError(
      'network',
      `the reader of the output held the stream back for ${seconds} s, then ${error.message}`,
      {
        cause: error,
        hint: 'let the reader be faster, or write to a file in between',
      },
    ),
  };
}

function givenUp(error: FleetError, downMs: number): FleetError {
  const kind = error.kind === 'service' ? 'service' : 'network';
  return new FleetError(kind, `gave up after ${Math.round(downMs / 1000)} s without the stream: ${error.message}`, {
    ...(error.status === undefined ? {} : { status: error.status }),
    trace: error.trace,
    cause: error,
    hint: 'leave out --give-up-after to try for ever',
  });
}

function asTokenFailure(thrown: unknown): FleetError {
  if (thrown instanceof FleetError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new FleetError('config', `no token could be had: ${message}`, { cause: thrown });
}
