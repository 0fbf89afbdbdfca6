// What following alerts remembers across restarts: the versions that were printed or were there before, how far the list was read, and the
// webhooks that wait to be passed on. All of it stands in one log.

import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { isObject } from '../../json/parse.js';
import { statIfThere } from '../../settings/trust.js';
import { readTime } from '../../terminal/time.js';
import { openKnownAlerts, SOURCES, type Version } from './known.js';
import { openLog, readLog } from './log.js';

/** Between which times everything was seen. */
export interface Marks {
  /** When the first watch of this memory began, or what it was told by `--since`, by this machine. */
  readonly beganMs?: number | undefined;
  /** Up to when the list was read, by the service. */
  readonly cursorMs?: number | undefined;
}

/** A body as it came, and the headers that are passed on with it. */
export interface Forwarded {
  readonly body: Buffer;
  readonly headers: { readonly [name: string]: string };
}

export type Memory = Awaited<ReturnType<typeof openMemory>>;

/** Format 1 knew no `there`: its `list` was either. */
const FORMAT = 2;
/** What a state file begins with; the second where a crash came before its first line. */
const FIRST_WORDS = ['{"fleet":"alerts"', '{"claim":"'];
const MOST_BODIES = 100_000;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Opens the memory at a path; a file that is not there is made, one that is damaged is kept beside. Throws a FleetError of kind `config`
 * for a file that is something else, belongs to others, or remembers another service, which is left as it is, and where another process
 * has it.
 */
export async function openMemory(
  { clock, signal, notice: say }: Pick<Context, 'clock' | 'signal' | 'notice'>,
  path: string,
  baseUrl: string,
) {
  const writtenMs = statIfThere(path)?.mtimeMs ?? clock.wallMs();
  const known = openKnownAlerts();
  const queue = openQueue((records) => log.append(records));
  let marks: Marks = {};

  const restore = (record: unknown) => {
    if (Array.isArray(record)) {
      const [id = '', modified = '', state = '', source] = record.map(String);
      known.learn({
        id,
        modified,
        state,
        source: SOURCES.find((name) => name === source) ?? 'there',
      });
    } else if (isObject(record)) {
      const { began, cursor } = record;
      if (began !== undefined) marks = { beganMs: readTime(began), cursorMs: readTime(cursor) };
      queue.restore(record);
    }
  };
  refuseOther(path, baseUrl);
  const log = await openLog({
    ...{ path, clock, signal, say },
    restore(records, broken) {
      for (const record of records) restore(record);
      if (broken === 0 && isWhole(records)) return true;
      // Where no cursor is left, it is when the file was written last that says from where alerts may be missing.
      marks = { ...marks, cursorMs: Math.max(marks.cursorMs ?? writtenMs, marks.beganMs ?? 0) };
      return false;
    },
    all: () => [
      { fleet: 'alerts', format: FORMAT, base_url: baseUrl },
      ...known.versions().map(recordOf),
      recordOfMarks(marks),
      ...queue.records(),
    ],
  });
  return {
    ...log,
    known,
    get marks() {
      return marks;
    },
    /** Remembers versions that were printed or were there before. Throws as the log does. */
    keep: (versions: readonly Version[]) => log.append(versions.map(recordOf)),
    /** Remembers how far the list was read. Throws as above. */
    move(more: Marks): void {
      marks = more;
      log.append([recordOfMarks(more)]);
    },
    queue,
  };
}

/** The bodies that wait to be passed on, the oldest first; `append` writes to the log. */
function openQueue(append: (records: readonly unknown[]) => void) {
  const waiting = new Map<number, Forwarded>();
  let bytes = 0;
  let ids = 0;
  const keep = (id: number, forwarded: Forwarded) => {
    ids = id;
    bytes += forwarded.body.length;
    waiting.set(id, forwarded);
  };
  const forget = (id: number) => {
    bytes -= waiting.get(id)?.body.length ?? 0;
    waiting.delete(id);
  };
  return {
    size: () => waiting.size,
    hasRoom: () => waiting.size < MOST_BODIES && bytes < MOST_BYTES,
    /** Throws a FleetError of kind `output` when it cannot be written. */
    add(forwarded: Forwarded): void {
      append([recordOfBody(ids + 1, forwarded)]);
      keep(ids + 1, forwarded);
    },
    first: (): Forwarded | undefined => waiting.values().next().value,
    /** Forgets the first one. Throws as above. */
    done(): void {
      const [id = 0] = waiting.keys();
      forget(id);
      append([{ done: id }]);
    },
    records: () => [...waiting].map(([id, forwarded]) => recordOfBody(id, forwarded)),
    /** Takes in a record of the log; others than its own are passed over. */
    restore({ id, body, headers, done }: { readonly [field: string]: unknown }): void {
      if (typeof done === 'number') forget(done);
      if (typeof id === 'number' && typeof body === 'string' && isObject(headers))
        keep(id, { body: Buffer.from(body, 'base64'), headers: headers as Forwarded['headers'] });
    },
  };
}

/** Refuses what is none of ours before anything is written to it. */
function refuseOther(path: string, baseUrl: string): void {
  const { text, records } = readLog(path);
  const [head] = records;
  const start = text.trimStart();
  if (!FIRST_WORDS.some((words) => words.startsWith(start.slice(0, words.length))))
    throw configError(
      `${path} is not a state file of fleet, and was left as it is`,
      'choose another path',
    );
  const found = isObject(head) ? (head['base_url'] ?? baseUrl) : baseUrl;
  if (found === baseUrl) return;
  const hint = 'choose another path for this service';
  throw configError(`${path} remembers the alerts of ${String(found)}, not of ${baseUrl}`, hint);
}

/** Whether the first line is there, in a format that is known; a file that is new holds claims alone. */
function isWhole(records: readonly unknown[]): boolean {
  const isHead = (record: unknown) =>
    isObject(record) &&
    record['fleet'] === 'alerts' &&
    [1, FORMAT].includes(Number(record['format']));
  return (
    records.some(isHead) ||
    records.every((record) => isObject(record) && typeof record['claim'] === 'string')
  );
}

function recordOf({ id, modified, state, source }: Version): readonly string[] {
  return [id, modified, state, source];
}

function recordOfBody(id: number, { headers, body }: Forwarded) {
  return { id, headers, body: body.toString('base64') };
}

function recordOfMarks({ beganMs, cursorMs }: Marks) {
  const iso = (at: number | undefined) =>
    at === undefined ? undefined : new Date(at).toISOString();
  return { began: iso(beganMs), cursor: iso(cursorMs) };
}
