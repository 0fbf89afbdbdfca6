// Checks the rules of a watch. watch-rules.md describes each rule and each exception. The keys here
// are the numbers of that page.

/** A change at the service. Its id also is the new value of the bicycle's charge. */
export interface Made {
  id: number;
  uuid: string;
  /** The time of the change; -Infinity before the watch was connected. */
  atMs: number;
  /** Whether the list hides the bicycle after the change. */
  isHidden?: boolean;
  /** Whether the bicycle was created or moved here by the change. */
  isBorn?: boolean;
}

/** A line of the watch about a change. */
export interface Shown {
  id: number;
  uuid: string | undefined;
  how: 'update' | 'late' | 'caught-up';
  atMs: number;
}

/** A bicycle that was deleted without a message, or that the watch reported as gone. */
export interface Removed {
  uuid: string;
  atMs: number;
  /** Whether the list omitted the bicycle although no message explained that. */
  isHidden?: boolean;
}

/** A reading of the list that the watch reported. */
export interface Reading {
  atMs: number;
  /** When its first page was requested; undefined when unknown. */
  startedMs?: number | undefined;
  isOfGap: boolean;
  /** Whether the watch says that the reading is complete. */
  isComplete: boolean;
  /** Whether the watch says that it is still checking the reading. */
  isBeingChecked: boolean;
  /**
   * Whether a message during the reading concerned a bicycle that the list may hide. Then the
   * counts cannot be compared.
   */
  isRaced?: boolean;
}

/** The real events at a service, and the lines of the watch about them. */
export interface History {
  made: readonly Made[];
  shown: readonly Shown[];
  gaps: readonly { fromMs: number; toMs: number }[];
  reports: readonly Reading[];
  /** The deleted bicycles. */
  removed: readonly Removed[];
  /** The bicycles that the watch reported as gone. */
  gone: readonly Removed[];
  /**
   * When the first list was read completely. Only needed for a board: it reads the whole list first,
   * and the changes of a gap up to a page limit.
   */
  firstListMs?: number | undefined;
  /** Whether the watch reads only a part of the list, because of its page limit. */
  isBounded: boolean;
  /** The largest age of the list; 0 when the list is always current. */
  lagMs: number;
  /** Whether the service sends versions that can be compared. */
  hasVersions: boolean;
  /** Whether the service sends the time of the last change. */
  hasModified?: boolean;
  /** Whether the first bicycle sometimes has a modification time of tomorrow. */
  hasFuture?: boolean;
  /** Whether versions can fall, because the service is restored from a backup. */
  hasFalls?: boolean;
  /** Whether the list contains the user's own bicycles in states that it hides otherwise. */
  hasOwn?: boolean;
  /** Whether two organizations are followed, each on its own connection. */
  hasTwo?: boolean;
  /** Whether the service sends no usable count of its bicycles. */
  hasNoCount?: boolean;
  /** How late the test may notice a gap. */
  lateMs: number;
  /** How late the test may receive a line. */
  lineDelayMs: number;
  /** Whether the output has every message as it arrived, as with --json. */
  isRaw: boolean;
  /** The bicycles at the end; undefined when the test cannot see what the watch knows. */
  end?: {
    known: ReadonlySet<string>;
    /** All bicycles of the service. */
    existing: ReadonlySet<string>;
    /** The bicycles of its list. */
    listed: ReadonlySet<string>;
  };
}

/** Descriptions of the changes and lines that break a rule. */
type Faults = string[];

/** Exceptions from a rule, by their number in watch-rules.md. */
type Exceptions<Case> = { readonly [number: string]: (one: Case, history: History) => boolean };

/** The longest delivery time of a message. */
const DELIVERY_MS = 1_000;
/**
 * The longest time in which fleet proves a deletion. It reads the list twice, with a pause of five
 * seconds.
 */
export const DELETION_PROOF_MS = 45_000;
/** The bicycle with times of tomorrow. */
const FUTURE_UUID = /0{12}$/;

/** The rules, by their number in watch-rules.md. */
export const RULES: { readonly [number: string]: (history: History) => Faults } = {
  1: findRepeatedChanges,
  2: findLostChanges,
  3: (history) => [...findWrongDeletions(history), ...findUnnoticedDeletions(history)],
  4: findOldLastLines,
  5: findWrongFleet,
};

/** Returns a description of each violation of a rule. */
export function judge(history: History): Faults {
  return Object.entries(RULES).flatMap(([number, find]) =>
    find(history).map((fault) => `rule ${number}: ${fault}`),
  );
}

