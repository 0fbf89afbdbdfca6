// A log file of JSON lines. Opening a log reads and compacts the file. Later records are appended.
//
// The record of an action is written after the action. If the process is killed between the two,
// only this action is repeated. Only one process writes to a log. Its lock consists of records in
// the log itself, as in a journal.

import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import { readOwnFile, statIfThere } from '../../settings/trust.js';
import { sleep } from '../../system/clock.js';
import { OWN_FILE_MODE } from '../../system/folder.js';
import {
  BEAT_MS,
  type Claim,
  followHolder,
  type Holder,
  type LockOptions,
  takeLock,
} from '../../system/record-lock.js';
import { writeWholeFile } from '../../system/whole-file.js';

export interface AlertsLogOptions extends LockOptions {
  path: string;
  /** Restores the state from the records. Returns false when the file is damaged. */
  restore(records: readonly unknown[], broken: number): boolean;
  /** Returns the records of the current state. */
  all(): readonly unknown[];
}

/**
 * The maximum size of a log in bytes. The tables and queues in a log have lower limits, so a log is
 * normally far smaller.
 */
const LIMIT_BYTES = 400_000_000;
/**
 * The file is compacted after it has grown by this many bytes (about ten thousand lines). If the
 * compacted file was already larger than this, it is compacted again when its size has doubled.
 */
const APPENDED_BYTES = 1024 * 1024;

/**
 * Reads a log that only the operator can write. Returns its text, its records, and the number of
 * invalid lines, such as an incomplete last line. A missing log is treated as empty.
 *
 * Throws a FleetError of kind `config` when the log cannot be read.
 */
export function readLog(path: string) {
  const text = readOwnFile(path, LIMIT_BYTES, 'check the path and its permissions') ?? '';
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const records = lines.flatMap((line) => {
    try {
      return [parseJson(line)];
    } catch {
      return [];
    }
  });
  return { text, records, broken: lines.length - records.length };
}

/**
 * Opens and compacts a log for this process. Keeps a copy of a damaged log.
 *
 * Throws a FleetError of kind `config` when this fails, or when another process uses the log.
 * Checking for another process may take some seconds. Later write errors are FleetErrors of kind
 * `output`.
 */
export async function openLog(options: AlertsLogOptions) {
  const { path, restore } = options;
  const found = readLog(path);
  const claim = await claimLog(options);
  const { records, broken } = readLog(path);
  /** The path of the copy of a damaged file. */
  const keptAs = restore(records, broken)
    ? undefined
    : `${path}.damaged-${randomBytes(4).toString('hex')}`;
  if (keptAs !== undefined)
    writing(path, 'config', () =>
      fs.writeFileSync(keptAs, found.text, { flag: 'wx', mode: OWN_FILE_MODE }),
    );
  return { keptAs, ...openWriter(options, claim) };
}

/** Compacts the log, and returns the functions that append to it. */
function openWriter({ path, clock, all }: AlertsLogOptions, claim: Claim) {
  let descriptor = -1;
  let bytes = 0;
  /** The size of the log right after it was last compacted. */
  let wholeBytes = 0;

  const closeFile = () => {
    if (descriptor !== -1) fs.closeSync(descriptor);
    descriptor = -1;
  };
  const replace = () => {
    const whole = linesOf([...all(), claim]);
    closeFile();
    writeWholeFile(path, whole, { mode: OWN_FILE_MODE, isLocked: true });
    descriptor = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_APPEND);
    wholeBytes = bytes = Buffer.byteLength(whole);
  };
  /**
   * Checks that no other process has taken over the log. Another process appends nothing but its
   * claim, and does so only when this process has written nothing for a long time.
   */
  const check = () => {
    const { size, ino } = fs.fstatSync(descriptor);
    const isStill = statIfThere(path)?.ino === ino;
    if (isStill && size === bytes) return;
    const holder = holderOf(path);
    const isOurs = holder?.id === claim.claim;
    const why =
      holder && !isOurs
        ? `taken over by ${nameOf(holder)}`
        : 'deleted or replaced while it was in use';
    if (!isStill || !isOurs)
      throw new FleetError('output', `${path} was ${why}`, {
        hint: 'the last alerts may be printed twice',
      });
    bytes = size;
  };
  const append = (added: readonly unknown[]) => {
    if (added.length === 0 || descriptor === -1) return;
    const lines = linesOf(added);
    writing(path, 'output', () => fs.writeFileSync(descriptor, lines));
    bytes += Buffer.byteLength(lines);
    check();
  };

  writing(path, 'config', replace);
  return {
    append,
    /**
     * Compacts the file when it has grown enough. Call this function when all effects have been
     * delivered.
     */
    tidy(): void {
      if (bytes - wholeBytes <= Math.max(APPENDED_BYTES, wholeBytes)) return;
      check();
      writing(path, 'output', replace);
    },
    /**
     * Writes heartbeats until the signal is aborted. Rejects when another process has taken over
     * the log.
     */
    async beat(over: AbortSignal): Promise<void> {
      const isOver = () => over.aborted;
      while (!(await sleep(clock, BEAT_MS, over).then(isOver, isOver)))
        append([{ beat: claim.claim }]);
    },
    close(): void {
      try {
        append([{ released: claim.claim }]);
      } catch {
        // Appending fails when another process has taken over the log. This process then has no
        // lock to release, so the error is ignored.
      }
      closeFile();
    },
  };
}

function linesOf(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

async function claimLog({ path, clock, signal, say }: AlertsLogOptions): Promise<Claim> {
  const id = randomBytes(6).toString('hex');
  const refresh = async () => holderOf(path);
  const claim = async (given: Claim) => {
    // The line feed ends an incomplete line that a crash may have left behind.
    writing(path, 'config', () =>
      fs.appendFileSync(path, `\n${linesOf([given])}`, { mode: OWN_FILE_MODE }),
    );
    return refresh();
  };
  const inUse = (holder: Holder | undefined) =>
    configError(`${path} is in use by ${nameOf(holder)}`, 'stop that one, or choose another file');
  await takeLock({ path, refresh, claim }, id, { clock, signal, say, inUse });
  return { claim: id, over: null, pid: process.pid, host: hostname(), beat_ms: BEAT_MS };
}

function holderOf(path: string): Holder | undefined {
  return readLog(path).records.filter(isObject).reduce<Holder | undefined>(followHolder, undefined);
}

function nameOf(holder: Holder | undefined): string {
  return holder === undefined ? 'another process' : `process ${holder.pid} on ${holder.host}`;
}

const CANNOT_WRITE = {
  config: 'check the folder and its permissions, or choose another path',
  output:
    'the last alerts may be printed again after a restart, and webhooks without an answer must be sent again',
};

/**
 * Runs a function that writes to a log, and converts its errors. Errors while a log is being opened
 * are of kind `config`.
 */
function writing(path: string, kind: keyof typeof CANNOT_WRITE, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw new FleetError(kind, `${path} cannot be written: ${reasonOf(cause)}`, {
      cause,
      hint: CANNOT_WRITE[kind],
    });
  }
}
