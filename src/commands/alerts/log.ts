// A log of JSON lines that outlives the program: read when it is opened, replaced at once by what still counts, appended to in between.
//
// A line is written when what it says was done: a process that is killed between the two does that once more, and nothing else. One
// process writes a log: where others may want it, it is locked as a journal is, by records among its own.

import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { hasCode, moveFile } from '../../folder.js';
import { isObject, parseJson } from '../../json/parse.js';
import { refuseForeign, statIfThere, targetOf } from '../../settings/trust.js';
import { BEAT_MS, type Claim, followHolder, type Holder, type LockOptions, takeLock } from '../bulk/lock.js';

export type Log = ReturnType<typeof openLog>;

export interface LogOptions {
  path: string;
  /** What counts now. */
  all(): readonly unknown[];
  /** What a failure to write means. */
  hint: string;
  /** Who this process is among those who want the log; undefined where nobody else does. */
  claim?: Claim | undefined;
}

const OWNER_ONLY_MODE = 0o600;
/** After so many more characters, some ten thousand lines, the file is written anew. */
const APPENDED_CHARACTERS = 1024 * 1024;

/**
 * Reads a log that nobody else may write, one that is not there is empty: its text, the records of its lines, and how many lines are none,
 * as the last one where it broke off. Throws a FleetError of kind `config` for what cannot be read.
 */
export function readLog(path: string, limitBytes: number) {
  const text = readOwn(path, limitBytes);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const records = lines.map(readRecord).filter((record) => record !== undefined);
  return { text, records, broken: lines.length - records.length };
}

/** Keeps the text of a damaged log beside it; returns where. Throws a FleetError of kind `config` when that cannot be. */
export function keepDamaged(path: string, text: string): string {
  const keptAs = `${path}.damaged-${randomBytes(4).toString('hex')}`;
  try {
    fs.writeFileSync(keptAs, text, { flag: 'wx', mode: OWNER_ONLY_MODE });
  } catch (thrown) {
    throw cannotWrite(keptAs, thrown);
  }
  return keptAs;
}

function readRecord(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}

function readOwn(path: string, limitBytes: number): string {
  let descriptor: number | undefined;
  try {
    // Without waiting: a named pipe in its place would never open.
    descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const found = fs.fstatSync(descriptor);
    refuseForeign(path, found);
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > limitBytes) throw new Error(`it is larger than ${limitBytes / 2 ** 20} MB`);
    return fs.readFileSync(descriptor, 'utf8');
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return '';
    if (thrown instanceof FleetError) throw thrown;
    throw configError(`${path} cannot be read: ${reasonOf(thrown)}`, 'check the path and its permissions', thrown);
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

/** Opens a log with what counts in the place of what it held. Throws a FleetError of kind `config` when that is not possible. */
export function openLog({ path, all, hint, claim }: LogOptions) {
  let descriptor = -1;
  let bytes = 0;
  let appended = 0;
  const close = () => {
    if (descriptor !== -1) fs.closeSync(descriptor);
    descriptor = -1;
  };
  const replace = () => {
    const text = textOf([...all(), ...(claim === undefined ? [] : [claim])]);
    close();
    replaceFile(path, text);
    descriptor = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_APPEND);
    bytes = Buffer.byteLength(text);
    appended = 0;
  };
  /** Others append nothing but claims, and those only to what they found silent for long. */
  const check = () => {
    const { size, ino } = fs.fstatSync(descriptor);
    const isStill = statIfThere(path)?.ino === ino;
    if (isStill && (claim === undefined || size === bytes)) return;
    const holder = claim && holderOf(path, Number.POSITIVE_INFINITY);
    if (holder !== undefined && holder.id !== claim?.claim) throw lost(path, `was taken over by ${nameOf(holder)}`);
    if (!isStill || holder === undefined) throw lost(path, 'was deleted or replaced while it was in use');
    bytes = size;
  };
  const write = (action: () => void) => {
    try {
      action();
    } catch (cause) {
      if (cause instanceof FleetError) throw cause;
      throw new FleetError('output', `${path} could not be written: ${reasonOf(cause)}`, { cause, hint });
    }
  };
  try {
    replace();
  } catch (thrown) {
    throw cannotWrite(path, thrown);
  }
  return {
    /** Throws a FleetError of kind `output` when it cannot be written, and when it is no longer this process's own. */
    append(records: readonly unknown[]): void {
      if (records.length === 0 || descriptor === -1) return;
      const text = textOf(records);
      write(() => {
        fs.writeFileSync(descriptor, text);
        bytes += Buffer.byteLength(text);
        check();
      });
      appended += text.length;
    },
    /** Replaces the file by what counts, where it has grown by more than `least` characters: from one whole state to the next. Throws as above. */
    tidy(least = 0): void {
      if (appended <= Math.max(APPENDED_CHARACTERS, least)) return;
      write(check);
      write(replace);
    },
    close,
  };
}

function textOf(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** A symbolic link keeps pointing to the file. */
function replaceFile(path: string, text: string): void {
  const target = targetOf(path);
  const temporary = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    fs.writeFileSync(temporary, text, { flag: 'wx', mode: OWNER_ONLY_MODE, flush: true });
    moveFile(temporary, target);
  } catch (thrown) {
    fs.rmSync(temporary, { force: true });
    throw thrown;
  }
}

/** The cause of the error where another process has the log. */
export const IN_USE = new Error('in use');

/**
 * Claims a log for this process. Throws a FleetError of kind `config` that names the process that has it, a silent one after the
 * seconds that it takes to know.
 */
export async function lockLog(path: string, limitBytes: number, options: LockOptions): Promise<Claim> {
  const id = randomBytes(6).toString('hex');
  const refresh = async () => holderOf(path, limitBytes);
  let claimed: Claim = { claim: id, over: null, pid: process.pid, host: hostname(), beat_ms: BEAT_MS };
  const claim = async (given: Claim) => {
    claimed = given;
    try {
      // The line feed ends what a crash may have cut.
      fs.appendFileSync(path, `\n${textOf([given])}`, { mode: OWNER_ONLY_MODE });
    } catch (thrown) {
      throw cannotWrite(path, thrown);
    }
    return refresh();
  };
  const inUse = (holder: Holder | undefined) =>
    configError(`${path} is in use by ${nameOf(holder)}`, 'stop that one, or choose another file', IN_USE);
  await takeLock({ path, refresh, claim }, id, { ...options, inUse });
  return { ...claimed, over: null };
}

function holderOf(path: string, limitBytes: number): Holder | undefined {
  let holder: Holder | undefined;
  for (const record of readLog(path, limitBytes).records) if (isObject(record)) holder = followHolder(holder, record);
  return holder;
}

function nameOf(holder: Holder | undefined): string {
  return holder === undefined ? 'another process' : `process ${holder.pid} on ${holder.host}`;
}

function cannotWrite(path: string, thrown: unknown): FleetError {
  const hint = 'check the folder and its permissions, or choose another path';
  return configError(`${path} cannot be written: ${reasonOf(thrown)}`, hint, thrown);
}

function lost(path: string, why: string): FleetError {
  return new FleetError('output', `${path} ${why}`, {
    hint: 'the last alerts may be printed twice',
  });
}
