// What following alerts remembers across restarts: a file of JSON lines, replaced at once when it is opened or has grown, appended to in between.
//
// A line is written when what it says was shown: a process that is killed between the two shows that alert once more, and no other. A
// last line that breaks off counts for nothing.

import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { open, realpath, rename, unlink } from 'node:fs/promises';
import { configError, FleetError, reasonOf } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import { refuseForeign } from '../../settings/trust.js';
import { readTime } from '../../terminal/time.js';
import { type KnownAlerts, openKnownAlerts, type Source, type Version } from './known.js';
import { OVERLAP_MS } from './state.js';

export interface Memory {
  readonly path: string;
  readonly known: KnownAlerts;
  /** The service's time up to which the list was read; undefined when it never was. */
  readonly cursorMs: number | undefined;
  /** Remembers versions that were shown or are known. Throws a FleetError of kind `output` when that cannot be written. */
  keep(versions: readonly Version[]): void;
  /** Remembers how far the list was read. Throws as above. */
  move(cursorMs: number): void;
  /** Replaces the file where it has grown: call it where nothing is pending. Rejects as above. */
  tidy(): Promise<void>;
  close(): void;
}

const FORMAT = 1;
const OWNER_ONLY_MODE = 0o600;
/** What is read of such a file at most; far above what is kept. */
const LIMIT_BYTES = 64 * 1024 * 1024;
/** So many versions are kept at least, for what a webhook may say again. */
const KEPT_VERSIONS = 5_000;
/** After so many more lines the file is written anew. */
const APPENDED_LINES = 10_000;

const SOURCES: readonly Source[] = ['list', 'webhook', 'push'];

/**
 * Opens the memory at a path; a file that is not there is made. Throws a FleetError of kind `config` for a file that is something else,
 * belongs to others, or remembers another service, which is left as it is.
 */
export async function openMemory(path: string, baseUrl: string): Promise<Memory> {
  const known = openKnownAlerts();
  let cursorMs = await restore(path, baseUrl, known);
  let descriptor: number | undefined;
  let appended = 0;

  const failure = (cause: unknown) => {
    const hint = 'what was shown last may be shown again after a restart';
    return new FleetError('output', `${path} could not be written: ${reasonOf(cause)}`, { cause, hint });
  };
  const append = (lines: readonly string[]) => {
    if (lines.length === 0) return;
    appended += lines.length;
    try {
      descriptor ??= openSync(path, 'a', OWNER_ONLY_MODE);
      writeSync(descriptor, lines.join(''));
    } catch (thrown) {
      throw failure(thrown);
    }
  };
  const close = () => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  const replace = async () => {
    close();
    const header = `${JSON.stringify({ fleet: 'alerts', format: FORMAT, base_url: baseUrl })}\n`;
    const kept = worthKeeping(known.versions(), cursorMs).map(lineOf);
    await replaceFile(path, header + kept.join('') + (cursorMs === undefined ? '' : cursorLine(cursorMs)));
    appended = 0;
  };
  await replace().catch((thrown) => {
    const hint = 'check the folder and its permissions, or choose another path';
    throw configError(`${path} cannot be written: ${reasonOf(thrown)}`, hint, thrown);
  });
  return {
    path,
    known,
    get cursorMs() {
      return cursorMs;
    },
    keep: (versions) => append(versions.map(lineOf)),
    move(toMs) {
      cursorMs = toMs;
      append([cursorLine(toMs)]);
    },
    async tidy() {
      if (appended > APPENDED_LINES) await replace().catch((thrown) => Promise.reject(failure(thrown)));
    },
    close,
  };
}

function lineOf({ id, modified, state, source }: Version): string {
  return `${JSON.stringify([id, modified, state, source])}\n`;
}

function cursorLine(cursorMs: number): string {
  return `${JSON.stringify({ cursor: new Date(cursorMs).toISOString() })}\n`;
}

/** All that the next reading will meet, and the newest of the rest. */
function worthKeeping(versions: readonly Version[], cursorMs: number | undefined): Version[] {
  const fromMs = cursorMs === undefined ? Number.POSITIVE_INFINITY : cursorMs - 2 * OVERLAP_MS;
  const first = versions.length - KEPT_VERSIONS;
  return versions.filter(({ modified }, index) => index >= first || (readTime(modified) ?? fromMs) >= fromMs);
}

/** Reads what the file remembers into the knowledge; resolves with how far the list was read. */
async function restore(path: string, baseUrl: string, known: KnownAlerts): Promise<number | undefined> {
  const text = await readOwn(path);
  if (text === undefined || text === '') return undefined;
  const lines = text.split('\n');
  const head = readLine(lines[0] ?? '');
  if (!isObject(head) || head['fleet'] !== 'alerts' || head['format'] !== FORMAT) {
    throw configError(`${path} is not a state file of fleet, and was left as it is`, 'choose another path');
  }
  if (head['base_url'] !== baseUrl) {
    throw configError(
      `${path} remembers the alerts of ${String(head['base_url'])}, not of ${baseUrl}`,
      'choose another path for this service',
    );
  }
  let cursorMs: number | undefined;
  // What stands behind the last newline breaks off.
  for (const line of lines.slice(1, -1)) {
    const record = readLine(line);
    if (isObject(record)) cursorMs = readTime(record['cursor']) ?? cursorMs;
    if (!Array.isArray(record)) continue;
    const [id, modified, state, source] = record as unknown[];
    if (typeof id !== 'string' || typeof modified !== 'string' || typeof state !== 'string') continue;
    known.restore({ id, modified, state, source: SOURCES.find((name) => name === source) ?? 'list' });
  }
  return cursorMs;
}

function readLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}

/** The text of a file that nobody else may write; undefined when it is not there. */
async function readOwn(path: string): Promise<string | undefined> {
  try {
    // Without waiting: a named pipe in its place would never open.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const found = await file.stat();
      refuseForeign(path, found);
      if (!found.isFile()) throw new Error('it is not a regular file');
      if (found.size > LIMIT_BYTES) throw new Error(`it is larger than ${LIMIT_BYTES / 2 ** 20} MB`);
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (thrown instanceof FleetError) throw thrown;
    throw configError(`${path} cannot be read: ${reasonOf(thrown)}`, 'check the path and its permissions', thrown);
  }
}

/** The file changes at once, from one whole state to the next; a symbolic link keeps pointing to it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', OWNER_ONLY_MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (thrown) {
    await unlink(temporary).catch(() => {});
    throw thrown;
  }
}
