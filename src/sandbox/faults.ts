// Faults on request: their syntax, and when they apply (cli.md, sandbox and demo).

import type { Random } from '../system/random.js';
import { TYPED_UNITS_MS } from '../system/time-units.js';

/** The properties of a request that decide whether a fault applies. */
export interface FaultTarget {
  server: 'api' | 'push';
  method: string;
  /** The raw request target with its query. */
  path: string;
}

/**
 * The requests to which a fault applies. Default: all. Can only be set in code, not on the command
 * line.
 */
export interface FaultScope {
  only?: (request: FaultTarget) => boolean;
}

/**
 * - `noreplay`: events during an interruption are not sent again, regardless of Last-Event-ID.
 * - `resend`: all kept events are sent again, even those already received.
 * - `norented`: while a bicycle is rented, only its rider gets its state; others only learn that it
 *   left the previous state.
 * - `shrink`: a list of several pages loses its first bicycle after its first page was sent.
 * - `nocount`: lists have no count.
 * - `nodate`: answers have no `Date`.
 * - `links`: lists have `links.next`, `data` and `meta.pagination`.
 * - `linkheader`: lists are bare arrays with a `Link` header.
 * - `latin1`: answers are encoded in iso-8859-1 and declare it.
 * - `trim`: texts of creations and edits lose white space at their ends.
 */
const HABITS = [
  'noreplay',
  'resend',
  'norented',
  'shrink',
  'nocount',
  'nodate',
  'links',
  'linkheader',
  'latin1',
  'trim',
] as const;
type Habit = (typeof HABITS)[number];

export type Fault =
  /** Delays every answer, and every opening of a stream, by this time. */
  | ({ kind: 'latency'; milliseconds: number } & FaultScope)
  /**
   * Refuses this share of the requests (0 to 1), or the next `times` ones, without performing them.
   * 429 has Retry-After: 1.
   */
  | ({ kind: 'error'; status: number; share: number; times?: number } & FaultScope)
  /**
   * Performs this share of the requests, or the next `times` ones, but closes the socket before the
   * answer.
   */
  | ({ kind: 'cut'; share: number; times?: number } & FaultScope)
  /** Cuts a push connection this long after it was opened. */
  | { kind: 'drop'; milliseconds: number }
  /** Delivers every event of the push channel this long after it was published. */
  | { kind: 'late'; milliseconds: number }
  /** Silences a push connection, including its heartbeats, this long after it was opened. */
  | { kind: 'stall'; milliseconds: number }
  | { kind: Habit }
  /** The same user may act on the same bicycle only once in this time; otherwise 429. */
  | { kind: 'throttle'; milliseconds: number }
  /**
   * A list of bicycles may repeat an answer to the same request for this time, like a lagging
   * replica.
   */
  | { kind: 'lag'; milliseconds: number }
  /**
   * Like `lag`, but from a cache in front of the service: the copy has `Age` and the `Date` of the
   * stored answer.
   */
  | { kind: 'cache'; milliseconds: number }
  /** A token expires this long after it was issued; its push connections are closed then. */
  | { kind: 'expire'; milliseconds: number };

const FORMS =
  'latency=200ms, error=503:5%, error=503:2x, cut=5%, cut=1x, drop=30s, stall=30s, late=45s, noreplay, resend, norented, shrink, nocount, nodate, links, linkheader, latin1, trim, lag=3s, cache=60s, throttle=5s or expire=60s (times in ms, s, m or h)';

/** Faults with a time. */
const TIMED = ['latency', 'drop', 'stall', 'late', 'lag', 'cache', 'throttle', 'expire'] as const;

/**
 * Parses a fault from the command line: `latency=200ms`, `error=503:5%`, `error=503:2x` (the next
 * two), `cut=5%`, `drop=30s`, `stall=30s`, `late=45s`, `noreplay`, `resend`, `norented`, `shrink`, `nocount`,
 * `nodate`, `links`, `linkheader`, `latin1`, `trim`, `lag=3s`, `cache=60s`, `throttle=5s`,
 * `expire=60s`. Throws an Error with the syntax for other text.
 */
export function parseFault(text: string): Fault {
  const [kind = '', value = ''] = text.split(/=(.*)/s);
  const [, status = '', amount = kind === 'error' ? '100%' : value] =
    /^([45]\d\d)(?::(.+))?$/.exec(value) ?? [];
  const [, time, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value) ?? [];
  const [, percent, times] = /^(?:(\d+(?:\.\d+)?)%|(\d+)x)$/.exec(amount) ?? [];
  const milliseconds = Number(time) * (TYPED_UNITS_MS[unit as keyof typeof TYPED_UNITS_MS] ?? 1);
  const often =
    times === undefined ? { share: Number(percent) / 100 } : { share: 1, times: Number(times) };
  if (HABITS.some((name) => name === text)) return { kind: text as Habit };
  if (TIMED.some((name) => name === kind) && time !== undefined)
    return { kind: kind as 'drop', milliseconds };
  if (kind === 'error' && status !== '' && often.share <= 1)
    return { kind, status: Number(status), ...often };
  if (kind === 'cut' && status === '' && often.share <= 1) return { kind, ...often };
  throw new Error(`cannot read the fault "${text}"; faults: ${FORMS}`);
}

/** The current faults, which both servers check. */
export type Faults = ReturnType<typeof createFaults>;

/** Creates the current faults. The seed determines the requests that a share applies to. */
export function createFaults(random: Random, initial: readonly Fault[]) {
  // Copies the faults, because this code counts down how often each still occurs.
  let current = initial.map((fault) => ({ ...fault }));

  function ofKind<Kind extends Fault['kind']>(kind: Kind): Extract<Fault, { kind: Kind }>[] {
    return current.filter((fault): fault is Extract<Fault, { kind: Kind }> => fault.kind === kind);
  }

  function strikes(
    fault: { share: number; times?: number } & FaultScope,
    request: FaultTarget,
  ): boolean {
    if (fault.only?.(request) === false || fault.times === 0) return false;
    if (fault.share < 1 && random() >= fault.share) return false;
    if (fault.times !== undefined) fault.times -= 1;
    return true;
  }

  return {
    set(faults: readonly Fault[]): void {
      current = faults.map((fault) => ({ ...fault }));
    },
    /** Returns how long this request must wait, in milliseconds. */
    latencyMs(request: FaultTarget): number {
      const late = ofKind('latency').filter(({ only }) => only?.(request) !== false);
      return late.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
    },
    /** Returns the status to answer instead of performing the request, or undefined. */
    errorStatus: (request: FaultTarget) =>
      ofKind('error').find((fault) => strikes(fault, request))?.status,
    /** Whether the socket is closed instead of answering. */
    cuts: (request: FaultTarget) => ofKind('cut').some((fault) => strikes(fault, request)),
    has: (habit: Habit) => current.some(({ kind }) => kind === habit),
    /** Returns the time of a fault in milliseconds, or undefined without this fault. */
    durationMs: (kind: 'drop' | 'stall' | 'late' | 'lag' | 'cache' | 'throttle' | 'expire') =>
      ofKind(kind)[0]?.milliseconds,
  };
}
