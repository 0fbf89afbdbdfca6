// A log of JSON lines that outlives the program: read when it is opened, replaced at once by what still counts, appended to in between.
//
// A line is written when what it says was done: a process that is killed between the two does that once more, and nothing else. One
// process writes a log: it is locked as a journal is, by records among its own.

import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { sleep } from '../../clock.js';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { hasCode, moveFile } from '../../folder.js';
import { isObject, parseJson } from '../../json/parse.js';
import { refuseForeign, statIfThere, trustTargetOf } from '../../settings/trust.js';
import { BEAT_MS, type Claim, followHolder, type Holder, type LockOptions, takeLock } from '../shared/bulk/lock.js';

export interface LogFileOptions extends LockOptions {
  path: string;
  /** Takes in what the file holds; false: it is damaged. `writtenMs`: when it was written last. */
  restore(records: readonly unknown[], broken: number, writtenMs: number | undefined): boolean;
  /** What counts now. */
  all(): readonly unknown[];
  /** What a failure to write means. */
  hint: string;
}

const OWNER_ONLY_MODE = 0o600;
/** What is read of a log at most: far above what is kept. */
const LIMIT_BYTES = 400 * 1024 * 1024;
/** After so many more bytes, some ten thousand lines, the file is written anew, unless it was larger from the start. */
const APPENDED_BYTES = 1024 * 1024;

/**
 * Reads a log that nobody else may write, one that is not there is empty: its text, the records of its lines, and how many lines are none,
 * as the last one where it broke off. Throws a FleetError of kind `config` for what cannot be read.
 */
export function readLog(path: string) {
  const text = readOwn(path);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const records = lines.map(readRecord).filter((record) => record !== undefined);
  return { text, records, broken: lines.length - records.length };
}

function readRecord(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}

