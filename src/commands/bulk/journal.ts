// The journal of a bulk run: what is about to be sent and what was answered, on the disk before anything else happens.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.js';
import type { ChangeResult } from '../../views/action.js';
import { type JournalFile, lost, openJournalFile, peekFile } from './file.js';
import { BEAT_MS, type LockOptions, takeLock } from './lock.js';
import {
  type Before,
  type Binding,
  checkBinding,
  type Entry,
  emptyJournal,
  JOURNAL_VERSION,
  type Journal,
  readJournal,
  readOn,
  type Start,
  skipOwn,
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
  const journal = readJournal(await peekFile(path), path);
  if (journal.binding !== undefined) checkBinding(journal.binding, binding, path);
  return journal;
}

/**
 * Opens the journal of a run: a new one, or one that the same command left. Throws a FleetError of kind `usage` when it belongs to
 * another command, is no journal, is in use, or cannot be opened.
 */
export async function openJournal(path: string, binding: Binding, options: LockOptions): Promise<OpenJournal> {
  const id = randomBytes(6).toString('hex');
  const journal = emptyJournal();
  let isHeld = false;
  const file = await openJournalFile(path, async (size, written) => {
    if (!isHeld) return;
    const expected = journal.bytes + written.length;
    if (size < expected) throw lost(path, 'was cut short while the run used it');
    // What this run wrote it knows; what others wrote may be a claim.
    if (size === expected) skipOwn(journal, written);
    else await refresh();
    if (journal.holder?.id !== id) throw lost(path, 'was taken over by another run');
  });
  const refresh = async () => {
    readOn(journal, await file.read(journal.bytes), path);
    if (journal.binding !== undefined) checkBinding(journal.binding, binding, path);
    return journal.holder;
  };
  try {
    await refresh();
    const isNew = journal.binding === undefined;
    const claim = (record: object) => {
      const header = isNew ? line({ fleet_journal: JOURNAL_VERSION, ...binding }) : '';
      // The line feed ends what a crash may have cut.
      return file.append(`\n${header}${line(record)}`).then(refresh);
    };
    await takeLock({ path, refresh, claim }, id, options);
    if (isNew) await file.keepName();
    isHeld = true;
    return openRecords(file, id, journal, options.clock);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function line(record: object): string {
  return `${JSON.stringify(record)}\n`;
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
