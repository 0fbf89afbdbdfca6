// Faults on request: how they are written, and whether one strikes now (cli.md, sandbox and demo).
import type { Random } from './random.js';

/** What a fault may look at before it strikes. */
export interface FaultTarget {
  server: 'api' | 'push';
  method: string;
  /** The raw request target, query included. */
  path: string;
}

/** Which requests a fault may strike; all of them when absent. Only code can say it, not the command line. */
export interface FaultScope {
  only?: (request: FaultTarget) => boolean;
}

/**
 * `noreplay`: what came while a subscription was down is not sent again, whatever Last-Event-ID says; `resend`: all that is kept is sent again,
 * seen or not. `norented`: what a bicycle is while it is rented is told to its rider alone; to others, that it left the state before.
 * `shrink`: a list of several pages loses its first bicycle once its first page was sent. `nocount`: no list says how many it has.
 * `nodate`: no answer has a `Date`.
 * `links`: lists have `links.next`, `data` and `meta.pagination`. `linkheader`: lists are bare arrays with a `Link` header.
 * `latin1`: answers are encoded in iso-8859-1, and say so. `trim`: texts of creations and edits lose
 * the white space at their ends.
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
  /** Every answer, and every opening of a stream, comes that much later. */
  | ({ kind: 'latency'; milliseconds: number } & FaultScope)
  /** That share of the requests (0 to 1), or the next `times` ones, is refused unperformed; 429 says Retry-After: 1. */
  | ({ kind: 'error'; status: number; share: number; times?: number } & FaultScope)
  /** That share of the requests, or the next `times` ones, is performed, then the socket dies before the answer. */
  | ({ kind: 'cut'; share: number; times?: number } & FaultScope)
  /** A push connection is cut that long after it was opened. */
  | { kind: 'drop'; milliseconds: number }
  /** A push connection goes silent, no heartbeat either, that long after it was opened. */
  | { kind: 'stall'; milliseconds: number }
  | { kind: Habit }
  /** The same user may act on the same bicycle so often only; else 429. */
  | { kind: 'throttle'; milliseconds: number }
  /** A list of bicycles answers what it answered to the same question up to that long ago, as a replica that lags. */
  | { kind: 'lag'; milliseconds: number }
  /** The same, from a cache in front of the service: the copy has `Age` and the `Date` of the stored answer. */
  | { kind: 'cache'; milliseconds: number }
  /** A token counts as expired that long after it was handed out; its push connections are closed then. */
  | { kind: 'expire'; milliseconds: number };

const FORMS =
  'latency=200ms, error=503:5%, error=503:2x, cut=5%, cut=1x, drop=30s, stall=30s, noreplay, resend, norented, shrink, nocount, nodate, links, linkheader, latin1, trim, lag=3s, cache=60s, throttle=5s or expire=60s (times in ms, s, m or h)';

/** What takes a time. */
const TIMED = ['latency', 'drop', 'stall', 'lag', 'cache', 'throttle', 'expire'] as const;

const UNITS_MS: { [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Reads a fault as the command line writes it: `latency=200ms`, `error=503:5%`, `error=503:2x` (the next two),
 * `cut=5%`, `drop=30s`, `stall=30s`, `noreplay`, `resend`, `norented`, `shrink`, `nocount`, `nodate`, `links`, `linkheader`, `latin1`, `trim`, `lag=3s`, `cache=60s`, `throttle=5s`, `expire=60s`. Throws an Error that names the form when it is written otherwise.
 */
export function parseFault(text: string): Fault {
  const [kind = '', value = ''] = text.split(/=(.*)/s);
  const [, status = '', amount = kind === 'error' ? '100%' : value] =
    /^([45]\d\d)(?::(.+))?$/.exec(value) ?? [];
  const [, time, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value) ?? [];
  const [, percent, times] = /^(?:(\d+(?:\.\d+)?)%|(\d+)x)$/.exec(amount) ?? [];
  const milliseconds = Number(time) * (UNITS_MS[unit] ?? 1);
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

/** What the faults of the moment do; both servers ask it. */
export type Faults = ReturnType<typeof createFaults>;

/** Keeps the faults of the moment; which request a share strikes follows from the seed. */
export function createFaults(random: Random, initial: readonly Fault[]) {
  // Copies, because the number of times left is counted down here.
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
    /** How long this request has to wait, in milliseconds. */
    latencyMs(request: FaultTarget): number {
      const late = ofKind('latency').filter(({ only }) => only?.(request) !== false);
      return late.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
    },
    /** The status that is answered instead of performing the request, if any. */
    errorStatus: (request: FaultTarget) =>
      ofKind('error').find((fault) => strikes(fault, request))?.status,
    /** Whether the socket dies instead of answering. */
    cuts: (request: FaultTarget) => ofKind('cut').some((fault) => strikes(fault, request)),
    has: (habit: Habit) => current.some(({ kind }) => kind === habit),
    /** The time of a fault in milliseconds, if there is one. */
    durationMs: (kind: 'drop' | 'stall' | 'lag' | 'cache' | 'throttle' | 'expire') =>
      ofKind(kind)[0]?.milliseconds,
  };
}
