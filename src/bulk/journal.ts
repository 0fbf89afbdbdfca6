// Writes the journal of a bulk run. Each request is recorded on the disk before it is sent, and
// each response after it arrives. After each flush, the run checks that it still owns the journal.

import { randomBytes } from 'node:crypto';
import { existsSync, fstatSync, statSync } from 'node:fs';
import { constants, type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError, reasonOf, usageError } from '../errors.js';
import { type Clock, every } from '../system/clock.js';
import { hasCode, isDeviceName, OWN_FILE_MODE } from '../system/folder.js';
import { BEAT_MS, type LockOptions, takeLock } from '../system/record-lock.js';
import { type Suspension, watchSuspension } from '../system/suspension.js';
import type { ChangeResult } from '../views/action.js';
import type { Journal } from './journal-records.js';
import * as records from './journal-records.js';

export type OpenJournal = ReturnType<typeof openRecords>;

/**
 * If the last check is older than this, the run checks the journal again before it sends a request.
 * Another run can take over a journal after two missing heartbeats.
 */
const LONGEST_SILENCE_MS = 1.5 * BEAT_MS;

/** Only the first flush that takes longer than this is reported. */
const SLOW_FLUSH_MS = 1000;

export interface JournalOptions extends LockOptions {
  /** Whether the operator accepts a damaged journal (`--unknown resend`). */
  isTrusted: boolean;
}

/** Returns the error for a file that cannot be used as a journal. */
function unusable(path: string, why: string, cause?: unknown): FleetError {
  const hint = 'nothing was sent; pass a writable file to --journal';
  return new FleetError('usage', `the journal ${path} ${why}`, { cause, hint });
}

/** Returns the error for a journal that disappeared or cannot be written. The exit code is 10. */
function lost(path: string, why: string, cause?: unknown): FleetError {
  return new FleetError('output', `the journal ${path} ${why}`, {
    cause,
    hint: 'no request is sent without a record, so the run was stopped; check the disk and the results before you run it again',
  });
}

/**
 * Opens a regular file. Throws a FleetError of kind `usage` for a pipe, a device or an unreadable
 * file.
 */
async function openRegular(path: string, flags: number): Promise<FileHandle> {
  // Without O_NONBLOCK, opening a named pipe that has no writer would block.
  const opening = isDeviceName(path)
    ? undefined
    : open(path, flags | constants.O_NONBLOCK, OWN_FILE_MODE);
  const handle = await opening?.catch((error: unknown) => {
    throw unusable(path, `cannot be opened: ${reasonOf(error)}`, error);
  });
  if (handle !== undefined && fstatSync(handle.fd).isFile()) return handle;
  await handle?.close();
  throw unusable(path, 'is not a regular file');
}

/** The size of the blocks in which a journal is read. A block is larger than any record. */
const BLOCK_BYTES = 64 * 1024 * 1024;

/** Reads the lines that were appended since the last call, block by block. */
async function readAppended(
  journal: records.Journal,
  handle: FileHandle,
  path: string,
): Promise<void> {
  for (let from = -1; journal.bytes !== from; ) {
    from = journal.bytes;
    const block = Buffer.alloc(
      Math.min(Math.max(fstatSync(handle.fd).size - from, 0), BLOCK_BYTES),
    );
    const { bytesRead } = await handle
      .read(block, 0, block.length, from)
      .catch((error: unknown) => {
        throw unusable(path, `cannot be read: ${reasonOf(error)}`, error);
      });
    records.readOn(journal, block.subarray(0, bytesRead), path);
    if (bytesRead === BLOCK_BYTES && journal.bytes === from)
      throw unusable(path, 'has a line longer than any record');
  }
}

/**
 * Reads a journal without creating or locking it. When `mustExist` is false, a missing journal is
 * treated as empty.
 */