function isExcepted<Case>(exceptions: Exceptions<Case>, one: Case, history: History): boolean {
  return Object.values(exceptions).some((applies) => applies(one, history));
}

// Rule 1

/** A change with several lines. */
interface Repeated {
  id: number;
  lines: readonly Shown[];
  first: Shown;
  second: Shown;
}

function findRepeatedChanges(history: History): Faults {
  const faults: Faults = [];
  for (const [id, lines] of linesOfChanges(history.shown)) {
    const isReal = id > 0;
    if (!isReal && !isExcepted(UNCHANGED, lines, history))
      faults.push(`nothing happened, and ${id} was shown`);
    const [first, second] = lines;
    if (!isReal || first === undefined || second === undefined) continue;
    if (isExcepted(REPEATED, { id, lines, first, second }, history)) continue;
    const hows = lines.map(({ how }) => how).join(', ');
    faults.push(`change ${id} of ${first.uuid} was shown ${lines.length} times: ${hows}`);
  }
  return faults;
}

/** Exceptions for lines about a bicycle that did not change. */
const UNCHANGED: Exceptions<readonly Shown[]> = {
  '1.1': (lines) => lines.some(({ how }) => how === 'caught-up'),
};

const REPEATED: Exceptions<Repeated> = {
  '1.2': ({ lines }, { isRaw }) =>
    isRaw && lines.length === 2 && lines.filter(({ how }) => how === 'caught-up').length === 1,
  '1.3': ({ first, second }, { gone }) =>
    gone.some(({ uuid, atMs }) => uuid === first.uuid && atMs >= first.atMs && atMs <= second.atMs),
  '1.4': ({ lines, first, second }, { shown, hasVersions }) => {
    const between = shown.slice(shown.indexOf(first) + 1, shown.indexOf(second));
    return !hasVersions && lines.length === 2 && between.some(({ uuid }) => uuid === first.uuid);
  },
  '1.5': ({ lines, first, second }, { hasModified = true }) =>
    !hasModified && lines.length === 2 && first.how === 'late' && second.how === 'caught-up',
  '1.6': ({ lines, second }, { hasTwo = false }) =>
    hasTwo && lines.length === 2 && second.how === 'late',
  '1.7': (_repeated, { hasModified = true, lagMs }) => !hasModified && lagMs > 0,
  '1.8': ({ first }, { hasVersions, hasFuture = false, lagMs }) =>
    !hasVersions && lagMs > 0 && hasFuture && FUTURE_UUID.test(first.uuid ?? ''),
  '1.9': ({ id }, { made, hasVersions, lagMs }) => !hasVersions && lagMs > 0 && hasTwin(id, made),
  '1.10': ({ lines, first, second }, { hasFalls = false, hasFuture = false }) =>
    hasFalls &&
    hasFuture &&
    FUTURE_UUID.test(first.uuid ?? '') &&
    lines.length === 2 &&
    first.how === 'late' &&
    second.how === 'caught-up',
};

// Rule 2

/** A change without a line, and the reading that should have found it. */
interface Lost {
  change: Made;
  reading: Reading;
}

function findLostChanges(history: History): Faults {
  const { made, shown, gaps, lateMs, lineDelayMs } = history;
  const shownIds = linesOfChanges(shown);
  const faults: Faults = [];
  for (const change of made) {
    const { id, uuid, atMs, isHidden } = change;
    if (isHidden || shownIds.has(id) || atMs === Number.NEGATIVE_INFINITY) continue;
    const name = `change ${id} of ${uuid} at ${Math.round(atMs) % 1e8}`;
    const isInGap = gaps.some(
      ({ fromMs, toMs }) => atMs >= fromMs - DELIVERY_MS - lateMs && atMs <= toMs,
    );
    if (!isInGap) faults.push(`${name} was not shown, and lies in no gap`);
    const readings = decidingReadings(change, history);
    const reading = readings.at(-1);
    if (reading === undefined) {
      faults.push(`${name} was not shown, and no later reading was more than "being checked"`);
      continue;
    }
    const isLaterShown = shown.some(
      (line) => line.uuid === uuid && line.id > id && line.atMs <= reading.atMs + lineDelayMs,
    );
    if (isLaterShown || readings.some(({ isComplete }) => !isComplete)) continue;
    if (isExcepted(LOST, { change, reading }, history)) continue;
    const readAt = Math.round(reading.atMs) % 1e8;
    faults.push(`${name} was not shown, and the reading that ended at ${readAt} was complete`);
  }
  return faults;
}

