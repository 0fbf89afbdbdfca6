// The journal of a bulk run: what was about to be sent and what was answered, on the disk before anything goes on.

import { randomUUID } from 'node:crypto';
import { type FileHandle, link, open, readFile, realpath, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { FleetError, usageError } from '../../../errors.js';
import type { Facts } from '../../../views/action.js';

/** What a journal belongs to: a run with another one of these is another run. */
export interface Binding {
  command: string;
  profile: string;
  base_url: string;
  [fact: string]: string;
}

/** What the journal knows of one task. */
export interface Entry {
  /** Undefined: it was about to be sent, and no answer is recorded. */
  facts: Facts | undefined;
  /** The bicycle that the service made, for creations. */
  uuid: string | null;
  /** In which run it was sent last. */
  run: Run;
  /** The answer did not come in time: the service was slower than it should be, and may be still at it. */
  isLate: boolean;
}

/** One start of the command with this journal. */
export interface Run {
  /**
   * The service's newest `modified` (`created` for creations) when the run began, by its own clock; null when it did not tell.
   * What is no newer has not been changed by this run.
   */
  newest: string | null;
  /** How long the run waited for an answer, in milliseconds. */
  timeoutMs: number;
}

/** What stands in a journal. */
export interface Read {
  /** Undefined: there is none yet, not even its first line. */
  binding: Binding | undefined;
  entries: Map<string, Entry>;
  /** Where its last whole line ends; what follows was cut off and counts for nothing. */
  bytes: number;
  /** When its last record was written, milliseconds since the epoch; 0 when there is none. */
  lastAt: number;
  /** The longest that an answer took, in milliseconds; undefined when none is recorded. */
  slowestMs: number | undefined;
}

export interface Journal {
  /** What earlier runs left, by key. */
  readonly before: Omit<Read, 'binding' | 'bytes'>;
  /** Starts this run. */
  begin(run: Run): Promise<void>;
  /** Resolves when the record is on the disk; only then may the request leave. */
  announce(key: string): Promise<void>;
  /** Resolves when the record is on the disk. */
  record(key: string, facts: Facts, uuid: string | null, isLate?: boolean): Promise<void>;
  /** Lets go of the file and its lock. */
  close(): Promise<void>;
}

const FIRST_WORDS = '{"fleet_journal":1';

const LINE_FEED = 0x0a;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseLine(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a journal. Any beginning of one is usable, since a crash may cut it anywhere: a last line that is not whole counts for
 * nothing, because its request has not left before the whole line was on the disk. Throws a FleetError of kind `usage` for a
 * file that is no journal, and for damage before its last line.
 */
export function readJournal(bytes: Buffer, path: string): Read {
  const read: Read = { binding: undefined, entries: new Map(), bytes: 0, lastAt: 0, slowestMs: undefined };
  let run: Run = { newest: null, timeoutMs: 0 };
  let number = 0;
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, read.bytes)) {
    number += 1;
    const line = parseLine(bytes.toString('utf8', read.bytes, end));
    if (number === 1) {
      if (line?.['fleet_journal'] !== 1) throw notAJournal(path);
      const { fleet_journal: _, ...binding } = line;
      read.binding = binding as Binding;
    } else if (line === undefined) {
      // A disk that lost power may end a file in rubbish; inside it, something else has been at work.
      if (bytes.indexOf(LINE_FEED, end + 1) === -1) return read;
      throw usageError(
        `line ${number} of the journal ${path} is damaged`,
        'what was done cannot be told from it; look at the bicycles, and use a new journal for those that are left',
      );
    } else {
      run = takeIn(line, read, run);
    }
    read.bytes = end + 1;
  }
  // Not even the first line is whole: no request can have left. But a file of something else is left alone.
  if (number === 0 && bytes.length > 0) {
    const start = bytes.toString('utf8', 0, FIRST_WORDS.length);
    if (!FIRST_WORDS.startsWith(start.slice(0, bytes.length))) throw notAJournal(path);
  }
  return read;
}

function notAJournal(path: string): FleetError {
  return usageError(`${path} is no journal of fleet, and is left as it is`, 'give --journal the name of a new file');
}