export async function readJournalFile(
  path: string,
  nowMs: number,
  mustExist = true,
): Promise<records.Journal> {
  const handle = await openRegular(path, constants.O_RDONLY).catch((error: FleetError) => {
    if (hasCode(error.cause, 'ENOENT')) return undefined;
    throw error;
  });
  if (handle === undefined && mustExist)
    throw usageError(`there is no journal ${path}`, 'check the name of the file');
  const journal = records.emptyJournal();
  if (handle !== undefined) await readAppended(journal, handle, path).finally(() => handle.close());
  records.checkDates(journal, nowMs);
  return journal;
}

/**
 * Returns the entries of earlier runs, for `--dry-run`. Throws for a damaged journal, unless the
 * operator accepts it.
 */
export async function peekEntries(
  path: string,
  binding: records.Binding,
  { isTrusted, clock }: Pick<JournalOptions, 'isTrusted' | 'clock'>,
) {
  const journal = await readJournalFile(path, clock.wallMs(), false);
  records.checkBinding(journal, binding, path);
  if (!isTrusted) await checkCounter(journal, path);
  if (!isTrusted) records.checkDamage(journal, path);
  return journal.entries;
}

/**
 * Appends bytes to the file and flushes them. After a failure, the file can end with an incomplete
 * line, so the caller must not write to it again.
 */
async function appendTo(handle: FileHandle, bytes: Buffer, path: string): Promise<void> {
  try {
    await handle.appendFile(bytes);
    await handle.datasync();
  } catch (error) {
    throw lost(path, `could not be written: ${reasonOf(error)}`, error);
  }
}

/**
 * Returns a function that appends strings and resolves after their flush. Strings that are passed
 * during a flush are written together, and the next flush covers all of them. After a failure
 * nothing more is written.
 */
function openAppender(flush: (bytes: Buffer) => Promise<void>) {
  let waiting: string[] = [];
  let flushed = Promise.resolve();
  const flushAll = () => {
    const bytes = Buffer.from(waiting.join(''));
    waiting = [];
    return flush(bytes);
  };
  return (text: string): Promise<void> => {
    if (waiting.push(text) === 1) flushed = flushed.then(flushAll);
    return flushed;
  };
}

/**
 * Opens the journal of a run. Creates it, or continues the journal of an earlier run of the same
 * command. Throws a FleetError of kind `usage` when the file cannot be opened, is in use, is not a
 * journal, or belongs to another command.
 */
