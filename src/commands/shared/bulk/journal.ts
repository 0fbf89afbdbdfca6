// The journal of a bulk run: what is about to be sent and what was answered, on the disk before anything else happens.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../system/clock.js';
import type { ChangeResult } from '../../../views/action.js';
import { type JournalFile, lost, openJournalFile, peekFile } from './file.js';
import { BEAT_MS, type LockOptions, takeLock } from './lock.js';
import {
  type Before,
  type Binding,
  checkBinding,
  checkDamage,
  emptyJournal,
  JOURNAL_VERSION,
  type Journal,
  type JournalEntry,
  lineOf,
  readJournal,
  readOn,
  type Start,
  skipOwn,
} from './records.js';

export type OpenJournal = ReturnType<typeof openRecords>;

/** A run whose journal was silent for longer sends nothing before it has looked again: another may take it over after two beats. */
export const LONGEST_SILENCE_MS = 1.5 * BEAT_MS;

export interface JournalOptions extends LockOptions {
  /** Whether a journal that somebody changed is used all the same. */
  isTrusted: boolean;
}

/** What the journal knows, without writing or locking it: for `--dry-run`. One that is not trusted must be whole. */
export async function peekJournal(path: string, binding: Binding, isTrusted: boolean): Promise<Journal> {
  const journal = readJournal(await peekFile(path), path);
  if (journal.binding !== undefined) checkBinding(journal.binding, binding, path);
  if (!isTrusted) checkDamage(journal, path);
  return journal;
}

/**
 * Opens the journal of a run: a new one, or one that the same command left. Throws a FleetError of kind `usage` when it belongs to
 * another command, is no journal, is in use, or cannot be opened.
 */
export async function openJournal(path: string, binding: Binding, options: JournalOptions): Promise<OpenJournal> {
  const id = randomBytes(6).toString('hex');
  const journal = emptyJournal();
  let isHeld = false;
  const file = await openJournalFile(path, async (size, written) => {
    if (!isHeld) return;
    const expected = journal.bytes + written.length;
    if (size < expected) throw lost(path, 'was cut short while the run used it');
    // What this run wrote it knows; what others wrote may be a claim.
    if (size === expected) skipOwn(journal, written, id);
    else await refresh();
    if (journal.damage !== undefined) throw lost(path, `was changed while the run used it (${journal.damage})`);
    if (journal.holder?.id !== id) throw lost(path, 'was taken over by another run');
  });
  const refresh = async () => {
    readOn(journal, await file.read(journal.bytes), path);
    if (journal.binding !== undefined) checkBinding(journal.binding, binding, path);
    return journal.holder;
  };
  try {
    await refresh();
    if (!options.isTrusted) checkDamage(journal, path);
    const isNew = journal.binding === undefined;
    const claim = (record: object) => {
      const header = isNew ? lineOf({ fleet_journal: JOURNAL_VERSION, ...binding }) : '';
      const accepts = options.isTrusted ? { accepts: true } : {};
      // The line feed ends what a crash may have cut.
      return file.append(`\n${header}${lineOf({ ...record, n: 1, after: journal.records, ...accepts })}`).then(refresh);
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

function openRecords(file: JournalFile, id: string, journal: Journal, clock: Clock) {
  const gone = new AbortController();
  let begunAt = clock.monotonicMs();
  let written = 1;
  /** By both clocks: one stands still while the machine sleeps, the other may be set. */
  const now = () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  let confirmed = now();
  let isClosed = false;
  let cancelBeat = () => {};

  const append = async (record: object): Promise<void> => {
    // The moment before: what comes later is not confirmed by this.
    const at = now();
    written += 1;
    try {
      await file.append(lineOf({ ...record, n: written }));
      confirmed = at;
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
    /** What earlier runs left, by key. */
    before: journal.entries as ReadonlyMap<string, JournalEntry>,
    /** Aborted with a FleetError of kind `output` when the journal is lost: deleted, replaced, taken over, not writable. */
    lost: gone.signal,
    /** Starts this run: what the service said of itself a moment ago. */
    begin(start: Start): Promise<void> {
      begunAt = clock.monotonicMs();
      return append({ run: id, start, at: clock.wallMs() });
    },
    /** Resolves when the record, without what is not known, is on the disk; only then may the request leave. */
    announce(key: string, { name, before }: { name: string | null; before: Before | null }) {
      const afterMs = Math.round(clock.monotonicMs() - begunAt);
      return append({ sending: key, run: id, after_ms: afterMs, name: name ?? undefined, before: before ?? undefined });
    },
    /**
     * How long ago, in milliseconds, this run last wrote into the journal and found that it holds it. Counts what a stopped process or a
     * sleeping machine does not feel.
     */
    silentMs: () => Math.max(clock.monotonicMs() - confirmed.monotonicMs, Math.abs(clock.wallMs() - confirmed.wallMs)),
    /** Resolves when the record is on the disk. */
    record(key: string, result: ChangeResult, { uuid, name, how }: Pick<JournalEntry, 'uuid' | 'name' | 'how'>) {
      const known = { uuid: uuid ?? undefined, name: name ?? undefined, how: how === 'answered' ? undefined : how };
      return append({ answered: key, run: id, ...known, result, at: clock.wallMs() });
    },
    /** Lets go of the file and its lock. */
    async close() {
      isClosed = true;
      cancelBeat();
      // One that is lost is not this run's to let go of.
      if (!gone.signal.aborted) await append({ released: id }).catch(() => {});
      await file.close();
    },
  };
}
