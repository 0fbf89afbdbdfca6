// Keeps lines to be read again: in memory while they are few, else in a private temporary file.

import { randomBytes } from 'node:crypto';
import { closeSync, createReadStream, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetError, reasonOf } from '../../errors.js';

export interface Spool {
  /** Takes a line without its end. Throws a FleetError of kind `output` where the temporary file cannot be written. */
  add(line: string): void;
  /** All lines from the first on, as often as wanted. */
  lines(): AsyncGenerator<string, void, undefined>;
  close(): void;
}

/** So much is kept in memory before it is written. */
const KEPT_CHARACTERS = 1024 * 1024;

export function openSpool(): Spool {
  let kept = '';
  let descriptor: number | undefined;
  async function* chunks(): AsyncGenerator<string, void, undefined> {
    if (descriptor !== undefined)
      yield* createReadStream('', { fd: descriptor, start: 0, autoClose: false, encoding: 'utf8' });
    yield kept;
  }
  return {
    add(line) {
      kept += `${line}\n`;
      if (kept.length < KEPT_CHARACTERS) return;
      try {
        descriptor ??= openNameless();
        writeFileSync(descriptor, kept);
      } catch (error) {
        throw new FleetError('output', `the rows that were checked cannot be kept in ${tmpdir()}: ${reasonOf(error)}`, {
          hint: 'nothing was sent; make room there, or name another folder with TMPDIR',
        });
      }
      kept = '';
    },
    async *lines() {
      let rest = '';
      for await (const chunk of chunks()) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        yield* lines;
      }
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

/** A file that is gone with this process, however it ends. */
function openNameless(): number {
  const path = join(tmpdir(), `fleet-${randomBytes(8).toString('hex')}`);
  const descriptor = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return descriptor;
}
