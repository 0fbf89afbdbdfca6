// What following alerts remembers across restarts: how far the list was read, and the versions that were shown or are known.

import { configError } from '../../errors.js';
import { isObject } from '../../json/parse.js';
import { readTime } from '../../terminal/time.js';
import { type KnownAlerts, openKnownAlerts, type Source, type Version } from './known.js';
import { openLineFile, readRecords } from './line-file.js';
import { OVERLAP_MS } from './state.js';

export interface Memory {
  readonly known: KnownAlerts;
  /** The service's time up to which the list was read; undefined when it never was. */
  readonly cursorMs: number | undefined;
  /** Remembers versions that were shown or are known. Throws a FleetError of kind `output` when that cannot be written. */
  keep(versions: readonly Version[]): void;
  /** Remembers how far the list was read. Throws as above. */
  move(cursorMs: number): void;
  /** Replaces the file where it has grown: call it where nothing is pending. Throws as above. */
  tidy(): void;
  close(): void;
}

const FORMAT = 1;
/** What is read of such a file at most; far above what is kept. */
const LIMIT_BYTES = 64 * 1024 * 1024;
/** So many versions are kept at least, for what a webhook may say again. */
const KEPT_VERSIONS = 5_000;
/** After so many more characters, some ten thousand lines, the file is written anew. */
const APPENDED_CHARACTERS = 1024 * 1024;

const SOURCES: readonly Source[] = ['list', 'webhook', 'push'];

/**
 * Opens the memory at a path; a file that is not there is made. Throws a FleetError of kind `config` for a file that is something else,
 * belongs to others, or remembers another service, which is left as it is.
 */
export function openMemory(path: string, baseUrl: string): Memory {
  const known = openKnownAlerts();
  let cursorMs = restore(path, baseUrl, known);
  const records = () => [
    { fleet: 'alerts', format: FORMAT, base_url: baseUrl },
    ...worthKeeping(known.versions(), cursorMs).map(recordOf),
    ...(cursorMs === undefined ? [] : [cursorOf(cursorMs)]),
  ];
  const file = openLineFile(path, records(), 'what was shown last may be shown again after a restart');
  return {
    known,
    get cursorMs() {
      return cursorMs;
    },
    keep: (versions) => file.append(versions.map(recordOf)),
    move(toMs) {
      cursorMs = toMs;
      file.append([cursorOf(toMs)]);
    },
    tidy() {
      if (file.appended() > APPENDED_CHARACTERS) file.replace(records());
    },
    close: file.close,
  };
}

function recordOf({ id, modified, state, source }: Version): readonly string[] {
  return [id, modified, state, source];
}

function cursorOf(cursorMs: number): { cursor: string } {
  return { cursor: new Date(cursorMs).toISOString() };
}

/** All that the next reading will meet, and the newest of the rest. */
function worthKeeping(versions: readonly Version[], cursorMs: number | undefined): Version[] {
  const fromMs = cursorMs === undefined ? Number.POSITIVE_INFINITY : cursorMs - 2 * OVERLAP_MS;
  const first = versions.length - KEPT_VERSIONS;
  return versions.filter(({ modified }, index) => index >= first || (readTime(modified) ?? fromMs) >= fromMs);
}

/** Reads what the file remembers into the knowledge; returns how far the list was read. */
function restore(path: string, baseUrl: string, known: KnownAlerts): number | undefined {
  const records = readRecords(path, LIMIT_BYTES);
  if (records.length === 0) return undefined;
  const [head] = records;
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
  for (const record of records) {
    if (isObject(record)) cursorMs = readTime(record['cursor']) ?? cursorMs;
    if (!Array.isArray(record)) continue;
    const [id, modified, state, source] = record as unknown[];
    if (typeof id !== 'string' || typeof modified !== 'string' || typeof state !== 'string') continue;
    known.restore({ id, modified, state, source: SOURCES.find((name) => name === source) ?? 'list' });
  }
  return cursorMs;
}
