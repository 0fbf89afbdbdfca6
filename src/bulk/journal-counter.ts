// The counter file beside a journal: how many records the journal had. It reveals that the end of a
// journal is missing, which looks like a crash otherwise.

import { fstatSync } from 'node:fs';
import { constants, type FileHandle, open, realpath } from 'node:fs/promises';
import { reasonOf, usageError } from '../errors.js';
import { OWN_FILE_MODE } from '../system/folder.js';
import type { Journal } from './journal-records.js';

/** The number of records between two writes of the counter. */
const RECORDS_PER_COUNT = 10;

/** All counters have the same length, so that each is overwritten in place. */
const DIGITS = 15;
const COUNTER = /^\{"journal_records":(\d{1,15})\}\s*$/;
const LONGEST_COUNTER_BYTES = 100;

/** Returns the path of the counter file. Other names of a journal, such as links, share one. */
async function counterPathOf(journalPath: string): Promise<string> {
  const path = await realpath(journalPath).catch(() => journalPath);
  return `${path}.count`;
}

/** What a crash can leave of a counter that was being written. */
const DAMAGED_COUNTER = /^(?:\{"journal_records":\d{0,15}\}?\s*)?\0*$/;

/**
 * Opens a regular file without blocking; undefined for any other kind of file. Follows no symbolic
 * link, because others may have put it there.
 */
async function openRegular(path: string, flags: number): Promise<FileHandle | undefined> {
  const all = flags | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(path, all, OWN_FILE_MODE);
  if (fstatSync(handle.fd).isFile()) return handle;
  await handle.close();
  return undefined;
}

async function readText(handle: FileHandle): Promise<string> {
  const bytes = Buffer.alloc(LONGEST_COUNTER_BYTES);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
  return bytes.toString('utf8', 0, bytesRead);
}

/** Whether a file is empty or a counter, so that it may be overwritten. */
async function isCounter(handle: FileHandle): Promise<boolean> {
  const text = await readText(handle);
  return COUNTER.test(text) || DAMAGED_COUNTER.test(text);
}

/** Returns the number in a counter file; undefined when it cannot be read. */
async function readCounter(path: string): Promise<number | undefined> {
  const handle = await openRegular(path, constants.O_RDONLY).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const [, digits] = COUNTER.exec(await readText(handle)) ?? [];
    return digits === undefined ? undefined : Number(digits);
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

/**
 * Compares a journal with its counter file. Notes missing records as damage. Throws a FleetError of
 * kind `usage` when the counter file exists and the journal is missing or empty.
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

/** Opens the counter file of a journal. A run goes on without one, and `say` reports why. */
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
    handle = await openRegular(path, constants.O_RDWR | constants.O_CREAT);
    if (handle === undefined) fail('is not a regular file');
    else if (!(await isCounter(handle))) {
      await handle.close();
      fail('holds something else, and was left unchanged');
    }
  } catch (error) {
    fail(`cannot be opened: ${reasonOf(error)}`);
  }
  return {
    /** Stores how many records of the journal are on the disk. */
    write,
    /** The same after every tenth record. */
    async count(records: number): Promise<void> {
      if (records >= counted + RECORDS_PER_COUNT) await write(records);
    },
    async close(): Promise<void> {
      await handle?.close().catch(() => {});
      handle = undefined;
    },
  };
}
