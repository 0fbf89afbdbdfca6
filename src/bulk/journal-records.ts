// Reads the records of a journal: its command, the runs that used the journal, and the outcome of
// each task.

import { createHash } from 'node:crypto';
import { usageError } from '../errors.js';
import { isObject, parseJson } from '../json/parse.js';
import { followHolder, type Holder } from '../system/record-lock.js';
import { isSecretName } from '../system/secret-names.js';
import { HIDDEN } from '../system/secrets.js';
import { DAY_MS } from '../system/time-units.js';
import type { ChangeResult } from '../views/action.js';

/** The command and the service that a journal belongs to. */
export interface Binding {
  command: string;
  profile: string;
  base_url: string;
  [name: string]: string;
}

/** The state of the service at the start of a run, by the service's own clock. */
export interface Start {
  /**
   * The newest `modified` in the service's list. For a command that creates bicycles, the newest
   * `created`. Null when unknown.
   */
  newest: string | null;
  /**
   * Whether the list was empty. If so, every bicycle that appears later was created after the start
   * of the run.
   */
  isEmpty: boolean;
  /** The `Date` header of the service's answer as ISO 8601, or null when the answer had none. */
  date: string | null;
  /** The user of the run, if the token or the service identifies the user. */
  user: readonly Person[];
}

/** Identifiers of a user (UUID, number, e-mail, name), in lower case. */
export type Person = { readonly [kind: string]: string | undefined };

/** The state and version of a bicycle before the request; null for missing values. */
export interface Before {
  state: string | null;
  /** The service's `concurrency_version`. It grows with every save. */
  version: string | null;
}

/** When a request was sent, and the state of its bicycle before the request, if known. */
export interface Sending {
  start: Start;
  /** Milliseconds from the recorded start of the run to this request, on the monotonic clock. */
  afterMs: number;
  before: Before | null;
}

/** The values of an edited bicycle before and after, as human-readable text. */
export interface ChangedValues {
  before: string;
  after: string;
}

/**
 * The values of each edited field before and after, as JSON text with all digits. `before` is
 * missing when the bicycle did not have the field.
 */
export interface ChangedFields {
  readonly [field: string]: { readonly before?: string; readonly after: string };
}

/** A summary of the records that one run wrote. */
export interface RecordedRun {
  /**
   * When the run recorded its start, in milliseconds since the epoch. Undefined when the run ended
   * before it could send anything.
   */
  startedAtMs: number | undefined;
  /** The latest time that a record of this run contains. */
  lastAtMs: number | undefined;
  /** Whether the run recorded its end. Otherwise it was killed or is still running. */
  isEnded: boolean;
  user: readonly Person[];
}

/** The records of one task, merged into one entry. */
export interface JournalEntry {
  /** The values of an edit, as human-readable text; undefined for other commands. */
  values?: ChangedValues | undefined;
  /** The exact values before and after an edit. They are needed to undo the edit. */
  fields?: ChangedFields | undefined;
  /** The transition of this task; undefined when all tasks of the run have the same transition. */
  transition?: string | undefined;
  /**
   * The recorded result. Undefined when the journal contains a request without an answer. It is
   * then unknown whether the request was sent.
   */
  result: ChangeResult | undefined;
  /** The bicycle that the service created; null for other changes. */
  uuid: string | null;
  name: string | null;
  /** How the result was determined. */
  how: How;
  /** The id of the run that wrote the last record of the task. */
  run: string;
  /**
   * When that run wrote the record, in milliseconds since the epoch by the clock of its machine.
   * Null when unknown.
   */
  atMs: number | null;
  /** The first request of this task whose outcome is unknown. */
  sending: Sending;
}

/**
 * How the result of a change was determined. The source is an answer to the request, the service's
 * history, its list, the bicycle's state, or the operator.
 */
export type How = 'answered' | 'history' | 'list' | 'state' | 'operator';

export const JOURNAL_VERSION = 3;

/** The first characters of every journal, in every version of the format. */
const FIRST_WORDS = '{"fleet_journal":';
/** The first characters of a plan file. */
const PLAN_FIRST_WORDS = '{"fleet_plan":';

const LINE_FEED = 0x0a;

const NO_START: Start = { newest: null, isEmpty: false, date: null, user: [] };

/** The contents of a journal, as far as it has been read. */
export type Journal = ReturnType<typeof emptyJournal>;