/** Takes one record in; gives the run that the next ones belong to. */
function takeIn(line: Record<string, unknown>, read: Read, run: Run): Run {
  if (typeof line['at'] === 'number') read.lastAt = line['at'];
  if ('run' in line) {
    const { newest, timeout } = line;
    return { newest: typeof newest === 'string' ? newest : null, timeoutMs: typeof timeout === 'number' ? timeout : 0 };
  }
  const { sending, answered } = line;
  if (typeof sending === 'string') read.entries.set(sending, { facts: undefined, uuid: null, run, isLate: false });
  if (typeof answered === 'string' && isObject(line['facts'])) {
    const facts = line['facts'] as unknown as Facts;
    const uuid = typeof line['uuid'] === 'string' ? line['uuid'] : null;
    const isLate = line['late'] === true;
    read.entries.set(answered, { facts, uuid, run: read.entries.get(answered)?.run ?? run, isLate });
    if (typeof facts.milliseconds === 'number') read.slowestMs = Math.max(read.slowestMs ?? 0, facts.milliseconds);
  }
  return run;
}

/** What an earlier run says of a task: done, refused, to be sent (again), or in doubt. */
export function judgeEntry(entry: Entry | undefined): 'open' | 'done' | 'refused' | 'doubt' {
  if (entry === undefined) return 'open';
  if (entry.facts === undefined) return 'doubt';
  const { outcome, status } = entry.facts;
  // The service provably did not take these (cli.md section 4, promise 1).
  if (outcome === 'not-sent' || status === 401 || status === 403 || status === 429) return 'open';
  if (outcome === 'done' || outcome === 'skipped') return 'done';
  return outcome === 'refused' ? 'refused' : 'doubt';
}

/** Refuses a journal that belongs to something else, and says what differs. */
export function checkBinding(found: Binding, wanted: Binding, path: string): void {
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])];
  const other = names.filter((name) => found[name] !== wanted[name]);
  if (other.length === 0) return;
  const words = other.map((name) => `${name} ${found[name] ?? 'none'}, not ${wanted[name] ?? 'none'}`);
  throw usageError(
    `the journal ${path} belongs to another run: ${words.join('; ')}`,
    'give every run a journal of its own, or repeat the command that this one belongs to',
  );
}

/** What the journal knows, without writing or locking it: for `--dry-run`. */
export async function peekJournal(path: string, binding: Binding): Promise<Read> {
  const read = readJournal(await readBytes(await findFile(path)), path);
  if (read.binding !== undefined) checkBinding(read.binding, binding, path);
  return read;
}

/**
 * Opens the journal of a run: a new one, or one that the same command left. Throws a FleetError of kind `usage` when it belongs to
 * another command, is no journal, is in use, or cannot be opened.
 */
