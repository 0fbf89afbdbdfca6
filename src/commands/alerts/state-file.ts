// The state of the commands that follow alerts. One log keeps this state across restarts.
//
// The state consists of the printed versions, the versions that existed before the watch, the
// position in the list, and two queues. One queue contains webhooks to forward, and the other
// contains alerts for --exec and --post.

import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { openMessageStore } from '../../follow/message-store.js';
import { openKnownAlerts, SOURCES, type Version } from '../../follower/known-alerts.js';
import { isObject } from '../../json/parse.js';
import { statIfThere } from '../../settings/trust.js';
import { readTime } from '../../terminal/time.js';
import { openLog, readLog } from './log.js';

/** The start of the watch, and the time up to which the list was read. */
export interface Marks {
  /**
   * When the first watch with this state file started, by this machine's clock. With `--since`, the
   * given time instead.
   */
  readonly beganMs?: number | undefined;
  /** The time up to which the list was read, by the service's clock. */
  readonly cursorMs?: number | undefined;
}

/** The received body of a webhook, with the headers that are forwarded. */
export interface Forwarded {
  readonly body: Buffer;
  readonly headers: { readonly [name: string]: string };
}

export type Memory = Awaited<ReturnType<typeof openMemory>>;

/**
 * The format of new files. Since format 2, an alert that existed before the watch has the source
 * `there`. In format 1, it had the source `list`.
 */
const FORMAT = 2;
/**
 * The possible prefixes of a state file. The file begins with a lock claim when a crash happened
 * before its header line was written.
 */
const FIRST_WORDS = ['{"fleet":"alerts"', '{"claim":"'];
const MOST_BODIES = 100_000;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Opens the state file at a path. Creates a missing file. Keeps a copy of a damaged file.
 *
 * Throws a FleetError of kind `config` for a file that is not a state file, that others can write
 * to, or that belongs to another service. Throws the same error when another process uses the file.
 * A file of another service is not changed.
 */
export async function openMemory(
  { clock, signal, notice: say }: Pick<Context, 'clock' | 'signal' | 'notice'>,
  path: string,
  baseUrl: string,
) {
  const writtenMs = statIfThere(path)?.mtimeMs ?? clock.wallMs();
  const known = openKnownAlerts();
  const append = (records: readonly unknown[]) => log.append(records);
  const queue = openQueue(append);
  const deliveries = {
    exec: openMessageStore('exec', append),
    post: openMessageStore('post', append),
  };
  const stores = Object.values(deliveries);
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
      for (const waiting of stores) waiting.restore(record);
    }
  };
  refuseOther(path, baseUrl);
  const log = await openLog({
    ...{ path, clock, signal, say },
    restore(records, broken) {
      for (const record of records) restore(record);
      if (broken === 0 && isWhole(records)) return true;
      // A damaged file may no longer contain the position in the list. fleet then continues from
      // the time of the file's last change, because it cannot have printed any alerts after that
      // time.
      marks = { ...marks, cursorMs: Math.max(marks.cursorMs ?? writtenMs, marks.beganMs ?? 0) };
      return false;
    },
    all: () => [
      { fleet: 'alerts', format: FORMAT, base_url: baseUrl },
      ...known.versions().map(recordOf),
      recordOfMarks(marks),
      ...queue.records(),
      ...stores.flatMap((waiting) => waiting.records()),
    ],
  });
  return {
    ...log,
    known,
    get marks() {
      return marks;
    },
    /**
     * Appends versions of alerts to the log, so that the next run does not print them again. These
     * versions were printed, or existed before the watch started. Throws when the log cannot be
     * written.
     */
    keep: (versions: readonly Version[]) => log.append(versions.map(recordOf)),
    /** Stores the position in the list. Throws when the log cannot be written. */
    move(more: Marks): void {
      marks = more;
      log.append([recordOfMarks(more)]);
    },
    queue,
    deliveries,
    /** When the file was last changed before this process opened it (RFC 3339). */
    writtenAt: new Date(writtenMs).toISOString(),
  };
}

/**
 * Opens the queue of bodies that are waiting to be forwarded, oldest first. `append` writes records
 * to the log.
 */
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
    /**
     * Adds a body to the queue. Throws a FleetError of kind `output` when the log cannot be
     * written.
     */
    add(forwarded: Forwarded): void {
      append([recordOfBody(ids + 1, forwarded)]);
      keep(ids + 1, forwarded);
    },
    first: (): Forwarded | undefined => waiting.values().next().value,
    /**
     * Removes the first body. Throws a FleetError of kind `output` when the log cannot be written.
     */
    done(): void {
      const [id = 0] = waiting.keys();
      forget(id);
      append([{ done: id }]);
    },
    records: () => [...waiting].map(([id, forwarded]) => recordOfBody(id, forwarded)),
    /** Restores the queue from one record of the log. Ignores records of other types. */
    restore({ id, body, headers, done }: { readonly [field: string]: unknown }): void {
      if (typeof done === 'number') forget(done);
      if (typeof id === 'number' && typeof body === 'string' && isObject(headers))
        keep(id, { body: Buffer.from(body, 'base64'), headers: headers as Forwarded['headers'] });
    },
  };
}

/**
 * Throws when the file is not a state file for this service. This check runs before anything is
 * written to the file.
 */
function refuseOther(path: string, baseUrl: string): void {
  const { text, records } = readLog(path);
  const [head] = records;
  const start = text.trimStart();
  // After a power failure, a file can begin with NUL characters. Fleet treats such a file as
  // damaged.
  const isCut = start.startsWith('\0');
  if (!isCut && !FIRST_WORDS.some((words) => words.startsWith(start.slice(0, words.length))))
    throw configError(
      `${path} is not a state file of fleet, and was left as it is`,
      'choose another path',
    );
  const found = isObject(head) ? (head['base_url'] ?? baseUrl) : baseUrl;
  if (found === baseUrl) return;
  const hint = 'choose another path for this service';
  throw configError(`${path} contains the alerts of ${String(found)}, not of ${baseUrl}`, hint);
}

/**
 * Returns whether the log has a header line in a known format. Also returns true for a log that
 * contains only claims, because it is new.
 */
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
