// Whether a service that was given the last event id went on from there: judged by the first id that came after it.

export interface Continuation {
  /** The id that the request named. */
  lastId: string;
  /** The first id that came; undefined when the first event had none. */
  firstId: string | undefined;
  /** The answer's own `Date`, in milliseconds since the epoch; undefined when it had none. */
  answeredAtMs: number | undefined;
  /** The event came together with the answer, or as good as. */
  isAtOnce: boolean;
}

/** Longer ids are compared as a whole only: numbers have fewer digits. */
const NUMBERED_ID_CHARACTERS = 100;
/** Years 2001 to 2286, in seconds or milliseconds: what a time at the beginning of an id looks like. */
const TIME_DIGITS = { 10: 1_000, 13: 1 } as const;

/**
 * True when nothing can have been missed: the id follows the last one directly, or names a time before the answer. Assumed:
 * ids that say neither belong to a service that replays when it sends at once (section 6.1: "resuming …: not shown").
 */
export function isContinuation({ lastId, firstId, answeredAtMs, isAtOnce }: Continuation): boolean {
  if (lastId === '' || firstId === undefined) return false;
  const [last, first] = [splitNumber(lastId), splitNumber(firstId)];
  const timeMs = timeOf(firstId);
  if (timeMs !== undefined && timeOf(lastId) !== undefined) {
    if (last !== undefined && isNext(last, first)) return true;
    return answeredAtMs === undefined ? isAtOnce : timeMs < answeredAtMs;
  }
  if (last !== undefined && first?.prefix === last.prefix) return isNext(last, first);
  return isAtOnce;
}

interface NumberedId {
  prefix: string;
  number: bigint;
}

/** The last run of digits of an id and what stands before it; undefined when it does not end in digits. */
function splitNumber(id: string): NumberedId | undefined {
  if (id.length > NUMBERED_ID_CHARACTERS) return undefined;
  let start = id.length;
  while (start > 0 && isDigit(id.charCodeAt(start - 1))) start--;
  return start === id.length ? undefined : { prefix: id.slice(0, start), number: BigInt(id.slice(start)) };
}

function isNext(last: NumberedId, first: NumberedId | undefined): boolean {
  return first?.prefix === last.prefix && first.number === last.number + 1n;
}

/** The time at the beginning of an id such as `1577836800:0` or `1577836800123-4`, in milliseconds since the epoch. */
function timeOf(id: string): number | undefined {
  let end = 0;
  while (end < id.length && end < 14 && isDigit(id.charCodeAt(end))) end++;
  if (end === id.length || (end !== 10 && end !== 13)) return undefined;
  return Number(id.slice(0, end)) * TIME_DIGITS[end];
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
