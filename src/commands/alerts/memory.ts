// What following alerts remembers across restarts: how far the list was read, and the versions that were printed or were there before.

import { sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { isObject } from '../../json/parse.js';
import { statIfThere } from '../../settings/trust.js';
import { readTime } from '../../terminal/time.js';
import { BEAT_MS } from '../bulk/lock.js';
import { type KnownAlerts, openKnownAlerts, SOURCES, type Version } from './known.js';
import { keepDamaged, lockLog, openLog, readLog } from './log.js';
import { CLOCK_MARGIN_MS, OVERLAP_MS } from './reading.js';

/** The service's times between which the list was read, where it was. */
export interface Marks {
  /** When the first watch of this memory began, by this machine. */
  readonly beganMs?: number | undefined;
  /** Up to here everything was seen. */
  readonly cursorMs?: number | undefined;
  /** What is not known and changed before this moment was there before. */
  readonly floorMs?: number | undefined;
}

export type Memory = Awaited<ReturnType<typeof openMemory>>;

/** Format 1 knew no `there`: its `list` was either. */
const FORMAT = 2;
/** What a state file begins with; the second where a crash came before its first line. */
const FIRST_WORDS = ['{"fleet":"alerts"', '{"claim":"'];
/** What is read of such a file at most; far above what is kept. */
const LIMIT_BYTES = 64 * 1024 * 1024;
/** So many versions are kept at least, for what a webhook may say again. */
const KEPT_VERSIONS = 5_000;

/**
 * Opens the memory at a path; a file that is not there is made, one that is damaged is kept beside. Throws a FleetError of kind `config`
 * for a file that is something else, belongs to others, or remembers another service, which is left as it is, and where another process
 * has it.
 */
export async function openMemory({ clock, signal, notice: say }: Context, path: string, baseUrl: string) {
  const text = checkOwner(path, baseUrl);
  const writtenMs = statIfThere(path)?.mtimeMs;
  const claim = await lockLog(path, LIMIT_BYTES, { clock, signal, say });
  const known = openKnownAlerts();
  const restored = restore(path, known);
  let marks = restored.marks;
  let keptAs: string | undefined;
  if (restored.isDamaged) {
    keptAs = keepDamaged(path, text);
    // Where no cursor is left, it is when the file was written last that says from where alerts may be missing.
    const cursorMs = marks.cursorMs ?? (writtenMs ?? clock.wallMs()) - CLOCK_MARGIN_MS;
    marks = { ...marks, cursorMs, floorMs: cursorMs - OVERLAP_MS };
  }
  const openedMs = clock.wallMs();
  const all = () => [
    { fleet: 'alerts', format: FORMAT, base_url: baseUrl },
    ...worthKeeping(known.versions(), marks.cursorMs).map(recordOf),
    recordOfMarks({ ...marks, beganMs: marks.beganMs ?? openedMs }),
  ];
  const log = openLog({ path, all, claim, hint: 'what was printed last may be printed again after a restart' });
  return {
    known,
    get marks() {
      return marks;
    },
    /** Where the file is kept that was damaged. */
    keptAs,
    /** Remembers versions that were printed or were there before. Throws a FleetError of kind `output` when that cannot be written. */
    keep: (versions: readonly Version[]) => log.append(versions.map(recordOf)),
    /** Remembers how far the list was read. Throws as above. */
    move(more: Marks): void {
      marks = { ...marks, ...more };
      log.append([recordOfMarks(more)]);
    },
    /** Replaces the file where it has grown: call it where nothing is pending. Throws as above. */
    tidy: () => log.tidy(),
    /** Says that this process lives, until the signal is aborted; rejects when another one has taken over. */
    async beat(over: AbortSignal): Promise<void> {
      const isOver = () => over.aborted;
      while (!(await sleep(clock, BEAT_MS, over).then(isOver, isOver))) log.append([{ beat: claim.claim }]);
    },
    close(): void {
      try {
        log.append([{ released: claim.claim }]);
      } catch {
        // One that is lost is not this process's to let go of.
      }
      log.close();
    },
  };
}

/** Refuses what is none of ours before anything is written to it; returns its text. */
function checkOwner(path: string, baseUrl: string): string {
  const { text, records } = readLog(path, LIMIT_BYTES);
  const [head] = records;
  const start = text.trimStart();
  if (!FIRST_WORDS.some((words) => words.startsWith(start.slice(0, words.length))))
    throw configError(`${path} is not a state file of fleet, and was left as it is`, 'choose another path');
  const found = isObject(head) ? (head['base_url'] ?? baseUrl) : baseUrl;
  if (found === baseUrl) return text;
  const hint = 'choose another path for this service';
  throw configError(`${path} remembers the alerts of ${String(found)}, not of ${baseUrl}`, hint);
}

function recordOf({ id, modified, state, source }: Version): readonly string[] {
  return [id, modified, state, source];
}

function recordOfMarks({ beganMs, cursorMs, floorMs }: Marks) {
  const iso = (at: number | undefined) =>
    at === undefined || !Number.isFinite(at) ? undefined : new Date(at).toISOString();
  return { began: iso(beganMs), cursor: iso(cursorMs), floor: iso(floorMs) };
}

/** Alerts that the next reading will meet, and the newest of the rest: each with all of its versions, for any may be the one in the list. */
function worthKeeping(versions: readonly Version[], cursorMs: number | undefined): Version[] {
  const fromMs = cursorMs === undefined ? Number.NEGATIVE_INFINITY : cursorMs - 2 * CLOCK_MARGIN_MS;
  const first = versions.length - KEPT_VERSIONS;
  const kept = versions.filter(({ modified }, index) => index >= first || (readTime(modified) ?? fromMs) >= fromMs);
  const ids = new Set(kept.map(({ id }) => id));
  return versions.filter(({ id }) => ids.has(id));
}

/** Reads what the file remembers into the knowledge. */
function restore(path: string, known: KnownAlerts): { marks: Marks; isDamaged: boolean } {
  const { records, broken } = readLog(path, LIMIT_BYTES);
  let marks: Marks = {};
  let hasHead = false;
  for (const record of records) {
    if (Array.isArray(record)) {
      const [id, modified, state, source] = record.map(String);
      if (id !== undefined && modified !== undefined && state !== undefined)
        known.restore({ id, modified, state, source: SOURCES.find((name) => name === source) ?? 'there' });
    } else if (isObject(record)) {
      const { fleet, format, began, cursor, floor } = record;
      hasHead ||= fleet === 'alerts' && (format === FORMAT || format === 1);
      marks = {
        beganMs: readTime(began) ?? marks.beganMs,
        cursorMs: readTime(cursor) ?? marks.cursorMs,
        floorMs: readTime(floor) ?? marks.floorMs,
      };
    }
  }
  // A new one holds claims alone.
  const isNew = records.every((record) => isObject(record) && typeof record['claim'] === 'string');
  return { marks, isDamaged: broken > 0 || !(hasHead || isNew) };
}