export function emptyJournal() {
  return {
    /** The command of the journal; undefined when its first line is missing. */
    binding: undefined as Binding | undefined,
    entries: new Map<string, JournalEntry>(),
    /** The runs that wrote to the journal, oldest first. */
    runs: new Map<string, RecordedRun>(),
    holder: undefined as Holder | undefined,
    /**
     * The start of the last run that wrote to the journal, and the time of the record that contains
     * this start.
     */
    start: NO_START,
    startedAtMs: null as number | null,
    /**
     * The latest time in any record, in milliseconds since the epoch; undefined when no record has
     * a time.
     */
    latestAtMs: undefined as number | undefined,
    /**
     * The complete lines that were read: their size in bytes, their number, and how many of them
     * are intact records.
     */
    bytes: 0,
    lines: 0,
    records: 0,
    /** The number of the last record of each run. */
    numbers: new Map<string, number>(),
    /** Why the journal may not show all changes; undefined for an undamaged journal. */
    damage: undefined as string | undefined,
    /**
     * The number of a line that is not a record. A crash can leave an incomplete line at the end of
     * the journal, and the next run appends its records after this line.
     */
    tornLine: undefined as number | undefined,
  };
}

const SUM = /,"sum":"([0-9a-f]{8})"}$/;

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** The fields of a record that fleet knows. Each kind of record contains some of them. */
interface JournalRecord
  extends Partial<Pick<JournalEntry, 'run' | 'result' | 'uuid' | 'name' | 'how'>> {
  start?: Partial<Start>;
  at?: number;
  sending?: string;
  answered?: string;
  after_ms?: number;
  before?: Before;
  values?: ChangedValues;
  fields?: ChangedFields;
  transition?: string;
  [name: string]: unknown;
}

/** Returns the line for a record. The line ends with a checksum. */
export function lineOf(record: object): string {
  const text = JSON.stringify(record).slice(0, -1);
  return `${text},"sum":"${sumOf(text)}"}\n`;
}

/**
 * Parses a line. Returns the record and whether its checksum is correct, or undefined when the line
 * is not a record.
 */
function parseLine(line: string): { record: JournalRecord; isWhole: boolean } | undefined {
  try {
    const value: unknown = parseJson(line);
    if (!isObject(value)) return undefined;
    const text = line.trim();
    const found = SUM.exec(text);
    return {
      record: value,
      isWhole: found !== null && sumOf(text.slice(0, found.index)) === found[1],
    };
  } catch {
    return undefined;
  }
}

/**
 * Reads bytes that were added to a journal. The journal stays usable when a crash cuts it off at
 * any byte, because each request is written to the disk before it is sent. If a line was edited,
 * marks the journal as damaged. Throws a FleetError of kind `usage` for a file that is not a
 * journal, or has another version of the format.
 */
export function readOn(journal: Journal, bytes: Buffer, path: string): void {
  let from = 0;
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
    const line = bytes.toString('utf8', from, end);
    journal.bytes += end + 1 - from;
    from = end + 1;
    journal.lines += 1;
    // An editor may have changed the line endings to CR LF.
    if (line.trim() !== '') takeLine(journal, line, path);
  }
  if (journal.binding === undefined && from < bytes.length)
    checkFirst(bytes.toString('utf8', from), path);
}

/**
 * Counts the records that this run has just appended as read. The run does not need to read them,
 * because it knows their content.
 */
export function skipOwn(journal: Journal, written: Buffer, run: string): void {
  let count = 0;
  for (let at = written.indexOf(LINE_FEED); at !== -1; at = written.indexOf(LINE_FEED, at + 1))
    count += 1;
  journal.bytes += written.length;
  journal.lines += count;
  journal.records += count;
  journal.numbers.set(run, (journal.numbers.get(run) ?? 0) + count);
}

function takeLine(journal: Journal, line: string, path: string): void {
  const { record, isWhole } = parseLine(line) ?? {};
  const isHeader = record?.['fleet_journal'] !== undefined;
  if (journal.binding === undefined && !isHeader) checkFirst(line, path);
  else if (record === undefined) journal.tornLine ??= journal.lines;
  else {
    if (isHeader) takeHeader(journal, record, path);
    if (isWhole) takeWhole(journal, record, isHeader);
    else journal.damage ??= `line ${journal.lines} was changed`;
  }
}

function takeWhole(journal: Journal, record: JournalRecord, isHeader: boolean): void {
  if (journal.tornLine !== undefined && record['claim'] === undefined && !isHeader)
    journal.damage ??= `line ${journal.tornLine} is damaged`;
  journal.tornLine = undefined;
  journal.records += 1;
  if (isHeader) return;
  checkNumber(journal, record);
  noteRun(journal, record);
  takeRecord(journal, record);
}

