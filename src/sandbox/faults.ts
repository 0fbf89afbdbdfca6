// Faults that can be requested: their syntax, and when they apply (cli.md, sandbox and demo).

import type { Random } from '../system/random.js';
import { TYPED_UNITS_MS } from '../system/time-units.js';

/** The properties of a request that decide whether a fault applies to it. */
export interface FaultTarget {
  server: 'api' | 'push';
  method: string;
  /** The raw request target with its query. */
  path: string;
}

/**
 * The requests to which a fault applies. By default, it applies to all requests. `only` can be set
 * in code, but not with the option `--fault`.
 */
export interface FaultScope {
  only?: (request: FaultTarget) => boolean;
}

/**
 * - `noreplay`: after an interruption, missed events are not sent again, regardless of
 *   Last-Event-ID.
 * - `resend`: all stored events are sent again, even those that were already received.
 * - `norented`: while a bicycle is rented, only its rider receives its state. Other subscribers
 *   receive only the message that the bicycle left the previous state.
 * - `shrink`: a multi-page list loses its first bicycle after its first page was sent.
 * - `nocount`: lists have no count.
 * - `nodate`: responses have no `Date`.
 * - `links`: lists have `links.next`, `data` and `meta.pagination`.
 * - `linkheader`: lists are bare arrays with a `Link` header.
 * - `latin1`: responses are encoded in iso-8859-1 and declare this charset.
 * - `trim`: text values of create and edit requests lose leading and trailing white space.
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
  /** Delays every response, and the opening of every stream, by this time. */
  | ({ kind: 'latency'; milliseconds: number } & FaultScope)
  /**
   * Refuses a share of the requests (0 to 1), or the next `times` requests, without carrying them
   * out. A 429 response has `Retry-After: 1`.
   */
  | ({ kind: 'error'; status: number; share: number; times?: number } & FaultScope)
  /**
   * Closes the socket before the response is sent. Applies to a share of the requests, or to the
   * next `times` requests. The requests are carried out.
   */
  | ({ kind: 'cut'; share: number; times?: number } & FaultScope)
  /** Closes a push connection this long after it was opened. */
  | { kind: 'drop'; milliseconds: number }
  /** Delays every event of the push channel by this time. */
  | { kind: 'late'; milliseconds: number }
  /** Silences a push connection, including its heartbeats, this long after it was opened. */
  | { kind: 'stall'; milliseconds: number }
  | { kind: Habit }
  /**
   * The same user can act on the same bicycle only once within this time. A second request is
   * answered with 429.
   */
  | { kind: 'throttle'; milliseconds: number }
  /**
   * For this long, the sandbox may answer a request for the list of bicycles with its earlier
   * response to the same request, like a lagging replica.
   */
  | { kind: 'lag'; milliseconds: number }
  /**
   * Like `lag`, but the old response comes from a cache in front of the service. It has an `Age`
   * header, and the `Date` of the original response.
   */
  | { kind: 'cache'; milliseconds: number }
  /**
   * A token expires this long after it was issued. Its push connections are closed at that time.
   */
  | { kind: 'expire'; milliseconds: number };

const FORMS =
  'latency=200ms, error=503:5%, error=503:2x, cut=5%, cut=1x, drop=30s, stall=30s, late=45s, noreplay, resend, norented, shrink, nocount, nodate, links, linkheader, latin1, trim, lag=3s, cache=60s, throttle=5s or expire=60s (times in ms, s, m or h)';

/** The kinds of faults that have a duration. */
const TIMED = ['latency', 'drop', 'stall', 'late', 'lag', 'cache', 'throttle', 'expire'] as const;

/**
 * Parses a fault from the command line: `latency=200ms`, `error=503:5%`, `error=503:2x` (the next
 * two), `cut=5%`, `drop=30s`, `stall=30s`, `late=45s`, `noreplay`, `resend`, `norented`, `shrink`,
 * `nocount`, `nodate`, `links`, `linkheader`, `latin1`, `trim`, `lag=3s`, `cache=60s`,
 * `throttle=5s`, `expire=60s`. Throws an Error that shows the syntax for any other text.
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

/** The faults that are in effect. Both servers check them. */
export type Faults = ReturnType<typeof createFaults>;

/**
 * Creates the faults that are in effect. If a fault applies to a share of the requests, the seed
 * determines which requests are affected.
 */
export function createFaults(random: Random, initial: readonly Fault[]) {
  // The faults are copied because the copy counts down how many times each fault may still occur.
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
    /** Returns the delay of the response to this request, in milliseconds. */
    latencyMs(request: FaultTarget): number {
      const late = ofKind('latency').filter(({ only }) => only?.(request) !== false);
      return late.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
    },
    /**
     * Returns the status with which the request is refused, or undefined when it is carried out.
     */
    errorStatus: (request: FaultTarget) =>
      ofKind('error').find((fault) => strikes(fault, request))?.status,
    /** Whether the socket is closed before the response. */
    cuts: (request: FaultTarget) => ofKind('cut').some((fault) => strikes(fault, request)),
    has: (habit: Habit) => current.some(({ kind }) => kind === habit),
    /**
     * Returns the duration that a fault was configured with, in milliseconds. Undefined when the
     * fault is not in effect.
     */
    durationMs: (kind: 'drop' | 'stall' | 'late' | 'lag' | 'cache' | 'throttle' | 'expire') =>
      ofKind(kind)[0]?.milliseconds,
  };
}