export async function openJournal(
  path: string,
  binding: records.Binding,
  options: JournalOptions,
): Promise<OpenJournal> {
  const id = randomBytes(6).toString('hex');
  const journal = records.emptyJournal();
  const isMissing = !existsSync(path);
  // This check must come before `openRegular`, because `openRegular` creates a missing journal.
  if (isMissing && !options.isTrusted) await checkCounter(journal, path);
  const handle = await openRegular(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND);
  const refresh = async () => {
    await readAppended(journal, handle, path);
    records.checkBinding(journal, binding, path);
    return journal.holder;
  };
  const over = new AbortController();
  const suspension = watchSuspension(options.clock, over.signal);
  const flush = openFlush(handle, path, suspension, options);
  const check: LastCheck = { atMs: options.clock.monotonicMs(), suspendedMs: 0, writing: 0 };
  let counter: RecordCounter | undefined;
  const append = openAppender(async (written) => {
    check.writing = written.length;
    await flush(written);
    // The time is stored before the checks, because they only show that the file is correct at this
    // moment. Later changes need a new check.
    check.atMs = options.clock.monotonicMs();
    check.suspendedMs = suspension.totalMs();
    check.writing = 0;
    if (!isSameFile(handle, path))
      throw lost(path, 'was deleted or replaced while the run used it');
    const { size } = fstatSync(handle.fd);
    const expected = journal.bytes + written.length;
    if (size < expected) throw lost(path, 'was cut short while the run used it');
    // A different size means that another process also wrote to the file. That process may have
    // taken over the journal.
    if (size === expected) records.skipOwn(journal, written, id);
    else await refresh();
    if (journal.damage !== undefined)
      throw lost(path, `was changed while the run used it (${journal.damage})`);
    if (journal.holder?.id !== id) throw lost(path, 'was taken over by another run');
    await counter?.count(journal.records);
  });
  try {
    await refresh();
    records.checkDates(journal, options.clock.wallMs());
    if (!options.isTrusted) await checkCounter(journal, path);
    if (!options.isTrusted) records.checkDamage(journal, path);
    const isNew = journal.binding === undefined;
    const claim = async (record: object) => {
      const header = isNew
        ? records.lineOf({ fleet_journal: records.JOURNAL_VERSION, ...binding })
        : '';
      const accepts = options.isTrusted ? { accepts: true } : {};
      // The line feed comes first, to end a line that a crash may have interrupted.
      const line = records.lineOf({ ...record, n: 1, after: journal.records, ...accepts });
      await appendTo(handle, Buffer.from(`\n${header}${line}`), path);
      return refresh();
    };
    await takeLock({ path, refresh, claim }, id, options);
    counter = await openRecordCounter(path, options.say);
    await counter.write(journal.records);
    if (isNew) await keepName(path);
    const finish = async (isWhole: boolean) => {
      if (isWhole) await counter?.write(journal.records);
      await counter?.close();
    };
    const whyUncertain = () => {
      const suspendedMs = suspension.totalMs() - check.suspendedMs;
      if (suspendedMs > 0)
        return `this process was stopped for ${(suspendedMs / 1000).toFixed(1)} s`;
      if (options.clock.monotonicMs() - check.atMs <= LONGEST_SILENCE_MS) return undefined;
      const addedBytes = fstatSync(handle.fd).size - journal.bytes;
      const isOwn = addedBytes === 0 || addedBytes === check.writing;
      return isOwn && isSameFile(handle, path) ? undefined : 'the journal was changed';
    };
    return openRecords(id, journal, { ...options, append, handle, whyUncertain, over, finish });
  } catch (error) {
    over.abort();
    await counter?.close();
    await handle.close();
    throw error;
  }
}

/** The last check of the journal. It showed that no other run had taken over the journal. */
interface LastCheck {
  /** The time of the check, on the monotonic clock. */
  atMs: number;
  /** The total time for which the process had been suspended before the check. */
  suspendedMs: number;
  /**
   * The number of bytes that this process is appending now. If the file has grown by exactly this
   * number, no other process has changed it.
   */
  writing: number;
}

/** Whether the path still leads to the open file. False after the file was deleted or replaced. */
function isSameFile(handle: FileHandle, path: string): boolean {
  const { dev, ino } = fstatSync(handle.fd);
  const named = statSync(path, { throwIfNoEntry: false });
  return named?.dev === dev && named.ino === ino;
}

/** Returns a function that appends bytes and flushes them. It reports a slow disk once. */
function openFlush(
  handle: FileHandle,
  path: string,
  suspension: Suspension,
  { clock, say }: LockOptions,
) {
  let isReported = false;
  return async (bytes: Buffer): Promise<void> => {
    const startedAtMs = clock.monotonicMs();
    const suspendedMs = suspension.totalMs();
    await appendTo(handle, bytes, path);
    const tookMs = clock.monotonicMs() - startedAtMs;
    if (isReported || tookMs <= SLOW_FLUSH_MS || suspension.totalMs() > suspendedMs) return;
    isReported = true;
    const seconds = (tookMs / 1000).toFixed(1);
    say(
      `the disk of the journal ${path} is slow: it took ${seconds} s to store a record; the run waits for it`,
    );
  };
}

/**
 * Flushes the folder of a new journal. Without the flush, the name of the file may be lost in a
 * power failure. Skips the flush on systems that cannot open folders.
 */
