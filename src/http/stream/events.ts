// The events of a live stream: immutable values, each with its time.
//
// Two clocks are kept apart. `…WallMs` and `atMs` are the machine's date, in milliseconds since the epoch, for printing alone:
// it may jump both ways. Everything that is a duration was measured on the monotonic clock and is never negative.

import type { FleetError, Trace } from '../../errors.js';

/** Why a connection ended, or why something that was sent did not arrive. */
export type Cause =
  /** The service closed the connection between two events. */
  | 'ended'
  /** The connection ended in the middle of an event. */
  | 'cut-off'
  /** Refused, reset, DNS, TLS. */
  | 'network'
  /** No answer in time. */
  | 'timeout'
  /** An answer with a status other than 200. */
  | 'status'
  /** A 200 that is no event stream, or one in a compression that nobody asked for. */
  | 'no-stream'
  /** Silence for longer than the idle limit. */
  | 'idle'
  /** No token could be had. */
  | 'token'
  /** An event that arrived, but cannot be read. */
  | 'broken'
  /** An event above the size limit. */
  | 'too-big';

/** What every event says beside what happened. */
export interface Happened {
  /** The topic as it was asked for, not encoded. */
  readonly topic: string;
  /** When it happened, by the machine's date: for printing. */
  readonly atMs: number;
  /** The same moment on the monotonic clock: for durations and order. */
  readonly monotonicMs: number;
}

/** The connection stands. `isReturn`: it stood before. */
export interface Opened extends Happened {
  readonly type: 'open';
  readonly isReturn: boolean;
  /** The topic that was subscribed to, where it is another one than was asked for. */
  readonly as?: string;
  /** The service's date in its answer, in milliseconds since the epoch. */
  readonly serviceMs?: number | undefined;
  readonly trace: Trace;
}

export interface Message extends Happened {
  readonly type: 'message';
  /** The event's data as it came, lines joined with newlines; '' for an event with empty data. */
  readonly data: string;
}

/** A try that failed, or a connection that ended; another one follows. */
export interface Lost extends Happened {
  readonly type: 'lost';
  readonly cause: Cause;
  readonly error: FleetError;
  /** The last sign of life, counted back from `atMs`; undefined while the connection has never stood. */
  readonly lastLifeWallMs: number | undefined;
  /** How long ago that was: since then nothing is known. 0 while the connection has never stood. */
  readonly downMs: number;
  /** 1 for the first failure since the connection stood. */
  readonly attempt: number;
  readonly retryInMs: number;
  /** The pause that `retry:` or `Retry-After` asked for, where it is longer than the longest that is waited. */
  readonly cappedFromMs?: number;
}

/**
 * An outage that is over, reported before the first message after it; or something that arrived and could not be
 * read: then `durationMs` is 0. It ended at `atMs`.
 */
export interface Gap extends Happened {
  readonly type: 'gap';
  readonly cause: Cause;
  readonly message: string;
  /** When it began, counted back from its end: never after it, even where the machine's date was set back meanwhile. */
  readonly fromWallMs: number;
  readonly durationMs: number;
  /** The service went on after the last id that had come: what was sent meanwhile was delivered after all. */
  readonly replayed: boolean;
  /** Events known to be lost in it: cut off and not replayed, broken, too big. */
  readonly droppedEvents: number;
  /** The beginning of what could not be read, for `--verbose`. */
  readonly text?: string;
}

/** One event that arrived, and could not be read; `text` is its beginning. */
export function eventGap(
  { topic, atMs, monotonicMs }: Happened,
  cause: 'broken' | 'too-big',
  message: string,
  text?: string,
): Gap {
  const moment = { topic, atMs, monotonicMs, fromWallMs: atMs, durationMs: 0 };
  const said = text === undefined ? {} : { text };
  return { type: 'gap', ...moment, cause, message, replayed: false, droppedEvents: 1, ...said };
}

/** The connection stands and a replay has had its chance: who keeps a picture of the world compares it now. */
export interface Resync extends Happened {
  readonly type: 'resync';
  /** When the outage began whose changes are to be looked up; undefined after the very first opening. */
  readonly sinceWallMs: number | undefined;
}

/** No further connection will be tried for this topic; the last event of it. */
export interface Closed extends Happened {
  readonly type: 'closed';
  readonly error: FleetError;
}

export type StreamEvent = Opened | Message | Lost | Gap | Resync | Closed;
