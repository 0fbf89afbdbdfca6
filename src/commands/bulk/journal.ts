// The journal of a bulk run: what is about to be sent and what was answered, on the disk before anything else happens.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../../clock.js';
import type { ChangeResult } from '../../views/action.js';
import { type JournalFile, lost, openJournalFile, peekFile } from './file.js';
import { BEAT_MS, followHolder, type Holder, type LockOptions, takeLock } from './lock.js';
import {
  type Before,
  type Binding,
  checkBinding,
  type Entry,
  emptyJournal,
  JOURNAL_VERSION,
  type Journal,
  parseLine,
  readJournal,
  readOn,
  type Start,
} from './records.js';

export interface OpenJournal {
  /** What earlier runs left, by key. */
  readonly before: ReadonlyMap<string, Entry>;
  /** Aborted with a FleetError of kind `output` when the journal is lost: deleted, replaced, taken over, not writable. */
  readonly lost: AbortSignal;
  /** Starts this run: what the service said of itself a moment ago. */
  begin(start: Start): Promise<void>;
  /** Resolves when the record is on the disk; only then may the request leave. */
  announce(key: string, before: Before | null): Promise<void>;
  /** Resolves when the record is on the disk. */
  record(key: string, result: ChangeResult, uuid: string | null): Promise<void>;
  /** Lets go of the file and its lock. */
  close(): Promise<void>;
}

/** What the journal knows, without writing or locking it: for `--dry-run`. */
export async function peekJournal(path: string, binding: Binding): Promise<Journal> {
  const journal = readJournal((await peekFile(path)) ?? Buffer.alloc(0), path);
  if (journal.binding !== undefined) checkBinding(journal.binding, binding, path);
  return journal;
}

/**
 * Opens the journal of a run: a new one, or one that the same command left. Throws a FleetError of kind `usage` when it belongs to
 * another command, is no journal, is in use, or cannot be opened.
 */
export async function openJournal(name: string, binding: Binding, options: LockOptions): Promise<OpenJournal> {
  const id = randomBytes(6).toString('hex');
  const journal = emptyJournal();
  const guard = openGuard(id);
  const file = await openJournalFile(name, (size, written) => guard.check(file, size, written));
  try {
    await refresh(file, journal);
    if (journal.binding !== undefined) checkBinding(journal.binding, binding, file.path);
    const isNew = journal.binding === undefined;
    const lockedFile = {
      path: file.path,
      refresh: () => refresh(file, journal),
      async claim(claim: object) {
        const header = isNew ? line({ fleet_journal: JOURNAL_VERSION, ...binding }) : '';
        // The line feed ends what a crash may have cut.
        await file.append(`\n${header}${line(claim)}`);
        return refresh(file, journal);
      },
    };
    await takeLock(lockedFile, { claim: id, pid: process.pid, host: hostname() }, options);
    if (journal.binding !== undefined) checkBinding(journal.binding, binding, file.path);
    if (isNew) await file.keepName();
    guard.begin(journal);
    return openRecords(file, id, journal, options.clock);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function line(record: object): string {
  return `${JSON.stringify(record)}\n`;
}

async function refresh(file: JournalFile, journal: Journal): Promise<Holder | undefined> {
  readOn(journal, await file.read(journal.bytes), file.path);
  return journal.holder;
}

/** Watches, after each flush, whether others wrote to the file, and throws when one of them has taken the journal over. */
function openGuard(id: string) {
  let holder: Holder | undefined;
  let seenBytes: number | undefined;
  return {
    begin(journal: Journal): void {
      holder = journal.holder;
      seenBytes = journal.bytes;
    },
    async check(file: JournalFile, size: number, written: number): Promise<void> {
      if (seenBytes === undefined) return;
      if (size === seenBytes + written) {
        seenBytes = size;
        return;
      }
      if (size < seenBytes + written) throw lost(file.path, 'was cut short while the run used it');
      const added = await file.read(seenBytes);
      const whole = added.subarray(0, added.lastIndexOf('\n') + 1);
      seenBytes += whole.length;
      for (const text of whole.toString('utf8').split('\n')) {
        const record = parseLine(text);
        if (record !== undefined) holder = followHolder(holder, record);
      }
      if (holder?.id !== id) throw lost(file.path, 'was taken over by another run');
    },
  };
}

function openRecords(file: JournalFile, id: string, journal: Journal, clock: Clock): OpenJournal {
  const gone = new AbortController();
  let begunAt = clock.monotonicMs();
  let isClosed = false;
  let cancelBeat = () => {};

  const append = async (record: object): Promise<void> => {
    try {
      await file.append(line(record));
    } catch (error) {
      gone.abort(error);
      throw error;
    }
  };
  const beat = () => {
    cancelBeat = clock.after(BEAT_MS, () => {
      append({ beat: id }).then(
        () => isClosed || beat(),
        () => {},
      );
    });
  };
  beat();
  return {
    before: journal.entries,
    lost: gone.signal,
    begin(start) {
      begunAt = clock.monotonicMs();
      return append({ run: id, start, at: clock.wallMs() });
    },
    announce: (key, before) =>
      append({
        sending: key,
        run: id,
        after_ms: Math.round(clock.monotonicMs() - begunAt),
        ...(before === null ? {} : { before }),
      }),
    record: (key, result, uuid) =>
      append({ answered: key, run: id, ...(uuid === null ? {} : { uuid }), result, at: clock.wallMs() }),
    async close() {
      isClosed = true;
      cancelBeat();
      // One that is lost is not this run's to let go of.
      if (!gone.signal.aborted) await append({ released: id }).catch(() => {});
      await file.close();
    },
  };
}
