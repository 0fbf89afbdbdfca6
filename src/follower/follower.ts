// Keeps a fleet true from list and push channel: events go in; changes, gaps and requests come out. No I/O.
//
// Messages are merged as they come. A cut opens a gap; when the channel stands again the catch-up looks up what was missed. A count that
// does not fit what is known, and a catch-up that is not complete where every bicycle has to be known, lead to a reading of the whole list.

import type { Bicycle } from '../api/bicycle.js';
import type { Closed, Lost, Message, Resync } from '../http/stream/events.js';
import { type Moment, momentAt } from '../system/clock.js';
import { CatchUp, type EndedReading } from './catch-up.js';
import type {
  Emit,
  FollowerEvent,
  FollowerOptions,
  ProvenList,
  Report,
  Resumed,
} from './events.js';
import type { FleetStore } from './fleet-store.js';
import { type Change, KnownFleet } from './known-fleet.js';
import { KNOWN_LIMIT } from './memory-store.js';
import { GapLog, type OpenGap } from './open-gap.js';
import { ServiceTime } from './service-time.js';
import { type OnProven, WholeList, type WholeResult } from './whole-list.js';

/** How often the count is compared with the service's, and a table with what the list says was modified since the last time. */
export const CHECK_MS = 5 * 60_000;
/** So many pages at most of such a comparison; of a fleet that moves faster the links are as old as the last whole reading. */
const CHECK_PAGES = 20;

/** What is compared next. */
interface Check {
  dueMs: number;
  /** The time of the last comparison with the list. */
  comparedTo: Moment;
  /** When the catch-up in progress was requested: it may lack messages that came later. */
  askedAt: Moment;
  isChecking: boolean;
}

export class Follower {
  readonly known: KnownFleet;
  readonly #options: FollowerOptions;
  readonly #emit: Emit;
  readonly #catchUp: CatchUp;
  readonly #whole: WholeList;
  readonly #gaps: GapLog;
  readonly #check: Check;
  /** When the whole list was last read, by the machine's date, and how many bicycles the service counted. */
  proven: ProvenList | undefined;
  /** A report that waits for the reading of the whole list. */
  #pending: Report | undefined;
  /** The service's count at the last reading, where not every bicycle is known. */
  #lastTotal: number | undefined;
  /** Lists are read only once the stream has reported, so that nothing falls between the two. */
  #mayRead: boolean;
  /** The first reading of the whole list has not ended. */
  #isFirstPending: boolean;