async function keepName(path: string): Promise<void> {
  try {
    const folder = await open(dirname(await realpath(path)), 'r');
    await folder.sync().finally(() => folder.close());
  } catch {}
}

/** The data about a task that the journal records before its request is sent. */
interface Announcement {
  name: string | null;
  before: records.Before | null;
  values?: records.ChangedValues | undefined;
  fields?: records.ChangedFields | undefined;
  /** The transition of this task, when the tasks of the run have different transitions. */
  transition?: string | undefined;
}

/** The values and functions that `openRecords` needs to write its records. */
interface RecordsOptions {
  clock: Clock;
  append(text: string): Promise<void>;
  handle: FileHandle;
  whyUncertain(): string | undefined;
  /** Aborted when the journal is closed. */
  over: AbortController;
  /** Closes the counter file. When `isWhole` is true, first stores the number of records. */
  finish(isWhole: boolean): Promise<void>;
}

function openRecords(
  id: string,
  journal: records.Journal,
  { clock, append, handle, whyUncertain, over, finish }: RecordsOptions,
) {
  const gone = new AbortController();
  let begunAt = clock.monotonicMs();
  let written = 1;

  const write = async (record: object): Promise<void> => {
    written += 1;
    try {
      await append(records.lineOf({ ...record, n: written }));
    } catch (error) {
      gone.abort(error);
      throw error;
    }
  };
  every(clock, BEAT_MS, gone.signal, () => write({ beat: id }).catch(() => {}));
  return {
    /** The entries of earlier runs, by task key. */
    before: journal.entries as ReadonlyMap<string, records.JournalEntry>,
    /**
     * Aborted with a FleetError of kind `output` when the journal is deleted, replaced, taken over,
     * or cannot be written.
     */
    lost: gone.signal,
    /** Records the start of this run and the state of the service. */
    begin(start: records.Start): Promise<void> {
      begunAt = clock.monotonicMs();
      return write({ run: id, start, at: clock.wallMs() });
    },
    /**
     * Records that a request is about to be sent. The request must wait until the promise resolves,
     * because only then is the record on the disk.
     */
    announce(key: string, { name, before, values, fields, transition }: Announcement) {
      const afterMs = Math.round(clock.monotonicMs() - begunAt);
      return write({
        sending: key,
        run: id,
        after_ms: afterMs,
        name: name ?? undefined,
        before: before ?? undefined,
        values,
        fields,
        transition,
      });
    },
    /**
     * Returns undefined when no other run can have taken over the journal since the last check.
     * Otherwise returns the reason why this is possible. The run must then write and check a record
     * before the next request.
     */
    whyUncertain,
    /** Records the result of a task. Resolves when the record is on the disk. */
    record(
      key: string,
      result: ChangeResult,
      { uuid, name, how }: Pick<records.JournalEntry, 'uuid' | 'name' | 'how'>,
    ) {
      const known = {
        uuid: uuid ?? undefined,
        name: name ?? undefined,
        how: how === 'answered' ? undefined : how,
      };
      return write({ answered: key, run: id, ...known, result, at: clock.wallMs() });
    },
    /** Releases the journal for other runs and closes its files. */
    async close() {
      // If another run has taken over the journal, this run must not change it.
      if (!gone.signal.aborted) await write({ released: id }).catch(() => {});
      await finish(!gone.signal.aborted);
      gone.abort();
      over.abort();
      await handle.close();
    },
  };
}

/** The counter file is updated after this many records. */
const RECORDS_PER_COUNT = 10;

/** Counters are padded to this length. A new counter then overwrites the old one completely. */
const DIGITS = 15;
const COUNTER = /^\{"journal_records":(\d{1,15})\}\s*$/;
const LONGEST_COUNTER_BYTES = 100;

/** Returns the path of the counter file. Links to the same journal share one counter file. */
async function counterPathOf(journalPath: string): Promise<string> {
  const path = await realpath(journalPath).catch(() => journalPath);
  return `${path}.count`;
}

