// What a live stream tells, in the order in which it happened.

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
  /** The machine slept, or its clock was set forward. */
  | 'slept'
  /** The reader of our output held the stream back, and it was lost over that. */
  | 'slow-reader'
  /** No token could be had. */
  | 'token'
  /** An event that arrived, but cannot be read. */
  | 'broken'
  /** An event above the size limit. */
  | 'too-big';

interface Told {
  /** The topic as it was asked for, not encoded. */
  topic: string;
  /** Milliseconds since the epoch. */
  at: number;
}

/** The connection stands. `isReturn`: it stood before. */
export interface Opened extends Told {
  type: 'open';
  isReturn: boolean;
  trace: Trace;
}

export interface Message extends Told {
  type: 'message';
  /** The event's data as it came, lines joined with newlines; '' for an event with empty data. */
  data: string;
  /** The event's name; `message` when it had none. */
  name: string;
}

/** A try that failed, or a connection that ended; another one follows. */
export interface Lost extends Told {
  type: 'lost';
  cause: Cause;
  error: FleetError;
  /** The last sign of life, undefined while the connection has never stood. */
  lastLifeAt: number | undefined;
  /** 1 for the first failure since the connection stood. */
  attempt: number;
  retryInMs: number;
}

/** A time of blindness that is over, or something that arrived and could not be read: then `from` is `to`. */
export interface Gap extends Told {
  type: 'gap';
  cause: Cause;
  message: string;
  /** From the last sign of life to the return, in milliseconds since the epoch. */
  from: number;
  to: number;
  /** Events known to be lost in it: cut off, broken, too big. */
  droppedEvents: number;
  /** The beginning of what could not be read, for `--verbose`. */
  text?: string;
}

/** The connection stands and a replay has had its chance: who keeps a picture of the world compares it now. */
export interface Resync extends Told {
  type: 'resync';
  /** When the blindness began; undefined after the very first opening. */
  since: number | undefined;
}

/** No further connection will be tried for this topic. */
export interface Closed extends Told {
  type: 'closed';
  error: FleetError;
}

export type StreamEvent = Opened | Message | Lost | Gap | Resync | Closed;