function readOwn(path: string): string {
  let descriptor: number | undefined;
  try {
    // Without waiting: a named pipe in its place would never open.
    descriptor = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    const found = fs.fstatSync(descriptor);
    refuseForeign(path, found);
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > LIMIT_BYTES) throw new Error(`it is larger than ${LIMIT_BYTES / 2 ** 20} MB`);
    return fs.readFileSync(descriptor, 'utf8');
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return '';
    if (thrown instanceof FleetError) throw thrown;
    throw configError(`${path} cannot be read: ${reasonOf(thrown)}`, 'check the path and its permissions', thrown);
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

/**
 * Opens a log for this process alone, with what counts in the place of what it held; one that is damaged is kept beside. Throws a
 * FleetError of kind `config` where that is not possible, and one that names the process that has it; a silent one after the seconds that
 * it takes to know.
 */
export async function openLog(options: LogFileOptions): Promise<LogFile> {
  const { path } = options;
  const { text } = readLog(path);
  const writtenMs = statIfThere(path)?.mtimeMs;
  const claim = await claimLog(options);
  const { records, broken } = readLog(path);
  const keptAs = options.restore(records, broken, writtenMs) ? undefined : keepDamaged(path, text);
  return new LogFile(options, claim, keptAs);
}

export class LogFile {
  readonly #options: LogFileOptions;
  readonly #claim: Claim;
  /** Where the file is kept that was damaged. */
  readonly keptAs: string | undefined;
  #descriptor = -1;
  #bytes = 0;
  /** As it was written anew. */
  #wholeBytes = 0;

  constructor(options: LogFileOptions, claim: Claim, keptAs: string | undefined) {
    this.#options = options;
    this.#claim = claim;
    this.keptAs = keptAs;
    try {
      this.#replace();
    } catch (thrown) {
      throw cannotWrite(options.path, thrown);
    }
  }

  /** Throws a FleetError of kind `output` when it cannot be written, and when it is no longer this process's own. */
  append(added: readonly unknown[]): void {
    if (added.length === 0 || this.#descriptor === -1) return;
    const lines = linesOf(added);
    this.#write(() => {
      fs.writeFileSync(this.#descriptor, lines);
      this.#bytes += Buffer.byteLength(lines);
      this.#check();
    });
  }

  /** Replaces the file by what counts, where it has grown: call it where nothing is pending. Throws as above. */
  tidy(): void {
    if (this.#bytes - this.#wholeBytes <= Math.max(APPENDED_BYTES, this.#wholeBytes)) return;
    this.#write(() => {
      this.#check();
      this.#replace();
    });
  }

  /** Says that this process lives, until the signal is aborted; rejects when another one has taken over. */
  async beat(over: AbortSignal): Promise<void> {
    const isOver = () => over.aborted;
    while (!(await sleep(this.#options.clock, BEAT_MS, over).then(isOver, isOver)))
      this.append([{ beat: this.#claim.claim }]);
  }

  close(): void {
    try {
      this.append([{ released: this.#claim.claim }]);
    } catch {
      // One that is lost is not this process's to let go of.
    }
    this.#closeFile();
  }

  #closeFile(): void {
    if (this.#descriptor !== -1) fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  #replace(): void {
    const { path, all } = this.#options;
    const whole = linesOf([...all(), this.#claim]);
    this.#closeFile();
    replaceFile(path, whole);
    this.#descriptor = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_APPEND);
    this.#wholeBytes = this.#bytes = Buffer.byteLength(whole);
  }

  /** Others append nothing but claims, and those only to what they found silent for long. */
  #check(): void {
    const { path } = this.#options;
    const { size, ino } = fs.fstatSync(this.#descriptor);
    const isStill = statIfThere(path)?.ino === ino;
    if (isStill && size === this.#bytes) return;
    const holder = holderOf(path);
    if (holder !== undefined && holder.id !== this.#claim.claim)
      throw lost(path, `was taken over by ${nameOf(holder)}`);
    if (!isStill || holder === undefined) throw lost(path, 'was deleted or replaced while it was in use');
    this.#bytes = size;
  }

  #write(action: () => void): void {
    const { path, hint } = this.#options;
    try {
      action();
    } catch (cause) {
      if (cause instanceof FleetError) throw cause;
      throw new FleetError('output', `${path} could not be written: ${reasonOf(cause)}`, { cause, hint });
    }
  }
}

function linesOf(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function keepDamaged(path: string, text: string): string {
  const keptAs = `${path}.damaged-${randomBytes(4).toString('hex')}`;
  try {
    fs.writeFileSync(keptAs, text, { flag: 'wx', mode: OWNER_ONLY_MODE });
  } catch (thrown) {
    throw cannotWrite(keptAs, thrown);
  }
  return keptAs;
}

/** A symbolic link keeps pointing to the file. */
function replaceFile(path: string, text: string): void {
  const target = trustTargetOf(path);
  const temporary = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    fs.writeFileSync(temporary, text, { flag: 'wx', mode: OWNER_ONLY_MODE, flush: true });
    moveFile(temporary, target);
  } catch (thrown) {
    fs.rmSync(temporary, { force: true });
    throw thrown;
  }
}

async function claimLog({ path, ...options }: LogFileOptions): Promise<Claim> {
  const id = randomBytes(6).toString('hex');
  const refresh = async () => holderOf(path);
  const claim = async (given: Claim) => {
    try {
      // The line feed ends what a crash may have cut.
      fs.appendFileSync(path, `\n${linesOf([given])}`, { mode: OWNER_ONLY_MODE });
    } catch (thrown) {
      throw cannotWrite(path, thrown);
    }
    return refresh();
  };
  const inUse = (holder: Holder | undefined) =>
    configError(`${path} is in use by ${nameOf(holder)}`, 'stop that one, or choose another file');
  await takeLock({ path, refresh, claim }, id, { ...options, inUse });
  return { claim: id, over: null, pid: process.pid, host: hostname(), beat_ms: BEAT_MS };
}

function holderOf(path: string): Holder | undefined {
  let holder: Holder | undefined;
  for (const record of readLog(path).records) if (isObject(record)) holder = followHolder(holder, record);
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