/** Matches an incomplete counter, which a crash during a write can leave behind. */
const DAMAGED_COUNTER = /^(?:\{"journal_records":\d{0,15}\}?\s*)?\0*$/;

/**
 * Opens a regular file without blocking. Returns undefined when it is not a regular file. Does not
 * follow symbolic links, because another user may have created them.
 */
async function openCounterFile(path: string, flags: number): Promise<FileHandle | undefined> {
  const all = flags | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(path, all, OWN_FILE_MODE);
  if (fstatSync(handle.fd).isFile()) return handle;
  await handle.close();
  return undefined;
}

async function readCounterText(handle: FileHandle): Promise<string> {
  const bytes = Buffer.alloc(LONGEST_COUNTER_BYTES);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
  return bytes.toString('utf8', 0, bytesRead);
}

/** Whether a file may be overwritten: it is empty, or contains a counter. */
async function isCounter(handle: FileHandle): Promise<boolean> {
  const text = await readCounterText(handle);
  return COUNTER.test(text) || DAMAGED_COUNTER.test(text);
}

/** Returns the number in a counter file; undefined when it cannot be read. */
async function readCounter(path: string): Promise<number | undefined> {
  const handle = await openCounterFile(path, constants.O_RDONLY).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const [, digits] = COUNTER.exec(await readCounterText(handle)) ?? [];
    return digits === undefined ? undefined : Number(digits);
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

/**
 * Compares a journal with its counter file. If records are missing, marks the journal as damaged.
 * Throws a FleetError of kind `usage` when the counter file shows records but the journal is
 * missing or empty.
 */
export async function checkCounter(journal: Journal, journalPath: string): Promise<void> {
  const path = await counterPathOf(journalPath);
  const expected = await readCounter(path);
  if (expected === undefined || expected <= journal.records) return;
  if (journal.binding === undefined)
    throw usageError(
      `the journal ${journalPath} is missing or empty, but ${path} says that a run wrote ${expected} records; nothing was sent`,
      `restore the journal; to start a new run, use another name for --journal, or delete ${path}`,
    );
  const missing = expected - journal.records;
  journal.damage ??= `its last records are missing, ${missing} or more, as ${path} shows`;
}

export type RecordCounter = Awaited<ReturnType<typeof openRecordCounter>>;

/**
 * Opens the counter file of a journal. On failure, `say` reports the reason, and the run continues
 * without the file.
 */
export async function openRecordCounter(journalPath: string, say: (line: string) => void) {
  const path = await counterPathOf(journalPath);
  let counted = Number.NEGATIVE_INFINITY;
  let handle: FileHandle | undefined;

  const fail = (why: string) => {
    handle = undefined;
    say(`the counter file ${path} ${why}; a journal that loses its end will not be recognised`);
  };

  async function write(records: number): Promise<void> {
    counted = records;
    const text = `{"journal_records":${String(records).padStart(DIGITS, '0')}}\n`;
    try {
      await handle?.write(Buffer.from(text), 0, text.length, 0);
      await handle?.datasync();
    } catch (error) {
      fail(`cannot be written: ${reasonOf(error)}`);
    }
  }

  try {
    handle = await openCounterFile(path, constants.O_RDWR | constants.O_CREAT);
    if (handle === undefined) fail('is not a regular file');
    else if (!(await isCounter(handle))) {
      await handle.close();
      fail('holds something else, and was left unchanged');
    }
  } catch (error) {
    fail(`cannot be opened: ${reasonOf(error)}`);
  }
  return {
    /** Stores the number of journal records that are on the disk. */
    write,
    /**
     * Stores the number of records, but only after at least ten records were added since the last
     * time.
     */
    async count(records: number): Promise<void> {
      if (records >= counted + RECORDS_PER_COUNT) await write(records);
    },
    async close(): Promise<void> {
      await handle?.close().catch(() => {});
      handle = undefined;
    },
  };
}