/**
 * Returns the first reading after the gap of a change that is more than "being checked". If it is
 * unknown when some readings began, returns these too, up to one that surely began after the gap.
 */
function decidingReadings({ atMs }: Made, { gaps, reports }: History): Reading[] {
  const ends = gaps.filter(({ toMs }) => toMs >= atMs).map(({ toMs }) => toMs);
  const endMs = ends.length === 0 ? atMs : Math.min(...ends);
  const readings = reports.filter(
    ({ isOfGap, isComplete, isBeingChecked, startedMs = endMs, atMs: readMs }) =>
      isOfGap && !isBeingChecked && readMs >= endMs && (isComplete || startedMs >= endMs),
  );
  const sure = readings.findIndex(({ startedMs = 0 }) => startedMs >= endMs);
  return sure === -1 ? readings : readings.slice(0, sure + 1);
}

const LOST: Exceptions<Lost> = {
  '2.1': ({ change }, { firstListMs = Number.NEGATIVE_INFINITY }) => change.atMs <= firstListMs,
  '2.2': ({ change, reading }, { removed }) =>
    removed.some(({ uuid, atMs }) => uuid === change.uuid && atMs <= reading.atMs),
  '2.3': ({ change, reading }, { made }) =>
    made.some(
      ({ id, uuid, atMs, isHidden = false }) =>
        isHidden && uuid === change.uuid && id > change.id && atMs <= reading.atMs,
    ),
};

// Rule 3

function findWrongDeletions(history: History): Faults {
  const { removed, gone } = history;
  const faults: Faults = [];
  for (const report of gone) {
    const { uuid, atMs } = report;
    if (isExcepted(WRONGLY_GONE, report, history)) continue;
    if (!removed.some((one) => one.uuid === uuid && one.atMs <= atMs))
      faults.push(`${uuid} was said to be gone at ${atMs}, and is there`);
    const again = gone.find((one) => one.uuid === uuid && one.atMs > atMs);
    if (again !== undefined && !isExcepted(GONE_TWICE, { first: report, again }, history))
      faults.push(`${uuid} was said to be gone twice`);
  }
  return faults;
}

const WRONGLY_GONE: Exceptions<Removed> = {
  '3.1': ({ isHidden = false }) => isHidden,
  '3.2': ({ uuid, atMs }, { made, lagMs }) =>
    lagMs > 0 &&
    made.some(
      (one) => one.uuid === uuid && one.isBorn && one.atMs > atMs - lagMs - DELETION_PROOF_MS,
    ),
  '3.3': ({ uuid, atMs }, { made, lagMs, hasVersions }) =>
    lagMs > 0 &&
    !hasVersions &&
    made.some(
      (one) =>
        one.uuid === uuid &&
        one.isHidden &&
        one.atMs > atMs - DELETION_PROOF_MS &&
        hasTwin(one.id, made),
    ),
};

const GONE_TWICE: Exceptions<{ first: Removed; again: Removed }> = {
  '3.4': ({ first, again }, { shown }) =>
    shown.some(({ uuid, atMs }) => uuid === first.uuid && atMs > first.atMs && atMs < again.atMs),
};

/** A deleted bicycle, and the first complete reading that began after its deletion. */
interface Unnoticed {
  bicycle: Removed;
  reading: Reading;
}

function findUnnoticedDeletions(history: History): Faults {
  const { removed, gone, reports, lagMs, lineDelayMs } = history;
  const faults: Faults = [];
  for (const bicycle of removed) {
    const { uuid, atMs } = bicycle;
    const saidMs = gone.find((one) => one.uuid === uuid)?.atMs ?? Number.POSITIVE_INFINITY;
    const reading = reports.find(
      ({ isOfGap, isComplete, startedMs = 0 }) =>
        isOfGap && isComplete && startedMs > atMs + lagMs + DELIVERY_MS,
    );
    if (reading === undefined || saidMs <= reading.atMs + lineDelayMs) continue;
    if (isExcepted(UNNOTICED, { bicycle, reading }, history)) continue;
    faults.push(
      `a reading was complete at ${reading.atMs}, and ${uuid}, gone at ${atMs}, was said to be gone at ${saidMs}`,
    );
  }
  return faults;
}

