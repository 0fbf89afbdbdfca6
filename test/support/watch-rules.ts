// The rules that every watch must obey, whatever the service and the network do. The tests compare
// the lines of a watch with the real changes of a simulated service. docs/watching.md says the same
// to operators.
//
// 1. Each change is shown once.
// 2. A change that is not shown happened in a reported gap. The next readings of the list show a
//    later state of its bicycle, or say that they are not complete.
// 3. A bicycle that exists is not reported as gone. A deleted bicycle is reported as gone once,
//    and before a reading is reported as complete.
// 4. The last line about a bicycle shows its newest state.
// 5. At the end, the watch knows exactly the bicycles of the service.
//
// Some services do not send the data that a rule needs: versions, times, an order, a count, or a
// current list. The exceptions below each rule name the missing data.

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
  /** The kind of the line: `update`, `late`, `repeat` or `caught-up`. */
  how: string;
  atMs?: number;
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
  /** When its first page was requested, if known. */
  startedMs?: number | undefined;
  isOfGap: boolean;
  /** Whether it is incomplete or counts unknown bicycles. */
  isOpen: boolean;
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
  removed?: readonly Removed[];
  /** The bicycles that the watch reported as gone. */
  gone?: readonly Removed[];
  /**
   * Whether some bicycles are unknown, because the list is longer than the watch reads. A new
   * bicycle can then hide a deleted one in the count.
   */
  isBounded?: boolean;
  /** The largest age of the list; 0 when the list is always current. */
  lagMs?: number;
  /** Whether the service sends versions that can be compared. */
  hasVersions: boolean;
  /** Whether the service sends the time of the last change. */
  hasModified?: boolean;
  /** Whether the first bicycle sometimes has a modification time of tomorrow. */
  hasFuture?: boolean;
  /** Whether the list contains more than its count says. */
  hasOwn?: boolean;
  /** Whether two organizations are followed, each on its own connection. */
  hasTwo?: boolean;
  /**
   * Whether the service does not order its list by time, or sends no count. Short pages may look
   * ordered, or shift unnoticed.
   */
  hasNoOrder?: boolean;
  /** The largest delay before a gap is noticed. */
  lateMs: number;
  /**
   * Whether messages are printed as they arrive, so that a change which a list showed before is
   * printed again.
   */
  isRaw: boolean;
}

/** Descriptions of the changes and lines that break a rule. */
type Faults = string[];

/** The longest delivery time of a message. */
const DELIVERY_MS = 1_000;
/** A change is searched in one of this many readings after it. */
const SEARCHED_READINGS = 3;
/** The longest time in which two readings miss a bicycle. */
const LONGEST_LOOK_MS = 45_000;
/** The bicycle with times of tomorrow. */
const FUTURE_UUID = /0{12}$/;

/** Checks rules 1 to 4. Returns a description of each violation. */
export function judge(history: History): Faults {
  return [
    ...findRepeatedChanges(history),
    ...findLostChanges(history),
    ...findWrongDeletions(history),
    ...findUnnoticedDeletions(history),
    ...(history.isRaw ? [] : findOldLastLines(history)),
  ];
}

// Rule 1

function findRepeatedChanges(history: History): Faults {
  const faults: Faults = [];
  for (const [id, lines] of linesOfChanges(history.shown)) {
    const isReal = id > 0;
    if (!isReal && !lines.some(({ how }) => how === 'caught-up'))
      faults.push(`nothing happened, and ${id} was shown`);
    if (!isReal || lines.length === 1 || mayBeRepeated(id, lines, history)) continue;
    const hows = lines.map(({ how }) => how).join(', ');
    faults.push(`change ${id} of ${lines[0]?.uuid} was shown ${lines.length} times: ${hows}`);
  }
  return faults;
}