/**
 * Checks a record's number. If records are missing, marks the journal as damaged. Missing records
 * can be detected because each run numbers its records, and its first record contains the number of
 * earlier records.
 */
function checkNumber(journal: Journal, record: JournalRecord): void {
  const { n, claim, after, accepts, run: id, beat, released } = record;
  const run = String(claim ?? id ?? beat ?? released);
  const before = journal.numbers.get(run) ?? 0;
  const isMissing = n !== before + 1 || (typeof after === 'number' && journal.records - 1 < after);
  if (isMissing) journal.damage ??= `records are missing before line ${journal.lines}`;
  journal.numbers.set(run, Number(n));
  // The operator accepted the damage with `--unknown resend`.
  if (accepts !== true) return;
  journal.damage = undefined;
  journal.latestAtMs = undefined;
}

/** Stores when a run began, when it last wrote, and whether it recorded its end. */
function noteRun({ runs }: Journal, { claim, released, run, start, at }: JournalRecord): void {
  const id = String(claim ?? released ?? run ?? '');
  if (id === '') return;
  const known = runs.get(id) ?? {
    startedAtMs: undefined,
    lastAtMs: undefined,
    isEnded: false,
    user: [],
  };
  const date = typeof at === 'number' ? at : undefined;
  const isStart = start !== undefined;
  runs.set(id, {
    startedAtMs: isStart ? date : known.startedAtMs,
    lastAtMs: date ?? known.lastAtMs,
    isEnded: known.isEnded || released !== undefined,
    user: Array.isArray(start?.user) ? start.user : known.user,
  });
}

/**
 * Times up to one day in the future are accepted, because the clocks of two machines can differ.
 */
const LARGEST_CLOCK_DIFFERENCE_MS = DAY_MS;

/**
 * Marks the journal as damaged when a record has a time in the future, because the order of the
 * records is then uncertain.
 */
export function checkDates(journal: Journal, nowMs: number): void {
  const { latestAtMs } = journal;
  if (latestAtMs === undefined || latestAtMs <= nowMs + LARGEST_CLOCK_DIFFERENCE_MS) return;
  const [latest, now] = [latestAtMs, nowMs].map(showDay);
  journal.damage ??= `it has records of ${latest}, and the date of this machine is ${now}`;
}

function showDay(milliseconds: number): string {
  const isDate = Math.abs(milliseconds) <= LATEST_DATE_MS;
  return isDate ? new Date(milliseconds).toISOString().slice(0, 10) : 'an impossible date';
}

/** The latest time that a JavaScript `Date` can represent. */
const LATEST_DATE_MS = 8.64e15;

/** The hint for a damaged journal. */
export const DAMAGE_HINT =
  'look at it with "fleet journal show", and use a new journal for what is left; --unknown resend acts on everything that it does not show as done';

/** Throws a FleetError of kind `usage` for a damaged journal. */
export function checkDamage({ damage }: Journal, path: string): void {
  if (damage !== undefined)
    throw usageError(
      `the journal ${path} cannot be trusted: ${damage}; nothing was sent`,
      DAMAGE_HINT,
    );
}

/**
 * Throws if the file belongs to another program. Accepts a file that contains only an incomplete
 * first line: a run that did not finish the first line has sent no request.
 */
function checkFirst(text: string, path: string): void {
  const start = text.slice(0, FIRST_WORDS.length);
  if (FIRST_WORDS.startsWith(start)) return;
  const isPlan = text.startsWith(PLAN_FIRST_WORDS);
  throw usageError(
    `${path} is ${isPlan ? 'a plan' : 'not a fleet journal'}, and was left unchanged`,
    isPlan
      ? `"fleet apply" keeps its journal in ${path}.journal`
      : 'choose the journal of a run, or a new file for --journal',
  );
}

/**
 * Reads the header of a journal. When two runs create a journal at the same time, the file has two
 * headers. Only the first header is valid, and only one of the runs may use the journal.
 */
function takeHeader(journal: Journal, record: JournalRecord, path: string): void {
  const { fleet_journal: version, sum, ...binding } = record;
  if (version !== JOURNAL_VERSION) {
    throw usageError(
      `the journal ${path} has version ${String(version)}, but this version of fleet reads only version ${JOURNAL_VERSION}`,
      'finish that run with the version of fleet that started it, or use a new file for --journal',
    );
  }
  journal.binding ??= binding as Binding;
}

