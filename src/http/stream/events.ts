// The events of a live stream. Each event is an immutable value with the time at which it happened.
//
// There are two clocks. `…WallMs` and `atMs` come from the system clock, in milliseconds since the
// epoch. This clock may jump, so its times are only printed. Durations come from the monotonic
// clock and are never negative.

import type { FleetError, Trace } from '../../errors.js';

/** Why a connection ended or an event was lost. */
export type Cause =
  /** The service closed the connection between two events. */
  | 'ended'
  /** The connection ended in the middle of an event. */
  | 'cut-off'
  /** The connection was refused or reset, or DNS or TLS failed. */
  | 'network'
  /** No response arrived in time. */
  | 'timeout'
  /** The response has a status other than 200. */
  | 'status'
  /**
   * The response has the status 200 but is not an event stream, or uses an unsupported compression.
   */
  | 'no-stream'
  /** No data arrived for longer than the idle limit. */
  | 'idle'
  /** No token was available, because its source failed. */
  | 'token'
  /** An event arrived but could not be parsed. */
  | 'broken'
  /** An event exceeded the size limit. */
  | 'too-big';

/** The fields that every event has. */
export interface Happened {
  /** The topic that the user named, without URL encoding. */
  readonly topic: string;
  /** When the event happened, by the system clock. Use it only for printing. */
  readonly atMs: number;
  /** The same moment on the monotonic clock, for durations and order. */
  readonly monotonicMs: number;
}

/** A connection was opened. `isReturn` is true when it is a reconnect. */
export interface Opened extends Happened {
  readonly type: 'open';
  readonly isReturn: boolean;
  /** The subscribed topic, if it differs from the topic that the user named. */
  readonly as?: string;
  /** The `Date` header of the response, in milliseconds since the epoch. */
  readonly serviceMs?: number | undefined;
  readonly trace: Trace;
}

export interface Message extends Happened {
  readonly type: 'message';
  /** The data of the event, with lines joined by newlines. */
  readonly data: string;
}

/** A connection ended or could not be opened. Another attempt follows. */
export interface Lost extends Happened {
  readonly type: 'lost';
  readonly cause: Cause;
  readonly error: FleetError;
  /** When the last data arrived, by the system clock; undefined before the first connection. */
  readonly lastLifeWallMs: number | undefined;
  /** Milliseconds since the last data arrived; 0 before the first connection. */
  readonly downMs: number;
  /**
   * The number of consecutive failures, including this one. A connection that lasts some seconds
   * resets the number.
   */
  readonly attempt: number;
  readonly retryInMs: number;
  /**
   * The pause that the service requested with `retry:` or `Retry-After`. Set only when fleet waits
   * for a shorter time.
   */
  readonly cappedFromMs?: number;
}

/**
 * A period without events that is now over. It is reported before the first message after the gap.
 * An event that could not be read is also reported as a gap, with `durationMs` 0.
 */
export interface Gap extends Happened {
  readonly type: 'gap';
  readonly cause: Cause;
  readonly message: string;
  /**
   * When the gap began, by the system clock. It is computed as the end of the gap minus its
   * duration. The beginning is therefore never after the end, even when the clock was set back.
   */
  readonly fromWallMs: number;
  readonly durationMs: number;
  /**
   * Whether the service continued after the last received id, and therefore resent the missing
   * events.
   */
  readonly replayed: boolean;
  /**
   * The number of events that are definitely lost: they were too large, could not be parsed, or
   * were cut off and not resent.
   */
  readonly droppedEvents: number;
  /** The beginning of an event that could not be parsed, for `--verbose`. */
  readonly text?: string;
}

/**
 * Returns the gap for an event that could not be parsed or was too large. `text` is the beginning
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
 * Asks consumers to compare their data with the service. Emitted when the connection is open again
 * and the service has had time to resend missed events.
 */
export interface Resync extends Happened {
  readonly type: 'resync';
  /** When the gap began, by the system clock; undefined after the first connection. */
  readonly sinceWallMs: number | undefined;
}

/** The last event of a topic. Fleet does not reconnect to the topic after this event. */
export interface Closed extends Happened {
  readonly type: 'closed';
  readonly error: FleetError;
}

export type StreamEvent = Opened | Message | Lost | Gap | Resync | Closed;
