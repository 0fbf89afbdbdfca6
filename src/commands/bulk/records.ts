// What stands in a journal, read record by record: what it belongs to, who holds it, what is known of each task.

import { type FleetError, usageError } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import type { ChangeResult } from '../../views/action.js';
import { followHolder, type Holder } from './lock.js';

/** What a journal belongs to: a run with another one of these is another run. */
export interface Binding {
  command: string;
  profile: string;
  base_url: string;
  [name: string]: string;
}

/** The service as it was when a run began, by its own clock. */
export interface Start {
  /** The newest `modified` (`created` for creations) in the list; null when the service did not say. */
  newest: string | null;
  /** Whether the list was empty: then whatever is there later is newer. */
  isEmpty: boolean;
  /** The moment of its answer, from its `Date` header as ISO 8601; null when it sent none. */
  date: string | null;
  /** Who sends, a UUID; null where the token does not say. */
  user: string | null;
}

/** The bicycle as the input had it, before the request was sent; null where the input did not say. */
export interface Before {
  state: string | null;
  /** `concurrency_version`, which grows with every save. */
  version: string | null;
}

/** When a task was sent and may have been carried out. */
export interface Sending {
  start: Start;
  /** Milliseconds of the run's monotonic clock from the answer of `start` to the sending. */
  afterMs: number;
  before: Before | null;
}

/** What the journal knows of one task. */
export interface Entry {
  /** Undefined: it was about to be sent, and no answer is recorded. */
  result: ChangeResult | undefined;
  /** The bicycle that the service made, for creations. */
  uuid: string | null;
  /** The first time it was sent of which nobody knows what became. */
  sending: Sending;
}

/** A journal as far as it was read. */
export interface Journal {
  /** Undefined: there is none yet, not even its first line. */
  binding: Binding | undefined;
  entries: Map<string, Entry>;
  holder: Holder | undefined;
  /** The start of the run that wrote last. */
  start: Start;
  /** Bytes of whole lines that were read. */
  bytes: number;
  lines: number;
  /** A line that is no record: allowed where a crash cut it, which is before the next claim and at the end. */
  tornLine: number | undefined;
}

export const JOURNAL_VERSION = 2;

/** Every journal of every version begins with this. */
const FIRST_WORDS = '{"fleet_journal":';

const LINE_FEED = 0x0a;

const NO_START: Start = { newest: null, isEmpty: false, date: null, user: null };

export function emptyJournal(): Journal {
  const nothing = { binding: undefined, holder: undefined, tornLine: undefined };
  return { ...nothing, entries: new Map(), start: NO_START, bytes: 0, lines: 0 };
}