function takeRecord(journal: Journal, record: JournalRecord): void {
  const { entries } = journal;
  const {
    sending,
    answered,
    run = '',
    start,
    at = null,
    before = null,
    result,
    uuid = null,
  } = record;
  const { after_ms: afterMs = 0, name = null, how = 'answered' } = record;
  journal.holder = followHolder(journal.holder, record);
  if (typeof at === 'number') journal.latestAtMs = Math.max(at, journal.latestAtMs ?? at);
  // When a run loses the journal to another run, it may write more records until it notices the
  // loss. It sends no requests after the loss, so its start and request records are ignored.
  const isHolder = run !== '' && run === journal.holder?.id;
  if (isHolder && start !== undefined) {
    journal.start = { ...NO_START, ...start };
    journal.startedAtMs = at;
  }
  const known = entries.get(sending ?? answered ?? '');
  const values = readValues(record.values) ?? known?.values;
  const fields = isObject(record.fields) ? (record.fields as ChangedFields) : known?.fields;
  const transition = typeof record.transition === 'string' ? record.transition : known?.transition;
  const about = { name: name ?? known?.name ?? null, how, run, values, fields, transition };
  const now = { start: journal.start, afterMs, before };
  if (isHolder && sending !== undefined) {
    const first = judgeEntry(known) === 'doubt' ? known?.sending : undefined;
    const atMs = at ?? (journal.startedAtMs === null ? null : journal.startedAtMs + afterMs);
    entries.set(sending, { ...about, result: undefined, uuid: null, atMs, sending: first ?? now });
  } else if (answered !== undefined && isObject(result))
    entries.set(answered, { ...about, result, uuid, atMs: at, sending: known?.sending ?? now });
}

function readValues(values: unknown): ChangedValues | undefined {
  if (!isObject(values)) return undefined;
  return { before: String(values['before'] ?? ''), after: String(values['after'] ?? '') };
}

/** Status codes of requests that were not carried out but can succeed later. */
const NOT_NOW: readonly (number | null)[] = [401, 403, 408, 409, 423, 425, 429, 499];

/**
 * Returns the state of a task after earlier runs: done, refused, open (its request must still be
 * sent), or in doubt (its outcome is unknown).
 */
export function judgeEntry(entry: JournalEntry | undefined): 'open' | 'done' | 'refused' | 'doubt' {
  if (entry === undefined) return 'open';
  if (entry.result === undefined) return 'doubt';
  const { outcome, status } = entry.result;
  if (
    outcome === 'not-sent' ||
    outcome === 'changed' ||
    (outcome !== 'done' && outcome !== 'unknown' && NOT_NOW.includes(status))
  )
    return 'open';
  if (outcome === 'done' || outcome === 'skipped') return 'done';
  return outcome === 'refused' ? 'refused' : 'doubt';
}

/**
 * Throws a FleetError of kind `usage` for a journal that belongs to another command, profile or
 * address. The message lists the differences.
 */
export function checkBinding({ binding: found }: Journal, wanted: Binding, path: string): void {
  if (found === undefined) return;
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])];
  const other = names.filter((name) => found[name] !== wanted[name]);
  if (other.length === 0) return;
  const parts = other.map(
    (name) => `${name} ${showBound(name, found)}, not ${showBound(name, wanted)}`,
  );
  throw usageError(
    `the journal ${path} belongs to another run: ${parts.join('; ')}`,
    'use a new journal for each run, or repeat the command this one belongs to',
  );
}

/**
 * Returns a value of a binding for a message. Hides the values of fields such as `pin`, because an
 * earlier run, perhaps of another user, wrote them into the journal.
 */
function showBound(name: string, { [name]: value = 'none' }: Binding): string {
  if (name !== 'fields') return value;
  const fields = readFields(value);
  const hidden = fields.map(([field, text]) => [field, isSecretName(field) ? HIDDEN : text]);
  return hidden.some(([, text]) => text === HIDDEN) ? JSON.stringify(hidden) : value;
}

/** Returns the fields in a binding, or no fields when the text is not a list of fields. */
function readFields(text: string): (readonly [field: string, value: unknown])[] {
  try {
    const fields = parseJson(text);
    if (!Array.isArray(fields)) return [];
    return fields.map((field: unknown) =>
      Array.isArray(field) ? [String(field[0]), field[1]] : ['', field],
    );
  } catch {
    return [];
  }
}
