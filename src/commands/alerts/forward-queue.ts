// The bodies that wait to be passed on, in memory and in a file that outlives the process: a line for each, a line when it is done.

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { configError } from '../../errors.js';
import { parseJson } from '../../json/parse.js';
import { refuseForeign } from '../../settings/trust.js';
import { replaceFile } from './memory.js';

/** A body as it came, and the headers that are passed on with it. */
export interface Forwarded {
  readonly body: Buffer;
  readonly headers: { readonly [name: string]: string };
}

export interface ForwardQueue {
  /** Adds a body; false when there is no room for it. Throws when it cannot be written. */
  add(forwarded: Forwarded): boolean;
  hasRoom(): boolean;
  first(): Forwarded | undefined;
  /** Forgets the first one. */
  done(): void;
  size(): number;
  close(): void;
}

const OWNER_ONLY_MODE = 0o600;
const MOST_BODIES = 100_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** The file is emptied when nothing waits and it is larger than this. */
const TIDY_BYTES = 1024 * 1024;
/** What is read of such a file: all that may wait, written as base64, and what was done meanwhile. */
const FILE_LIMIT_BYTES = 400 * 1024 * 1024;

interface Entry extends Forwarded {
  readonly id: number;
}

/** Opens the queue at a path, with what was not done before. Throws a FleetError of kind `config` when it cannot be used. */
export async function openForwardQueue(path: string): Promise<ForwardQueue> {
  let entries = (await restore(path)).map((entry, index) => ({ ...entry, id: index + 1 }));
  let start = 0;
  let bytes = entries.reduce((sum, { body }) => sum + body.length, 0);
  let ids = entries.length;
  await replaceFile(path, entries.map(lineOf).join(''));
  const descriptor = openSync(path, 'a', OWNER_ONLY_MODE);
  let written = 0;
  const size = () => entries.length - start;
  const hasRoom = () => size() < MOST_BODIES && bytes < MOST_BYTES;
  const append = (line: string) => {
    written += line.length;
    writeSync(descriptor, line);
  };
  return {
    size,
    hasRoom,
    add(forwarded) {
      if (!hasRoom()) return false;
      const entry = { ...forwarded, id: ++ids };
      append(lineOf(entry));
      entries.push(entry);
      bytes += forwarded.body.length;
      return true;
    },
    first: () => entries[start],
    done() {
      const entry = entries[start];
      if (entry === undefined) return;
      start++;
      bytes -= entry.body.length;
      // What is done is let go of in batches, which keeps it cheap.
      if (start > 1000 || start === entries.length) {
        entries = entries.slice(start);
        start = 0;
      }
      append(`${JSON.stringify({ done: entry.id })}\n`);
      if (size() > 0 || written < TIDY_BYTES) return;
      ftruncateSync(descriptor, 0);
      written = 0;
    },
    close: () => closeSync(descriptor),
  };
}

function lineOf({ id, headers, body }: Entry): string {
  return `${JSON.stringify({ id, headers, body: body.toString('base64') })}\n`;
}

async function restore(path: string): Promise<Entry[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return [];
  refuseForeign(path, found);
  if (!found.isFile() || found.size > FILE_LIMIT_BYTES) {
    throw configError(`${path} is not a queue of fleet, and was left as it is`, 'move it away');
  }
  const waiting = new Map<number, Entry>();
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    const entry = readLine(line);
    if (typeof entry === 'number') waiting.delete(entry);
    else if (entry !== undefined) waiting.set(entry.id, entry);
  }
  return [...waiting.values()];
}

/** A body, the number of one that is done, or undefined for a line that breaks off. */
function readLine(line: string): Entry | number | undefined {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    return undefined;
  }
  const { id, done, body, headers } = (value ?? {}) as { [name: string]: unknown };
  if (typeof done === 'number') return done;
  if (typeof id !== 'number' || typeof body !== 'string' || typeof headers !== 'object' || headers === null)
    return undefined;
  const texts = Object.entries(headers).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  return { id, body: Buffer.from(body, 'base64'), headers: Object.fromEntries(texts) };
}
