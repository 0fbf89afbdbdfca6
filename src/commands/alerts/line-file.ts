// A file of JSON lines that outlives the program: read when it is opened, replaced at once by what still counts, appended to in between.
//
// A line is written when what it says was done: a process that is killed between the two does that once more, and nothing else.

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { hasCode } from '../../folder.js';
import { parseJson } from '../../json/parse.js';
import { refuseForeign, targetOf } from '../../settings/trust.js';

export interface LineFile {
  /** Throws a FleetError of kind `output` when it cannot be written. */
  append(records: readonly unknown[]): void;
  /** The file changes at once, from one whole state to the next. Throws as above. */
  replace(records: readonly unknown[]): void;
  /** How many characters were appended since it was replaced. */
  appended(): number;
  close(): void;
}

const OWNER_ONLY_MODE = 0o600;

/**
 * Opens the file with these records in the place of what it held. Throws a FleetError of kind `config` when that is not possible; `hint` says
 * what a failure means later.
 */
export function openLineFile(path: string, records: readonly unknown[], hint: string): LineFile {
  const textOf = (some: readonly unknown[]) => some.map((record) => `${JSON.stringify(record)}\n`).join('');
  let descriptor: number | undefined;
  let appended = 0;
  const close = () => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  const write = (action: () => void) => {
    try {
      action();
    } catch (cause) {
      throw new FleetError('output', `${path} could not be written: ${reasonOf(cause)}`, { cause, hint });
    }
  };
  try {
    replaceFile(path, textOf(records));
  } catch (thrown) {
    const advice = 'check the folder and its permissions, or choose another path';
    throw configError(`${path} cannot be written: ${reasonOf(thrown)}`, advice, thrown);
  }
  return {
    append(some) {
      if (some.length === 0) return;
      const text = textOf(some);
      appended += text.length;
      write(() => {
        descriptor ??= openSync(path, 'a', OWNER_ONLY_MODE);
        writeFileSync(descriptor, text);
      });
    },
    replace(all) {
      close();
      write(() => replaceFile(path, textOf(all)));
      appended = 0;
    },
    appended: () => appended,
    close,
  };
}

/**
 * The records of a file that nobody else may write, undefined for a line that is none, as the last one where it broke off; no records when the
 * file is not there. Throws a FleetError of kind `config` for what cannot be read.
 */
export function readRecords(path: string, limitBytes: number): unknown[] {
  const text = readOwn(path, limitBytes);
  return text === '' ? [] : text.replace(/\n$/, '').split('\n').map(readRecord);
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
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = fstatSync(descriptor);
    refuseForeign(path, found);
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > limitBytes) throw new Error(`it is larger than ${limitBytes / 2 ** 20} MB`);
    return readFileSync(descriptor, 'utf8');
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return '';
    if (thrown instanceof FleetError) throw thrown;
    throw configError(`${path} cannot be read: ${reasonOf(thrown)}`, 'check the path and its permissions', thrown);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** A symbolic link keeps pointing to the file. */
function replaceFile(path: string, text: string): void {
  const target = targetOf(path);
  const temporary = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  const descriptor = openSync(temporary, 'wx', OWNER_ONLY_MODE);
  try {
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, target);
  } catch (thrown) {
    unlinkSync(temporary);
    throw thrown;
  }
}