/** The exceptions from rule 1. */
function mayBeRepeated(id: number, lines: readonly Shown[], history: History): boolean {
  const { made, shown, gone = [], isRaw, hasVersions, lagMs = 0 } = history;
  const { hasModified = true, hasFuture = false, hasTwo = false } = history;
  const [first, second] = lines;
  if (first === undefined || second === undefined) return false;
  const isTwice = lines.length === 2;
  // The bicycle was reported as gone in between, and came back.
  const wasGone = gone.some(
    ({ uuid, atMs }) =>
      uuid === first.uuid && atMs >= (first.atMs ?? 0) && atMs <= (second.atMs ?? 0),
  );
  if (wasGone) return true;
  // Messages of one second without versions have no order. When an older change came in between, the
  // newer change is shown again, so that the last line has the final state.
  const between = shown.slice(shown.indexOf(first) + 1, shown.indexOf(second));
  if (!hasVersions && isTwice && between.some(({ uuid }) => uuid === first.uuid)) return true;
  // A list showed the change before its message was printed.
  if (isRaw && isTwice && lines.filter(({ how }) => how === 'caught-up').length === 1) return true;
  // Without a time, a message and the reading that missed its bicycle have no order.
  if (!hasModified && isTwice && first.how === 'late' && second.how === 'caught-up') return true;
  // Two connections have no common order, so a moved bicycle can be late on the slower one.
  if (hasTwo && isTwice && second.how === 'late') return true;
  if (lagMs === 0) return false;
  // An old list without times, or with times of tomorrow, looks like a new list.
  if (!hasModified) return true;
  if (!hasVersions && hasFuture && FUTURE_UUID.test(first.uuid ?? '')) return true;
  // An old list with the earlier of two changes of one second looks like a list with a third change.
  return !hasVersions && hasTwin(id, made);
}

// Rule 2

function findLostChanges(history: History): Faults {
  const { made, shown, gaps, lateMs } = history;
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
    if (mayStayUnseen(change, history)) continue;
    const isOvertaken = made.some(
      (later) => later.uuid === uuid && later.id > id && shownIds.has(later.id),
    );
    const readings = readingsAfter(change, history).slice(0, SEARCHED_READINGS);
    if (isOvertaken || readings.some(({ isOpen }) => isOpen)) continue;
    const which = readings.length === 0 ? 'no reading' : 'every reading';
    faults.push(`${name} was swallowed, and ${which} was complete`);
  }
  return faults;
}

function readingsAfter({ atMs }: Made, { reports }: History): Reading[] {
  return reports.filter((report) => report.isOfGap && report.atMs >= atMs);
}

/** The exceptions from the second sentence of rule 2. */
function mayStayUnseen(change: Made, history: History): boolean {
  const { made, reports, removed = [], lagMs = 0, hasNoOrder = false } = history;
  const { id, uuid, atMs } = change;
  if (hasNoOrder) return true;
  // The list hid the bicycle before the reading searched for the change.
  const readings = readingsAfter(change, history);
  const first = readings.find(({ startedMs = 0 }) => startedMs >= atMs) ?? readings[0];
  const isHiddenLater = (later: Made) =>
    later.uuid === uuid && later.id > id && later.atMs <= (first?.atMs ?? 0) && later.isHidden;
  if (made.some(isHiddenLater)) return true;
  // The final state of a deleted bicycle cannot be determined.
  if (removed.some((one) => one.uuid === uuid)) return true;
  // A list that lags does not contain the change yet. A later change moved the bicycle to the head
  // of that list while its pages were read.
  const wasReadSoonAfter = (one: Made) =>
    reports.some(({ atMs: readMs }) => readMs >= one.atMs && readMs <= one.atMs + 4 * lagMs);
  return (
    lagMs > 0 && made.some((one) => one.uuid === uuid && one.id >= id && wasReadSoonAfter(one))
  );
}

// Rule 3

function findWrongDeletions(history: History): Faults {
  const { removed = [], gone = [], shown } = history;
  const faults: Faults = [];
  for (const report of gone) {
    const { uuid, atMs } = report;
    if (mayLookDeleted(report, history)) continue;
    if (!removed.some((one) => one.uuid === uuid && one.atMs <= atMs))
      faults.push(`${uuid} was said to be gone at ${atMs}, and is there`);
    const again = gone.find((one) => one.uuid === uuid && one.atMs > atMs);
    // A message that the service repeated after a lost connection brought the bicycle back.
    const isBack = shown.some(
      (one) => one.uuid === uuid && (one.atMs ?? 0) > atMs && (one.atMs ?? 0) < (again?.atMs ?? 0),
    );
    if (again !== undefined && !isBack) faults.push(`${uuid} was said to be gone twice`);
  }
  return faults;
}