/** The record on a line; undefined for what is none. */
function parseLine(line: string): { [name: string]: unknown } | undefined {
  try {
    const value: unknown = parseJson(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Takes in the bytes that follow what was read. Any beginning of a journal is usable, since a crash may cut it anywhere: no request
 * leaves before its whole line is on the disk. Throws a FleetError of kind `usage` for a file that is no journal, for one of another
 * version, and for damage inside it.
 */
export function readOn(journal: Journal, bytes: Buffer, path: string): void {
  let from = 0;
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
    const line = bytes.toString('utf8', from, end);
    journal.bytes += end + 1 - from;
    from = end + 1;
    journal.lines += 1;
    // An editor may have made its line ends CR LF.
    if (line.trim() !== '') takeLine(journal, line, path);
  }
  if (journal.binding === undefined && from < bytes.length) checkFirst(bytes.toString('utf8', from), path);
}

/** Goes past whole lines that the run itself has appended. */
export function skipOwn(journal: Journal, written: Buffer): void {
  journal.bytes += written.length;
  for (let at = written.indexOf(LINE_FEED); at !== -1; at = written.indexOf(LINE_FEED, at + 1)) journal.lines += 1;
}

/** Reads a journal that is whole in memory. Throws as readOn does. */
export function readJournal(bytes: Buffer, path: string): Journal {
  const journal = emptyJournal();
  readOn(journal, bytes, path);
  return journal;
}

function takeLine(journal: Journal, line: string, path: string): void {
  const record = parseLine(line);
  if (journal.binding === undefined && record?.['fleet_journal'] === undefined) {
    checkFirst(line, path);
    return;
  }
  if (record === undefined) {
    journal.tornLine ??= journal.lines;
    return;
  }
  if ('fleet_journal' in record) {
    takeHeader(journal, record, path);
    return;
  }
  if (journal.tornLine !== undefined && !('claim' in record)) {
    throw usageError(
      `line ${journal.tornLine} of the journal ${path} is damaged`,
      'it no longer shows what was done; check the bicycles, and use a new journal for the rest',
    );
  }
  journal.tornLine = undefined;
  takeRecord(journal, record);
}

/** Not even the first line is whole: no request can have left. But a file of something else is left alone. */
function checkFirst(text: string, path: string): void {
  const start = text.slice(0, FIRST_WORDS.length);
  if (!FIRST_WORDS.startsWith(start)) throw notAJournal(path);
}

function notAJournal(path: string): FleetError {
  return usageError(`${path} is not a fleet journal, and was left unchanged`, 'use a new file for --journal');
}

/** The first header counts: of two runs that begin a file at once, one wins the claim. */
function takeHeader(journal: Journal, record: { [name: string]: unknown }, path: string): void {
  const { fleet_journal: version, ...binding } = record;
  if (version !== JOURNAL_VERSION) {
    throw usageError(
      `the journal ${path} is of version ${String(version)}, and this fleet reads version ${JOURNAL_VERSION}`,
      'finish that run with the version of fleet that started it, or use a new file for --journal',
    );
  }
  journal.tornLine = undefined;
  journal.binding ??= binding as Binding;
}

/** What a run of this version writes into a record about a task. */
interface TaskRecord {
  sending?: string;
  answered?: string;
  run?: string;
  start?: Partial<Start>;
  after_ms?: number;
  before?: Before;
  result?: ChangeResult;
  uuid?: string;
}

function takeRecord(journal: Journal, record: { [name: string]: unknown }): void {
  const { entries } = journal;
  const { sending, answered, run, start, after_ms = 0, before = null, result, uuid = null } = record as TaskRecord;
  journal.holder = followHolder(journal.holder, record);
  // A run that lost the journal may have written on until it noticed, but it sent nothing then.
  const isHolder = run !== undefined && run === journal.holder?.id;
  if (isHolder && start !== undefined) journal.start = { ...NO_START, ...start };
  if (isHolder && sending !== undefined) {
    const known = entries.get(sending);
    const isOpen = known !== undefined && judgeEntry(known) === 'doubt';
    const now = { start: journal.start, afterMs: after_ms, before };
    entries.set(sending, { result: undefined, uuid: null, sending: isOpen ? known.sending : now });
  }
  if (answered !== undefined && isObject(result)) {
    const sent = entries.get(answered)?.sending ?? { start: journal.start, afterMs: 0, before: null };
    entries.set(answered, { result, uuid, sending: sent });
  }
}

/** What earlier runs say of a task: done, refused, to be sent (again), or in doubt. */
export function judgeEntry(entry: Entry | undefined): 'open' | 'done' | 'refused' | 'doubt' {
  if (entry === undefined) return 'open';
  if (entry.result === undefined) return 'doubt';
  const { outcome, status } = entry.result;
  // The service provably did not take these (cli.md section 4, promise 1).
  if (outcome === 'not-sent' || status === 401 || status === 403 || status === 429) return 'open';
  if (outcome === 'done' || outcome === 'skipped') return 'done';
  return outcome === 'refused' ? 'refused' : 'doubt';
}

/** Refuses a journal that belongs to something else, and says what differs. */
export function checkBinding(found: Binding, wanted: Binding, path: string): void {
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])];
  const other = names.filter((name) => found[name] !== wanted[name]);
  if (other.length === 0) return;
  const parts = other.map((name) => `${name} ${found[name] ?? 'none'}, not ${wanted[name] ?? 'none'}`);
  throw usageError(
    `the journal ${path} belongs to another run: ${parts.join('; ')}`,
    'use a new journal for each run, or repeat the command this one belongs to',
  );
}
