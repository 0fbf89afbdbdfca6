// The events of a live stream: immutable values with their times.
//
// Two clocks are used. `…WallMs` and `atMs` are times of the machine's clock in milliseconds since
// the epoch. They are only printed, and may jump. All durations are measured on the monotonic clock
// and are never negative.

import type { FleetError, Trace } from '../../errors.js';

/** Why a connection ended, or why an event that was sent did not arrive. */
export type Cause =
  /** The service closed the connection between two events. */
  | 'ended'
  /** The connection ended inside an event. */
  | 'cut-off'
  /** Connection refused or reset, DNS or TLS failure. */
  | 'network'
  /** No answer in time. */
  | 'timeout'
  /** An answer with a status other than 200. */
  | 'status'
  /**
   * An answer with the status 200 that is not an event stream, or that uses an unsupported
   * compression.
   */
  | 'no-stream'
  /** Silence for longer than the idle limit. */
  | 'idle'
  /** The token source failed. */
  | 'token'
  /** An event that arrived but cannot be read. */
  | 'broken'
  /** An event above the size limit. */
  | 'too-big';

/** The data of every event. */
export interface Happened {
  /** The topic that the user named, without URL encoding. */
  readonly topic: string;
  /** When the event happened, by the machine's clock. This time is only printed. */
  readonly atMs: number;
  /** The same moment on the monotonic clock, for durations and order. */
  readonly monotonicMs: number;
}

/** The connection is open. `isReturn` means that it was open before. */
export interface Opened extends Happened {
  readonly type: 'open';
  readonly isReturn: boolean;
  /** The topic of the subscription, if it differs from the topic that the user named. */
  readonly as?: string;
  /** The date of the service's answer, in milliseconds since the epoch. */
  readonly serviceMs?: number | undefined;
  readonly trace: Trace;
}

export interface Message extends Happened {
  readonly type: 'message';
  /** The data of the event, with lines joined by newlines. */
  readonly data: string;
}

/** A connection ended or an attempt failed. Another attempt follows. */
export interface Lost extends Happened {
  readonly type: 'lost';
  readonly cause: Cause;
  readonly error: FleetError;
  /**
   * The time when the last data arrived, derived from `atMs`; undefined before the first connection.
   */
  readonly lastLifeWallMs: number | undefined;
  /** The milliseconds since the last data arrived. It is 0 before the first connection. */
  readonly downMs: number;
  /** The number of failures since the last open connection, including this failure. */
  readonly attempt: number;
  readonly retryInMs: number;
  /**
   * The pause that the service requested with `retry:` or `Retry-After`, if it is longer than fleet
   * waits.
   */
  readonly cappedFromMs?: number;
}

/**
 * A gap that is over. It is reported before the first message after it. An event that could not be
 * read is a gap with `durationMs` 0. The gap ended at `atMs`.
 */
export interface Gap extends Happened {
  readonly type: 'gap';
  readonly cause: Cause;
  readonly message: string;
  /** The start of the gap, computed back from its end, so that it is never later than the end. */
  readonly fromWallMs: number;
  readonly durationMs: number;
  /**
   * Whether the service continued after the last received id, so that it resent the missing events.
   */
  readonly replayed: boolean;
  /**
   * The number of events that are known to be lost: they were cut off and not resent, or could not
   * be parsed, or were too big.
   */
  readonly droppedEvents: number;
  /** The beginning of an unreadable event, for `--verbose`. */
  readonly text?: string;
}

/**
 * Returns a gap record for an event that arrived but could not be parsed. `text` is the beginning
 * of the event.
 */
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

/**
 * The connection is open and the service had time to resend events. Consumers compare their data
 * now.
 */
export interface Resync extends Happened {
  readonly type: 'resync';
  /**
   * When the gap began, by the machine's clock. It is undefined for the resync after the first
   * connection.
   */
  readonly sinceWallMs: number | undefined;
}

/** The last event of a topic. fleet makes no further connection for it. */
export interface Closed extends Happened {
  readonly type: 'closed';
  readonly error: FleetError;
}

export type StreamEvent = Opened | Message | Lost | Gap | Resync | Closed;