  constructor(options: FollowerOptions, store: FleetStore, now: Moment, emit: Emit) {
    const { topics, isWhole } = options;
    this.#options = options;
    this.#emit = emit;
    this.known = new KnownFleet(store, new ServiceTime(now));
    this.#catchUp = new CatchUp(this.known, options, emit, (ended, at) =>
      this.#endReading(ended, at),
    );
    const onProven: OnProven = (started, total, at) => this.#prove(started, total, at);
    this.#whole = new WholeList(this.known, options, emit, onProven, (result, at) =>
      this.#endWhole(result, at),
    );
    this.#gaps = new GapLog(topics.keys(), now, () => store.found());
    const dueMs = now.monotonicMs + CHECK_MS;
    this.#check = { dueMs, comparedTo: now, askedAt: now, isChecking: false };
    this.#mayRead = topics.size === 0;
    this.#isFirstPending = isWhole;
    if (isWhole) this.#whole.want('the first reading', now);
  }

  /** Whether the push channel tells everything now. */
  get isConnected(): boolean {
    return this.#options.topics.size > 0 && this.#gaps.isConnected;
  }

  /** Whether what is known is as true as it can be. */
  get isCurrent(): boolean {
    return this.known.isWhole && this.isConnected && this.#gaps.open === undefined;
  }

  /** Whether changes remain to be looked up. */
  get isBehind(): boolean {
    return this.#catchUp.isBehind;
  }

  get gap(): OpenGap | undefined {
    return this.#gaps.open;
  }

  /** The reading of the whole list that is in progress, or waits. */
  get whole(): Readonly<Pick<WholeList, 'id' | 'isReading' | 'wanted' | 'progress'>> {
    return this.#whole;
  }

  /** Until when what is known was compared with the list, by the machine's date. */
  get comparedToMs(): number {
    return this.#check.comparedTo.wallMs;
  }

  /** Learns the whole fleet from a mirror, as of that moment of the monotonic clock; what changed since is looked up as after a gap. */
  remember(bicycles: readonly Bicycle[], fromMs: number, now: Moment) {
    for (const bicycle of bicycles) this.known.learn(bicycle, { ...now, monotonicMs: fromMs });
    this.known.setWhole();
    this.#whole.wanted = undefined;
    this.#isFirstPending = false;
    this.#emit({ type: 'counted', total: bicycles.length });
    this.#catchUp.missFrom(fromMs);
  }

  /** Resumes where the writer before stopped. */
  resume(found: Resumed, now: Moment) {
    const { heardMs, checkedMs = heardMs, gap, isWhole } = found;
    this.proven = found.proven;
    if (isWhole) {
      this.known.setWhole();
      this.#whole.wanted = undefined;
      this.#isFirstPending = false;
    }
    if (heardMs === undefined) return this.#schedule(now);
    // The gap that a writer left open when it was killed began before the last message that it received.
    const startedMs = Math.min(heardMs, gap?.startedMs ?? heardMs);
    // What messages left out since the last comparison is looked up with what was missed.
    const comparedTo = momentAt(Math.min(checkedMs ?? startedMs, startedMs), now);
    this.#check.comparedTo = comparedTo;
    this.#check.dueMs = comparedTo.monotonicMs + CHECK_MS;
    this.known.time.learn(found.modifiedMs, comparedTo.monotonicMs);
    const begun = {
      startedMs,
      reason: gap?.reason ?? 'the mirror was not running',
      isBridged: false,
    };
    // Lists that are read once show what was before the first of them was asked for.
    this.#gaps.begin(begun, this.#gaps.startedAt);
    this.#catchUp.missFrom(comparedTo.monotonicMs);
    if (this.#options.topics.size === 0)
      this.#catchUp.want(startedMs, this.#options.mostPages, now);
    this.#schedule(now);
  }

  /** Merges a message about a bicycle; the kind of the change says whether it is news. */
  merge(
    uuid: string | undefined,
    bicycle: Bicycle,
    event: Pick<Message, 'topic' | 'monotonicMs' | 'atMs'>,
  ): Change {
    const now = { monotonicMs: event.monotonicMs, wallMs: event.atMs };
    return this.known.merge(uuid, bicycle, now, {
      followed: this.#options.topics.get(event.topic) ?? '',
    });
  }

  /** A message that cannot be read is a gap of no length: the list is asked what it may have said. */
  takeUnreadable({ atMs, monotonicMs }: Message, reason: string, now: Moment) {
    this.#begin(atMs, monotonicMs, reason, false, now);
    this.#want(atMs, now);
    this.#schedule(now);
  }

  /** What happened to the connection, what the service answered, or that time has passed. */
  take(event: FollowerEvent | Closed, now: Moment) {
    switch (event.type) {
      case 'closed':
        return;
      case 'open':
        this.#gaps.connect(event.topic, now);
        if (event.serviceMs !== undefined) this.known.time.set(event.serviceMs, event.monotonicMs);
        this.#mayRead ||= this.#gaps.isConnected;
        break;
      case 'lost':
        this.#takeLost(event, now);
        break;
      case 'gap':
        this.#begin(
          event.fromWallMs,
          event.monotonicMs - event.durationMs,
          event.message,
          event.replayed,
          now,
        );
        break;
      case 'resync':
        this.#mayRead = true;
        this.#takeResync(event, now);
        break;
      case 'page':
      case 'bicycle':
      case 'failed':
        this.#catchUp.take(event, now);
        break;
      case 'tick':
        break;
      default:
        this.#whole.take(event, now);
    }
    this.#schedule(now);
  }

  // The connection and its gaps

  #takeLost(event: Lost, now: Moment) {
    const { topic, lastLifeWallMs, downMs, error } = event;
    this.#gaps.disconnect(topic);
    this.#mayRead = true;
    const hasStood = lastLifeWallMs !== undefined;
    const startedAt = this.#gaps.startedAt;
    // A connection that was never made has missed nothing yet: the first reading shows the present state. A table is behind, though.
    if (!hasStood && !this.known.store.isTable) return;
    const fromMs = hasStood ? event.monotonicMs - downMs : startedAt.monotonicMs;
    this.#begin(lastLifeWallMs ?? startedAt.wallMs, fromMs, error.message, hasStood, now);
  }

  #begin(startedMs: number, fromMs: number, reason: string, isBridged: boolean, now: Moment) {
    this.#gaps.begin({ startedMs, reason, isBridged }, now);
    this.#catchUp.missFrom(fromMs);
  }

  /** The connection is back, and the service had time to resend: what is still missing is looked up. */
  #takeResync({ sinceWallMs }: Resync, now: Moment) {
    const sinceMs =
      sinceWallMs ?? (this.known.store.isTable ? this.#gaps.open?.startedMs : undefined);
    const isStart = sinceMs === undefined && this.#catchUp.mark === undefined;
    // The first reading of the whole list shows how things are.
    if (isStart && this.#options.isWhole) return;
    this.#want(sinceMs, now);
  }

  #want(sinceMs: number | undefined, now: Moment) {
    const { mostPages, organizations } = this.#options;
    if (mostPages === 0 || organizations.length === 0) return;
    if (!this.#catchUp.isReading) this.#check.isChecking = false;
    this.#catchUp.want(sinceMs, mostPages, now);
  }

  /** Closes the gap whose changes were found, unless the connection was lost again since that reading began. */
  #closeGap() {
    if (this.#catchUp.wanted !== undefined || this.#catchUp.mark !== undefined) return;
    const closed = this.#gaps.close();
    if (closed !== undefined) this.#emit(closed);
  }

  // What is read next

  /** Begins what waits for its turn; one reading at a time. */
  #schedule(now: Moment) {
    if (!this.#mayRead) return;
    if (this.#whole.isReading) return this.#whole.wake(now);
    if (this.#catchUp.isReading) return this.#catchUp.wake(now);
    const isOnce = this.#options.topics.size === 0;
    const isStanding = isOnce || this.#gaps.isConnected;
    const { wanted } = this.#whole;
    // Without a connection only the first reading is of use: any other would have to be repeated after the return.
    if (wanted !== undefined && (isStanding || !this.known.isWhole)) {
      if (wanted.dueMs <= now.monotonicMs) {
        // What happens between this reading and the first connection is looked up then.
        if (!isStanding && !this.known.store.isTable) this.#catchUp.missFrom(now.monotonicMs);
        return this.#whole.begin(now);
      }
      // `mirror once` skips readings that are not due yet.
      if (isOnce) return this.#emit({ type: 'settled' });
    }
    if (!isStanding || this.#isFirstPending || (this.known.store.isTable && !this.known.isWhole))
      return;
    if (this.#catchUp.wanted !== undefined) {
      if (!this.#check.isChecking || this.#catchUp.mark !== undefined) this.#check.askedAt = now;
      return this.#catchUp.begin(now);
    }
    if (this.#catchUp.mark !== undefined || wanted !== undefined) return;
    if (isOnce) return this.#emit({ type: 'settled' });
    if (now.monotonicMs >= this.#check.dueMs) this.#beginCheck(now);
  }

  // Comparing without a gap

  #beginCheck(now: Moment) {
    const { bicycles, isWhole, mostPages, organizations } = this.#options;
    const check = this.#check;
    check.dueMs = now.monotonicMs + CHECK_MS;
    if (mostPages === 0 || organizations.length === 0) return;
    if (bicycles === undefined && !isWhole) this.#catchUp.want(undefined, 0, now);
    else {
      // Read is what was modified since the last comparison, for what messages leave out, such as links, and the first list, where it was old.
      Object.assign(check, { isChecking: true, askedAt: now });
      this.#catchUp.missFrom(check.comparedTo.monotonicMs);
      this.#catchUp.want(now.wallMs, CHECK_PAGES, now);
    }
    this.#catchUp.begin(now);
  }

  /** Why the service's count does not fit what is known; undefined where it does, or does not say. */
  #misfit(total: number | undefined): string | undefined {
    const { store, isWhole } = this.known;
    const hidden = (this.#options.seesAll?.() ?? true) ? 0 : store.hidden();
    const before = this.#lastTotal;
    this.#lastTotal = total;
    if (total === undefined || hidden === undefined || (!store.isTable && total > KNOWN_LIMIT))
      return undefined;
    const expected = isWhole ? store.size() - hidden : before;
    if (expected === undefined || expected === total) return undefined;
    if (!isWhole) return `the service counted ${expected} bicycles, and ${total} now`;
    return `the service counts ${total} bicycles, and ${expected} are known`;
  }

  // What readings brought

  #endReading({ report, mark, total }: EndedReading, now: Moment) {
    const check = this.#check;
    const { isChecking } = check;
    check.isChecking = false;
    // Who left during a gap, only the count tells, or the whole list.
    const uncounted =
      mark !== undefined && !isChecking && total === undefined ? UNCOUNTED : undefined;
    const misfit =
      this.#options.bicycles === undefined ? (this.#misfit(total) ?? uncounted) : undefined;
    if (report === undefined) {
      if (misfit !== undefined && this.#whole.isAllowed(now)) this.#whole.want(misfit, now);
      return;
    }
    if (mark === undefined) {
      check.comparedTo = now;
      this.#check.dueMs = now.monotonicMs + CHECK_MS;
      return this.#emit({ type: 'read', report });
    }
    // A reading from where the table was last compared is the next comparison; one after a gap goes back to where that began.
    const isCompared = !this.known.store.isTable || mark.fromMs === check.comparedTo.monotonicMs;
    if (isCompared) {
      check.comparedTo = check.askedAt;
      this.#check.dueMs = now.monotonicMs + CHECK_MS;
    }
    if (report.isComplete) this.#closeGap();
    const isShort = !report.isComplete && !isChecking && this.#options.isWhole;
    const reason =
      misfit ?? (isShort ? `the catch-up was not complete: ${report.reason ?? ''}` : undefined);
    if (reason === undefined) return this.#report(report, isChecking);
    if (misfit === undefined || this.#whole.isAllowed(now)) this.#whole.want(reason, now);
    const { wanted } = this.#whole;
    if (wanted !== undefined && wanted.dueMs <= now.monotonicMs) {
      this.#pending = isChecking && report.changes === 0 ? undefined : report;
      return;
    }
    // The whole list was read for this count shortly before, and did not explain it.
    const stays = misfit === undefined ? report : { ...report, isComplete: false, reason: misfit };
    this.#report(stays, isChecking);
  }

  /** A comparison that found nothing is not reported. */
  #report(report: Report, isChecking: boolean) {
    if (!isChecking || report.changes > 0 || report.gone > 0) this.#emit({ type: 'read', report });
  }

  /** A whole reading was proven: it closes a gap that was over when it began. */
  #prove(started: Moment, total: number | undefined, now: Moment) {
    this.proven = { atMs: started.wallMs, total };
    this.known.setWhole();
    const { isTable } = this.known.store;
    if (isTable || this.#isFirstPending) {
      this.#check.comparedTo = started;
      // After a long reading at once, but not in this step.
      this.#check.dueMs = Math.max(started.monotonicMs + CHECK_MS, now.monotonicMs + 1);
    }
    if (!isTable) return;
    const gap = this.#gaps.open;
    if (gap !== undefined && (gap.endedMs === undefined || gap.endedMs > started.wallMs)) return;
    this.#catchUp.forget();
    this.#closeGap();
  }

  #endWhole({ gone, reason, total }: WholeResult, now: Moment) {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#isFirstPending = false;
    if (pending === undefined && gone === 0) return;
    const report: Report = pending ?? {
      ...NOTHING_READ,
      sinceWallMs: this.#check.comparedTo.wallMs,
    };
    // One that left between the two readings is missed by the second alone; what was sent again of one that is gone keeps it until the next comparison.
    const isComparable =
      !this.known.store.isTable && (gone > 0 || (this.#options.seesAll?.() ?? true));
    const misfit = isComparable ? this.#misfit(total) : undefined;
    if (misfit !== undefined && gone > 0) {
      this.#pending = { ...report, gone: report.gone + gone };
      return this.#whole.want(misfit, now);
    }
    // Changes of a later gap are not looked up yet.
    const isBehind = pending === undefined && this.#catchUp.isBehind;
    const isSure = reason === undefined && misfit === undefined && !isBehind;
    const isComplete = isSure && (report.isComplete || this.#options.isWhole);
    const why = isComplete
      ? undefined
      : (reason ?? misfit ?? report.reason ?? 'what changed in the last gap is not looked up yet');
    this.#emit({
      type: 'read',
      report: { ...report, gone: report.gone + gone, isComplete, reason: why },
    });
  }
}

const UNCOUNTED = 'the service does not say how many bicycles there are';
const NOTHING_READ = { pages: 0, changes: 0, unknown: 0, gone: 0, isComplete: true, missing: [] };