/** The exceptions from the first sentence of rule 3. */
function mayLookDeleted({ uuid, atMs, isHidden }: Removed, history: History): boolean {
  const { made, lagMs = 0, hasVersions } = history;
  // No message said that the bicycle has a state that the list hides.
  if (isHidden) return true;
  if (lagMs === 0) return false;
  const own = made.filter((one) => one.uuid === uuid);
  // No reading of a list that lags contains the new bicycle yet.
  if (own.some((one) => one.isBorn && one.atMs > atMs - lagMs - LONGEST_LOOK_MS)) return true;
  // An old list without versions undid the message of the same second that hid the bicycle.
  return (
    !hasVersions &&
    own.some((one) => one.isHidden && one.atMs > atMs - LONGEST_LOOK_MS && hasTwin(one.id, made))
  );
}

function findUnnoticedDeletions(history: History): Faults {
  const { removed = [], gone = [], shown, reports, lagMs = 0 } = history;
  const { isBounded = false, hasOwn = false } = history;
  const faults: Faults = [];
  for (const { uuid, atMs, isHidden } of removed) {
    // The count proves nothing, or the watch never saw the bicycle.
    if (isHidden || isBounded || hasOwn || !shown.some((one) => one.uuid === uuid)) continue;
    const saidMs = gone.find((one) => one.uuid === uuid)?.atMs ?? Number.POSITIVE_INFINITY;
    const complete = reports.find(
      ({ isOfGap, isOpen, startedMs = 0 }) =>
        isOfGap && !isOpen && startedMs > atMs + lagMs + DELIVERY_MS,
    );
    if (complete === undefined || saidMs <= complete.atMs || complete.isRaced) continue;
    if (hidesDeletionInCount(complete.atMs, history)) continue;
    faults.push(
      `a reading was complete at ${complete.atMs}, and ${uuid}, gone at ${atMs}, was said to be gone at ${saidMs}`,
    );
  }
  return faults;
}

/** Whether a new bicycle that the watch had not seen made up for a deleted one in the count. */
function hidesDeletionInCount(readMs: number, { made, shown }: History): boolean {
  const isSeen = (uuid: string) =>
    shown.some((one) => one.uuid === uuid && (one.atMs ?? 0) <= readMs);
  return made.some((one) => one.isBorn && one.atMs < readMs && !isSeen(one.uuid));
}

// Rule 4

function findOldLastLines(history: History): Faults {
  const { shown, gone = [], hasModified = true, lagMs = 0 } = history;
  // An old list without times looks like a new list.
  if (!hasModified && lagMs > 0) return [];
  const left = new Set(gone.map(({ uuid }) => uuid));
  const last = new Map(
    shown
      .filter(({ how, uuid = '' }) => how !== 'late' && !left.has(uuid))
      .map(({ uuid, id }) => [uuid, id]),
  );
  return [...last].flatMap(([uuid, id]) => {
    const newest = Math.max(...shown.filter((one) => one.uuid === uuid).map((one) => one.id));
    if (newest === id || mayEndWithOlder(uuid, id, newest, history)) return [];
    return [`the last line of ${uuid} says ${id}, and ${newest} had been shown`];
  });
}

/** The exceptions from rule 4. */
function mayEndWithOlder(
  uuid: string | undefined,
  id: number,
  newest: number,
  { made, hasVersions, hasTwo = false, hasFuture = false, lagMs = 0 }: History,
): boolean {
  if (hasVersions) return false;
  // Two connections, or a message and a list that lags, have no order within one second.
  const [shownLast, changedLast] = [id, newest].map(
    (each) => made.find((change) => change.id === each)?.atMs ?? 0,
  );
  if ((hasTwo || lagMs > 0) && isSameSecond(shownLast, changedLast)) return true;
  // An old list with a time of tomorrow looks newer than today's list.
  return hasFuture && lagMs > 0 && FUTURE_UUID.test(uuid ?? '');
}

// Rule 5

/**
 * Checks rule 5. `mayBeKnown` has the bicycles of the service and the deleted ones whose deletion
 * cannot be found. When the list is longer than the watch reads, some bicycles may be unknown.
 */
export function judgeKnown(
  known: ReadonlySet<string>,
  listed: ReadonlySet<string>,
  mayBeKnown: ReadonlySet<string>,
  isBounded: boolean,
): Faults {
  const extra = [...known].filter((uuid) => !mayBeKnown.has(uuid));
  const missing = isBounded ? [] : [...listed].filter((uuid) => !known.has(uuid));
  return [
    ...extra.map((uuid) => `${uuid} is a ghost at the end`),
    ...missing.map((uuid) => `${uuid} is not known at the end`),
  ];
}

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
