// A log of JSON lines that outlives the program: read when it is opened, replaced at once by what still counts, appended to in between.
//
// A line is written when what it says was done: a process that is killed between the two does that once more, and nothing else. One
// process writes a log: it is locked as a journal is, by records among its own.

import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { hostname } from 'node:os';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import { readOwnFile, statIfThere, trustTargetOf } from '../../settings/trust.js';
import { sleep } from '../../system/clock.js';
import { moveFile, OWN_FILE_MODE } from '../../system/folder.js';
import {
  BEAT_MS,
  type Claim,
  followHolder,
  type Holder,
  type LockOptions,
  takeLock,
} from '../shared/bulk/lock.js';

export interface AlertsLogOptions extends LockOptions {
  path: string;
  /** Takes in what the file holds; false: it is damaged. */
  restore(records: readonly unknown[], broken: number): boolean;
  /** What counts now. */
  all(): readonly unknown[];
}

/** What is read of a log at most: far above what is kept. */
const LIMIT_BYTES = 400_000_000;
/** After so many more bytes, some ten thousand lines, the file is written anew, unless it was larger from the start. */
const APPENDED_BYTES = 1024 * 1024;

/**
 * Reads a log that nobody else may write, one that is not there is empty: its text, the records of its lines, and how many lines are none,
 * as the last one where it broke off. Throws a FleetError of kind `config` for what cannot be read.
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
 * Opens a log for this process alone, with what counts in the place of what it held; one that is damaged is kept beside. Throws a
 * FleetError of kind `config` where that is not possible, and one that names the process that has it; a silent one after the seconds that
 * it takes to know. Once it is open, what cannot be written is a FleetError of kind `output`.
 */
export async function openLog(options: AlertsLogOptions) {
  const { path, restore } = options;
  const found = readLog(path);
  const claim = await claimLog(options);
  const { records, broken } = readLog(path);
  /** Where the file is kept that was damaged. */
  const keptAs = restore(records, broken)
    ? undefined
    : `${path}.damaged-${randomBytes(4).toString('hex')}`;
  if (keptAs !== undefined)
    writing(path, 'config', () =>
      fs.writeFileSync(keptAs, found.text, { flag: 'wx', mode: OWN_FILE_MODE }),
    );
  return { keptAs, ...openWriter(options, claim) };
}

/** Replaces the log by what counts, and adds to it. */
function openWriter({ path, clock, all }: AlertsLogOptions, claim: Claim) {
  let descriptor = -1;
  let bytes = 0;
  /** As it was written anew. */
  let wholeBytes = 0;

  const closeFile = () => {
    if (descriptor !== -1) fs.closeSync(descriptor);
    descriptor = -1;
  };
  const replace = () => {
    const whole = linesOf([...all(), claim]);
    closeFile();
    replaceFile(path, whole);
    descriptor = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_APPEND);
    wholeBytes = bytes = Buffer.byteLength(whole);
  };
  /** Others append nothing but claims, and those only to what they found silent for long. */
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
    /** Replaces the file by what counts, where it has grown: call it where nothing is pending. */
    tidy(): void {
      if (bytes - wholeBytes <= Math.max(APPENDED_BYTES, wholeBytes)) return;
      check();
      writing(path, 'output', replace);
    },
    /** Says that this process lives, until the signal is aborted; rejects when another one has taken over. */
    async beat(over: AbortSignal): Promise<void> {
      const isOver = () => over.aborted;
      while (!(await sleep(clock, BEAT_MS, over).then(isOver, isOver)))
        append([{ beat: claim.claim }]);
    },
    close(): void {
      try {
        append([{ released: claim.claim }]);
      } catch {
        // One that is lost is not this process's to let go of.
      }
      closeFile();
    },
  };
}

function linesOf(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** A symbolic link keeps pointing to the file. */
function replaceFile(path: string, text: string): void {
  const target = trustTargetOf(path);
  const draft = `${target}.draft`;
  // What a run that was killed left, or found no room for.
  fs.rmSync(draft, { force: true });
  fs.writeFileSync(draft, text, { flag: 'wx', mode: OWN_FILE_MODE, flush: true });
  moveFile(draft, target);
}

async function claimLog({ path, clock, signal, say }: AlertsLogOptions): Promise<Claim> {
  const id = randomBytes(6).toString('hex');
  const refresh = async () => holderOf(path);
  const claim = async (given: Claim) => {
    // The line feed ends what a crash may have cut.
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
    'what was printed last may be printed again after a restart, and a webhook that was not answered has to be sent again',
};

/** Writes to a log; what fails is of kind `config` while it is opened. */
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