export async function openJournal(name: string, binding: Binding, now: () => number): Promise<Journal> {
  const path = await findFile(name);
  const unlock = await lock(`${path}.lock`, path);
  try {
    const read = readJournal(await readBytes(path), path);
    if (read.binding !== undefined) checkBinding(read.binding, binding, path);
    const file = await open(path, 'a').catch((error: unknown) => {
      throw cannot('written', path, error);
    });
    await file.truncate(read.bytes);
    const append = openAppender(file, path);
    if (read.binding === undefined) {
      await append({ fleet_journal: 1, ...binding });
      await keepName(path);
    }
    return {
      before: read,
      begin: ({ newest, timeoutMs }) => append({ run: 1, newest, timeout: timeoutMs, at: now() }),
      announce: (key) => append({ sending: key, at: now() }),
      record: (key, facts, uuid, isLate = false) =>
        append({
          answered: key,
          ...(uuid === null ? {} : { uuid }),
          ...(isLate ? { late: true } : {}),
          facts,
          at: now(),
        }),
      close: async () => {
        await file.close();
        await unlock();
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/**
 * The file that a name leads to, so that a link and its target are one journal with one lock. Throws a FleetError of kind `usage`
 * for anything but a file: a pipe or a device never ends, and remembers nothing.
 */
async function findFile(name: string): Promise<string> {
  try {
    const path = await realpath(name);
    if ((await stat(path)).isFile()) return path;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return name;
    throw cannot('read', name, error);
  }
  throw usageError(`the journal ${name} is no ordinary file`, 'nothing was sent; give --journal the name of a file');
}

async function readBytes(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw cannot('read', path, error);
  }
}

function cannot(what: string, path: string, error: unknown): FleetError {
  return new FleetError('usage', `the journal ${path} cannot be ${what}: ${(error as Error).message}`, {
    cause: error,
    hint: 'nothing was sent; give --journal a file that can be written',
  });
}

/**
 * Appends records, flushed to the disk before their promise resolves. Those that come while one flush is under way share the next
 * one, so that many workers cost little more than one.
 */
function openAppender(file: FileHandle, path: string): (record: object) => Promise<void> {
  let waiting: { line: string; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let isWriting = false;
  let failure: FleetError | undefined;

  async function write(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        if (failure !== undefined) throw failure;
        await file.appendFile(batch.map(({ line }) => line).join(''));
        await file.datasync();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        // After one failure the file may end in half a line: nothing may be appended to that.
        failure ??= new FleetError('output', `the journal ${path} could not be written: ${(error as Error).message}`, {
          cause: error,
          hint: 'no request leaves without its record, so the run was stopped; free some space and run the command again',
        });
        for (const { reject } of batch) reject(failure);
      }
    }
    isWriting = false;
  }

  return (record) =>
    new Promise((resolve, reject) => {
      waiting.push({ line: `${JSON.stringify(record)}\n`, resolve, reject });
      if (!isWriting) void write();
    });
}

/** Flushes the folder, so that the new file's name outlives a loss of power; some systems do not let folders be opened. */
async function keepName(path: string): Promise<void> {
  try {
    const folder = await open(dirname(path), 'r');
    await folder.sync().finally(() => folder.close());
  } catch {
    // The records are flushed all the same.
  }
}

/** Who holds a lock. The boot tells a process from another one that got its number after a restart. */
interface Holder {
  pid: number;
  host: string;
  boot: string;
}

async function describeMyself(): Promise<Holder> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  return { pid: process.pid, host: hostname(), boot: boot.trim() };
}

/**
 * Takes the lock of a journal, a file beside it that only one can make; gives what lets go of it. One that a process left behind
 * which lives no more is removed. Throws a FleetError of kind `usage` when another run holds it.
 */
async function lock(path: string, journal: string): Promise<() => Promise<void>> {
  const myself = await describeMyself();
  const text = JSON.stringify({ ...myself, nonce: randomUUID() });
  for (let tries = 0; tries < 5; tries++) {
    // Linked under its name when it is whole: a run that is killed here leaves no lock that nobody can read.
    const whole = `${path}.${randomUUID()}`;
    try {
      await writeFile(whole, text, { flag: 'wx' });
      await link(whole, path);
      return () => unlink(path).catch(() => {});
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw cannot('locked', journal, error);
    } finally {
      await unlink(whole).catch(() => {});
    }
    const found = await readFile(path, 'utf8').catch(() => undefined);
    if (found === undefined) continue;
    const holder = parseLine(found);
    if (!(await isGone(holder, myself))) {
      throw usageError(
        `the journal ${journal} is in use by another run${holder === undefined ? '' : ` (process ${String(holder['pid'])} on ${String(holder['host'])})`}`,
        `wait for it to end; if no fleet runs any more, delete ${path}`,
      );
    }
    await removeStale(path, found);
  }
  throw usageError(`the journal ${journal} is in use by another run`, 'wait for it to end');
}

async function isGone(holder: Record<string, unknown> | undefined, myself: Holder): Promise<boolean> {
  // Not written by fleet, or on another machine that shares the folder: the operator can tell.
  if (holder === undefined || holder['host'] !== myself.host) return false;
  if (holder['boot'] !== myself.boot) return true;
  const { pid } = holder;
  if (typeof pid !== 'number') return false;
  try {
    process.kill(pid, 0);
    // A process that was killed keeps its number until its parent has noticed: state Z behind its name in brackets.
    return /\) Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Moves the stale lock away, which only one can do; one that another run has put there meanwhile is put back. */
async function removeStale(path: string, stale: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const moved = await readFile(aside, 'utf8').catch(() => stale);
  if (moved !== stale) await link(aside, path).catch(() => {});
  await unlink(aside).catch(() => {});
}