const UNNOTICED: Exceptions<Unnoticed> = {
  '3.5': ({ bicycle }, { shown }) => !shown.some(({ uuid }) => uuid === bicycle.uuid),
  '3.6': (_unnoticed, { isBounded }) => isBounded,
  '3.7': (_unnoticed, { hasNoCount = false }) => hasNoCount,
  '3.8': (_unnoticed, { hasOwn = false }) => hasOwn,
  '3.9': ({ bicycle: { isHidden = false } }) => isHidden,
  '3.10': ({ reading: { isRaced = false } }) => isRaced,
  '3.11': ({ reading }, { made, shown }) => {
    const isSeen = (uuid: string) =>
      shown.some((one) => one.uuid === uuid && one.atMs <= reading.atMs);
    return made.some((one) => one.isBorn && one.atMs < reading.atMs && !isSeen(one.uuid));
  },
};

// Rule 4

/** The last line of a bicycle, and its newest change that was shown. */
interface OldLine {
  uuid: string | undefined;
  id: number;
  newest: number;
}

function findOldLastLines(history: History): Faults {
  const { shown } = history;
  const last = new Map(shown.filter(({ how }) => how !== 'late').map(({ uuid, id }) => [uuid, id]));
  return [...last].flatMap(([uuid, id]) => {
    const newest = Math.max(...shown.filter((one) => one.uuid === uuid).map((one) => one.id));
    if (newest === id || isExcepted(OLD_LINES, { uuid, id, newest }, history)) return [];
    return [`the last line of ${uuid} says ${id}, and ${newest} had been shown`];
  });
}

const OLD_LINES: Exceptions<OldLine> = {
  '4.1': (_line, { isRaw }) => isRaw,
  '4.2': (_line, { hasModified = true, hasTwo = false, lagMs }) =>
    !hasModified && (hasTwo || lagMs > 0),
  '4.3': ({ id, newest }, { made, hasVersions, hasTwo = false, lagMs }) => {
    const [shownLast, changedLast] = [id, newest].map(
      (each) => made.find((change) => change.id === each)?.atMs ?? 0,
    );
    return !hasVersions && (hasTwo || lagMs > 0) && isSameSecond(shownLast, changedLast);
  },
  '4.4': ({ uuid }, { hasVersions, hasFuture = false, lagMs }) =>
    !hasVersions && hasFuture && lagMs > 0 && FUTURE_UUID.test(uuid ?? ''),
  '4.5': (line, { gone }) => gone.some(({ uuid }) => uuid === line.uuid),
};

// Rule 5

function findWrongFleet(history: History): Faults {
  if (history.end === undefined) return [];
  const { known, existing, listed } = history.end;
  const missing = [...listed].filter(
    (uuid) => !known.has(uuid) && !isExcepted(UNKNOWN, uuid, history),
  );
  const extra = [...known].filter(
    (uuid) => !existing.has(uuid) && !isExcepted(STILL_KNOWN, uuid, history),
  );
  return [
    ...missing.map((uuid) => `${uuid} is in the list, and is not known at the end`),
    ...extra.map((uuid) => `${uuid} was deleted, and is known at the end`),
  ];
}

const UNKNOWN: Exceptions<string> = {
  '5.1': (_uuid, { isBounded }) => isBounded,
};

const STILL_KNOWN: Exceptions<string> = {
  '5.2': (uuid, { removed }) => removed.some((one) => one.uuid === uuid && one.isHidden),
  '5.3': (_uuid, { hasNoCount = false }) => hasNoCount,
  '5.4': (_uuid, { isBounded, made }) => isBounded && made.some(({ isBorn }) => isBorn),
};

/** The exceptions of each rule. A test compares the numbers with watch-rules.md. */
export const EXCEPTIONS = [
  UNCHANGED,
  REPEATED,
  LOST,
  WRONGLY_GONE,
  GONE_TWICE,
  UNNOTICED,
  OLD_LINES,
  UNKNOWN,
  STILL_KNOWN,
] as const;

// Helpers

/** Returns the lines of the watch by the id of their change. */
function linesOfChanges(shown: readonly Shown[]): Map<number, Shown[]> {
  const lines = new Map<number, Shown[]>();
  for (const line of shown) lines.set(line.id, [...(lines.get(line.id) ?? []), line]);
  return lines;
}

/** Whether the same bicycle changed once more within the second of a change. */
function hasTwin(id: number, made: readonly Made[]): boolean {
  const change = made.find((one) => one.id === id);
  return made.some(
    (one) => one.id !== id && one.uuid === change?.uuid && isSameSecond(one.atMs, change.atMs),
  );
}

function isSameSecond(a = 0, b = 0): boolean {
  return Math.floor(a / 1000) === Math.floor(b / 1000);
}
