// Keeps the known fleet up to date. Takes events of the live stream and responses of the service,
// and emits changes, gaps and requests. Does no I/O.
//
// Messages are merged in the order in which they arrive. A lost connection begins a gap. After the
// reconnect, the changes of the gap are read from the list. The whole list is read when the
// service's count differs from the number of known bicycles. It is also read when every bicycle
// must be known, but the changes of a gap could not be read completely.

import type { Bicycle } from '../api/bicycle.js';
import type { Closed, Lost, Message, Resync } from '../http/stream/events.js';
import { type Moment, momentAt } from '../system/clock.js';
import { CatchUp, type EndedReading } from './catch-up.js';
import type {
  Emit,
  FollowerEvent,
  FollowerOptions,
  OpenDoubt,
  ProvenList,
  Report,
  Resumed,
} from './events.js';
import type { FleetStore } from './fleet-store.js';
import { type Change, KnownFleet, LONGEST_LAG_MS, type Mark, NO_MARK } from './known-fleet.js';
import { KNOWN_LIMIT } from './memory-store.js';
import { GapLog, type OpenGap } from './open-gap.js';
import { ServiceTime } from './service-time.js';
import { type OnProven, WholeList, type WholeResult } from './whole-list.js';

/**
 * The interval between regular comparisons with the list. A comparison checks either the number of
 * bicycles or the bicycles that changed recently.
 */
export const CHECK_MS = 5 * 60_000;
/**
 * A regular comparison reads at most this many pages. If more bicycles have changed, some changes
 * are not read. Fields that messages omit, such as links, then stay outdated until the whole list
 * is read.
 */
const CHECK_PAGES = 20;

/**
 * The pause before the list is read a second time after a gap. The second read is needed because a
 * list can lag. As long as each read shows more changes, the list is read again after a pause that
 * is twice as long as the previous one. A lag that is longer than the pause cannot be detected.
 */
const SECOND_LOOK_MS = 30_000;
export const BEING_CHECKED = 'being checked (a list can lag, so it is read once more)';

/** The states of a follower. CONTRIBUTING.md contains a diagram. */
export const FOLLOWER_STATES = [
  /**
   * Waits for the live stream to open before it reads the list, so that it misses no change between
   * the two.
   */
  'starting',
  /** Reads the whole list. */
  'readingWhole',
  /** Reads the changes of a gap from the list, newest first. */
  'catchingUp',
  /** Compares the number of bicycles, or the recent changes, with the list. */
  'comparing',
  /** Waits until every topic is connected. */
  'disconnected',
  /** Waits until a pause is over, and then reads a list. */
  'behind',
  /** Waits until it is time to read the list a second time after a gap. */
  'awaitingSecondLook',
  /** Merges messages. No list is read before the next regular comparison. */
  'following',
] as const;

export type FollowerState = (typeof FOLLOWER_STATES)[number];

/** The planned second read of the changes during a gap. */
interface SecondLook {
  readonly mark: Mark;
  readonly sinceWallMs: number | undefined;
  readonly pauseMs: number;
  readonly dueMs: number;
  /** When the list was previously requested, by the service's clock; undefined when unknown. */
  readonly beforeMs: number | undefined;
}

/** The state of the regular comparison. */
interface Check {
  dueMs: number;
  /** When the last comparison with the list began. */
  comparedTo: Moment;
  /**
   * When the list that is being read was requested. Later changes may be missing from this list.
   */
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
  /** The last complete read of the whole list. */
  proven: ProvenList | undefined;
  /** Why changes from the last gap may be missing; undefined when the changes are complete. */
  doubt: OpenDoubt | undefined;
  /** The planned second read of the list after a gap. */
  #secondLook: SecondLook | undefined;
  /** The second read of the list after a gap, while it is in progress or waits for a retry. */
  #runningSecondLook: SecondLook | undefined;
  /** Whether a gap began after fleet last began to read changes. */
  #isNewGap = false;
  /** A report that is held back until the whole list has been read. */
  #pendingReport: Report | undefined;
  /**
   * The service's count when the list was last read. When not every bicycle is known, new counts
   * are compared with this count.
   */
  #lastTotal: number | undefined;
  /**
   * Whether lists may be read. The follower first waits for the live stream, so that no change
   * between the read of the list and the first message is missed.
   */
  #mayRead: boolean;
  /** Whether the first read of the whole list is still in progress. */
  #isFirstPending: boolean;
  /** When the next notice about contradictory versions may be printed, on the monotonic clock. */
  #loweredVersionsDueMs = Number.NEGATIVE_INFINITY;

  constructor(options: FollowerOptions, store: FleetStore, now: Moment, emit: Emit) {
    const { topics, isWhole } = options;
    this.#options = options;
    this.#emit = (output) => {
      if (output.type === 'unread' && output.sinceWallMs !== undefined) {
        const reason = `the list could not be read: ${output.error.message}`;
        this.doubt = { sinceWallMs: output.sinceWallMs, reason };
      }
      emit(output);
    };
    this.known = new KnownFleet(store, new ServiceTime(now));
    this.#catchUp = new CatchUp(this.known, options, this.#emit, (ended, at) =>
      this.#endReading(ended, at),
    );
    const onProven: OnProven = (started, total, at) => this.#prove(started, total, at);
    this.#whole = new WholeList(this.known, options, this.#emit, onProven, (result, at) =>
      this.#endWhole(result, at),
    );
    this.#gaps = new GapLog(topics.keys(), now, () => store.found());
    const dueMs = now.monotonicMs + CHECK_MS;
    this.#check = { dueMs, comparedTo: now, askedAt: now, isChecking: false };
    this.#mayRead = topics.size === 0;
    this.#isFirstPending = isWhole;
    if (isWhole) this.#whole.want('the first reading', now);
  }

  get state(): FollowerState {
    if (!this.#mayRead) return 'starting';
    if (this.#whole.isReading) return 'readingWhole';
    if (this.#catchUp.isReading) return this.#isComparing ? 'comparing' : 'catchingUp';
    if (!this.#gaps.isConnected) return 'disconnected';
    const isReadingWanted = this.#whole.wanted !== undefined || this.#catchUp.wanted !== undefined;
    if (isReadingWanted || this.#catchUp.mark !== undefined) return 'behind';
    return this.#secondLook === undefined ? 'following' : 'awaitingSecondLook';
  }

  get #isComparing(): boolean {
    return this.#check.isChecking || this.#catchUp.isCounting;
  }

  /** Whether every topic is connected. */
  get isConnected(): boolean {
    return this.#options.topics.size > 0 && this.#gaps.isConnected;
  }

  /** Whether every bicycle is known, all topics are connected, and no gap is open. */
  get isCurrent(): boolean {
    return this.known.isWhole && this.isConnected && this.#gaps.open === undefined;
  }

  /** Whether there may be changes that are not known yet. */
  get isBehind(): boolean {
    return this.#catchUp.isBehind;
  }

  get #seesAll(): boolean {
    return this.#options.seesAll?.() ?? true;
  }

  get gap(): OpenGap | undefined {
    return this.#gaps.open;
  }

  /** The current or next read of the whole list. */
  get whole(): Readonly<Pick<WholeList, 'id' | 'isReading' | 'wanted' | 'progress'>> {
    return this.#whole;
  }

  /** When the last comparison with the list began, by the system clock. */
  get comparedToMs(): number {
    return this.#check.comparedTo.wallMs;
  }

  /**
   * Loads the whole fleet from a mirror. The data of the mirror was accurate at `fromMs` on the
   * monotonic clock. The time since `fromMs` is treated as a gap.
   */
  remember(bicycles: readonly Bicycle[], fromMs: number, now: Moment) {
    for (const bicycle of bicycles) this.known.learn(bicycle, { ...now, monotonicMs: fromMs });
    this.known.setWhole();
    this.#whole.wanted = undefined;
    this.#isFirstPending = false;
    this.#emit({ type: 'counted', total: bicycles.length });
    this.#catchUp.missFrom(fromMs);
  }

  /**
   * Continues where an earlier process stopped. The time since that process stopped is treated as a
   * gap.
   */
  resume(found: Resumed, now: Moment) {
    const { heardMs, checkedMs = heardMs, gap, isWhole } = found;
    this.proven = found.proven;
    if (isWhole) {
      this.known.setWhole();
      this.#whole.wanted = undefined;
      this.#isFirstPending = false;
    }
    if (heardMs === undefined) return this.#schedule(now);
    // The earlier process may have been killed during a gap. Such a gap began before the last
    // message of that process.
    const startedMs = Math.min(heardMs, gap?.startedMs ?? heardMs);
    // All changes since the last comparison are read, because messages since then may have omitted
    // changed fields.
    const comparedTo = momentAt(Math.min(checkedMs ?? startedMs, startedMs), now);
    this.#check.comparedTo = comparedTo;
    this.#check.dueMs = comparedTo.monotonicMs + CHECK_MS;
    this.known.time.learn(found.modifiedMs, comparedTo.monotonicMs);
    const begun = {
      startedMs,
      reason: gap?.reason ?? 'the mirror was not running',
      wasReplayed: false,
    };
    // The gap before this run ends now, because lists that are read from now on contain all earlier
    // changes.
    this.#gaps.begin(begun, this.#gaps.startedAt);
    this.#catchUp.missFrom(comparedTo.monotonicMs);
    if (this.#options.topics.size === 0)
      this.#catchUp.want(startedMs, this.#options.mostPages, now);
    this.#schedule(now);
  }

  /**
   * Merges a message about a bicycle. Returns the change. The kind of the change says whether it is
   * new.
   */
  merge(
    uuid: string | undefined,
    bicycle: Bicycle,
    event: Pick<Message, 'topic' | 'monotonicMs' | 'atMs'>,
  ): Change {
    const now = { monotonicMs: event.monotonicMs, wallMs: event.atMs };
    const change = this.known.merge(uuid, bicycle, now, {
      followed: this.#options.topics.get(event.topic) ?? '',
    });
    this.#reportLoweredVersions(now);
    return change;
  }

  /**
   * Reports bicycles that arrived with a lower version but a newer time than before. Emits at most
   * one notice every CHECK_MS.
   */
  #reportLoweredVersions(now: Moment) {
    if (this.known.loweredVersions === 0) return;
    this.known.loweredVersions = 0;
    if (now.monotonicMs < this.#loweredVersionsDueMs) return;
    this.#loweredVersionsDueMs = now.monotonicMs + CHECK_MS;
    const message =
      'versions of bicycles are lower than before although their times are newer; the newer times count (was the service restored?)';
    this.#emit({ type: 'notice', event: 'versions', message });
  }

  /**
   * Treats an unreadable message as a gap of zero length. If the message contained a change, the
   * list shows this change.
   */
  takeUnreadable({ atMs, monotonicMs }: Message, reason: string, now: Moment) {
    this.#begin(atMs, monotonicMs, reason, false, now);
    this.#want(atMs, now);
    this.#schedule(now);
  }

  /** Handles an event of the live stream, a response of the service, or a tick. */
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
      case 'refreshed': {
        const { item, followed, askedAt } = event;
        this.known.compare(item.value, NO_MARK, askedAt, now, { followed, json: item.json });
        break;
      }
      case 'tick':
        break;
      default:
        this.#whole.take(event, now);
    }
    this.#reportLoweredVersions(now);
    this.#schedule(now);
  }

  // Methods for the connection and its gaps

  #takeLost(event: Lost, now: Moment) {
    const { topic, lastLifeWallMs, downMs, error } = event;
    this.#gaps.disconnect(topic);
    this.#mayRead = true;
    const wasConnected = lastLifeWallMs !== undefined;
    const startedAt = this.#gaps.startedAt;
    // An in-memory store cannot miss changes before the first connection, because the first read of
    // the list shows the current state. A database is different, because its data may be outdated.
    if (!wasConnected && !this.known.store.isTable) return;
    const fromMs = wasConnected ? event.monotonicMs - downMs : startedAt.monotonicMs;
    this.#begin(lastLifeWallMs ?? startedAt.wallMs, fromMs, error.message, wasConnected, now);
  }

  #begin(startedMs: number, fromMs: number, reason: string, wasReplayed: boolean, now: Moment) {
    this.#isNewGap = true;
    this.#gaps.begin({ startedMs, reason, wasReplayed }, now);
    this.#catchUp.missFrom(fromMs);
  }

  /**
   * Requests the changes of a gap. Called when the connection is back and the service has had time
   * to resend messages.
   */
  #takeResync({ sinceWallMs }: Resync, now: Moment) {
    const sinceMs =
      sinceWallMs ?? (this.known.store.isTable ? this.#gaps.open?.startedMs : undefined);
    const isStart = sinceMs === undefined && this.#catchUp.mark === undefined;
    // At the start, the first read of the whole list shows the current state, so the changes are
    // not read separately.
    if (isStart && this.#options.isWhole) return;
    this.#want(sinceMs, now);
  }

  #want(sinceMs: number | undefined, now: Moment) {
    const { mostPages, organizations } = this.#options;
    if (mostPages === 0 || organizations.length === 0) return;
    if (!this.#catchUp.isReading) this.#check.isChecking = false;
    this.#catchUp.want(sinceMs, mostPages, now);
  }

  /** Closes the gap after its changes were read, unless the connection was lost again. */
  #closeGap() {
    if (this.#catchUp.wanted !== undefined || this.#catchUp.mark !== undefined) return;
    if (this.#secondLook !== undefined) return;
    const closed = this.#gaps.close();
    if (closed !== undefined) this.#emit(closed);
  }

  // Methods that choose what to read next

  /**
   * Continues to read the current list, or begins to read the next one. Only one list is read at a
   * time.
   */
  #schedule(now: Moment) {
    switch (this.state) {
      case 'starting':
        return;
      case 'readingWhole':
        return this.#whole.wake(now);
      case 'catchingUp':
      case 'comparing':
        return this.#catchUp.wake(now);
      default:
        return this.#beginNext(now);
    }
  }

  #beginNext(now: Moment) {
    const isOnce = this.#options.topics.size === 0;
    const isConnected = this.#gaps.isConnected;
    const { wanted } = this.#whole;
    // Without a connection, the list is read only if the whole fleet is not known yet. Any other
    // read would have to be repeated after the reconnect.
    if (wanted !== undefined && (isConnected || !this.known.isWhole)) {
      if (wanted.dueMs <= now.monotonicMs) {
        // Messages are missed while there is no connection, so this time is treated as a gap.
        if (!isConnected && !this.known.store.isTable) this.#catchUp.missFrom(now.monotonicMs);
        return this.#whole.begin(now);
      }
      // `mirror once` ends here. It does not wait for a list that cannot be read now but only
      // later.
      if (isOnce) return this.#emit({ type: 'settled' });
    }
    if (!isConnected || this.#isFirstPending || (this.known.store.isTable && !this.known.isWhole))
      return;
    this.#wantSecondLook(now);
    if (this.#catchUp.wanted !== undefined) {
      if (!this.#check.isChecking || this.#catchUp.mark !== undefined) this.#check.askedAt = now;
      return this.#beginReading(now);
    }
    if (this.#catchUp.mark !== undefined || wanted !== undefined) return;
    if (isOnce) return this.#emit({ type: 'settled' });
    if (now.monotonicMs >= this.#check.dueMs) this.#beginCheck(now);
  }

  /**
   * Begins to read the changes, if the pause after the previous read is over. If a gap began while
   * a retry or a regular comparison was waiting, this read is the first one after that gap.
   */
  #beginReading(now: Moment) {
    if (this.#isNewGap) {
      this.#runningSecondLook = undefined;
      this.#check.isChecking = false;
    }
    this.#catchUp.begin(now);
    if (this.#catchUp.isReading) this.#isNewGap = false;
  }

  /**
   * Requests the second read of the list when it is due. If a new gap has begun, the list is
   * requested for the new gap anyway, once the service has had time to resend messages. That read
   * then also serves as the second read.
   */
  #wantSecondLook(now: Moment) {
    const look = this.#secondLook;
    if (look === undefined) return;
    const isDue = this.#isNewGap
      ? this.#catchUp.wanted !== undefined
      : now.monotonicMs >= look.dueMs;
    if (!isDue) return;
    this.#secondLook = undefined;
    // A regular comparison may be waiting. The second read covers it, and is always reported.
    this.#check.isChecking = false;
    if (!this.#isNewGap) this.#runningSecondLook = look;
    this.#catchUp.missFrom(look.mark.fromMs, look.mark);
    this.#catchUp.want(look.sinceWallMs, this.#options.mostPages, now);
  }

  /**
   * After a gap was read completely, plans to read the list a second time, unless the service
   * resent every message. Plans another read as long as the list shows more changes.
   */
  #planSecondLook(
    { sinceWallMs, newer, gone }: Report & Pick<EndedReading, 'newer'>,
    mark: Mark,
    before: SecondLook | undefined,
    now: Moment,
  ) {
    const isOnce = this.#options.topics.size === 0;
    if (isOnce || this.#gaps.open?.wasReplayed === true) return;
    // If a change happened after the previous read, it does not prove that the list lagged. The
    // message about this change may simply not have arrived yet.
    const latestMs = before?.beforeMs ?? Number.POSITIVE_INFINITY;
    const missed = newer.filter((modifiedMs) => (modifiedMs ?? latestMs) <= latestMs);
    if (before !== undefined && missed.length + gone === 0) return;
    const pauseMs = before === undefined ? SECOND_LOOK_MS : 2 * before.pauseMs;
    const { time } = this.known;
    const beforeMs = time.isTold ? time.at(now.monotonicMs) : undefined;
    this.#secondLook = {
      mark,
      sinceWallMs,
      pauseMs,
      dueMs: now.monotonicMs + pauseMs,
      beforeMs,
    };
  }

  // Methods for the regular comparison

  #beginCheck(now: Moment) {
    const { bicycles, isWhole, mostPages, organizations } = this.#options;
    const check = this.#check;
    check.dueMs = now.monotonicMs + CHECK_MS;
    if (mostPages === 0 || organizations.length === 0) return;
    // If the role does not see every bicycle, a lower count does not prove that a bicycle was
    // deleted. The whole list is therefore compared.
    if (this.known.store.isTable && !this.#seesAll)
      return this.#whole.want('this role does not see every bicycle', now);
    if (bicycles === undefined && !isWhole) this.#catchUp.want(undefined, 0, now);
    else {
      // The bicycles that were modified since the last comparison are read. This read finds changed
      // fields that messages omit, such as links. If the first list lagged, this read also corrects
      // the data from it.
      Object.assign(check, { isChecking: true, askedAt: now });
      const { monotonicMs: fromMs } = check.comparedTo;
      this.#catchUp.missFrom(fromMs, { ...this.known.mark(fromMs), lagMs: LONGEST_LAG_MS });
      this.#catchUp.want(now.wallMs, CHECK_PAGES, now);
    }
    this.#beginReading(now);
  }

  /**
   * Returns a message about the difference between the service's count and the known bicycles.
   * Returns undefined when the count matches or is unknown.
   */
  #countDifference(total: number | undefined): string | undefined {
    const { store, isWhole } = this.known;
    const hidden = this.#seesAll ? 0 : store.hidden();
    const before = this.#lastTotal;
    this.#lastTotal = total;
    if (total === undefined || hidden === undefined || (!store.isTable && total > KNOWN_LIMIT))
      return undefined;
    const expected = isWhole ? store.size() - hidden : before;
    if (expected === undefined || expected === total) return undefined;
    if (!isWhole) return `the service counted ${expected} bicycles, and ${total} now`;
    return `the service counts ${total} bicycles, and ${expected} are known`;
  }

  // The methods below handle the results of reading the lists.

  #endReading({ report, mark, newer, total }: EndedReading, now: Moment) {
    const check = this.#check;
    const { isChecking } = check;
    check.isChecking = false;
    // A bicycle that left the fleet during a gap is in no list. Only the service's count or the
    // whole list shows that it is missing.
    const uncounted =
      mark !== undefined && !isChecking && total === undefined ? UNCOUNTED : undefined;
    const difference =
      this.#options.bicycles === undefined
        ? (this.#countDifference(total) ?? uncounted)
        : undefined;
    if (report === undefined) {
      if (difference !== undefined && this.#whole.isAllowed(now)) this.#whole.want(difference, now);
      return;
    }
    if (mark === undefined) {
      check.comparedTo = now;
      this.#check.dueMs = now.monotonicMs + CHECK_MS;
      return this.#emit({ type: 'read', report });
    }
    // A read after a gap is also a comparison if it covers all changes since the last comparison.
    if (mark.fromMs <= check.comparedTo.monotonicMs) {
      check.comparedTo = check.askedAt;
      this.#check.dueMs = now.monotonicMs + CHECK_MS;
    }
    const isShort = !report.isComplete && !isChecking && this.#options.isWhole;
    if (!isChecking) {
      const before = this.#runningSecondLook;
      this.#runningSecondLook = undefined;
      // The whole list can lag too, so it does not replace the second read.
      if (report.isComplete || isShort)
        this.#planSecondLook({ ...report, newer }, mark, before, now);
    }
    if (report.isComplete) this.#closeGap();
    const reason =
      difference ?? (isShort ? `the catch-up was not complete: ${report.reason ?? ''}` : undefined);
    if (reason === undefined) return this.#report(report, isChecking);
    if (difference === undefined || this.#whole.isAllowed(now)) this.#whole.want(reason, now);
    const { wanted } = this.#whole;
    if (wanted !== undefined && wanted.dueMs <= now.monotonicMs) {
      this.#pendingReport = isChecking && report.changes === 0 ? undefined : report;
      return;
    }
    // The whole list was already read because of this difference, but the difference is still
    // there. Reading the list again so soon would not help.
    const stays =
      difference === undefined ? report : { ...report, isComplete: false, reason: difference };
    this.#report(stays, isChecking);
  }

  /** Emits the report about a list. Emits nothing for a regular comparison without changes. */
  #report(report: Report, isChecking: boolean) {
    if (!isChecking || report.changes > 0 || report.gone > 0) this.#emitReading(report);
    else if (report.isComplete) this.#settle();
  }

  /**
   * Emits a report. If the list must still be read a second time, the report is marked as
   * incomplete.
   */
  #emitReading(report: Report) {
    const isChecked = this.#secondLook === undefined || !report.isComplete;
    const checked = isChecked ? report : { ...report, isComplete: false, reason: BEING_CHECKED };
    if (checked.isComplete) this.#settle();
    else if (report.sinceWallMs !== undefined)
      this.doubt = { sinceWallMs: report.sinceWallMs, reason: checked.reason ?? '' };
    this.#emit({ type: 'read', report: checked });
  }

  /**
   * Records that no changes are missing, unless a gap is open or the list must still be read a
   * second time.
   */
  #settle() {
    if (this.#secondLook === undefined && !this.#catchUp.isBehind) this.doubt = undefined;
  }

  /**
   * Handles the end of a complete read of the whole list. If a gap ended before the list was
   * requested, the read closes the gap.
   */
  #prove(started: Moment, total: number | undefined, now: Moment) {
    this.proven = { atMs: started.wallMs, total };
    this.known.setWhole();
    this.#settle();
    const { isTable } = this.known.store;
    if (isTable || this.#isFirstPending) {
      this.#check.comparedTo = started;
      // Reading the whole list can take longer than the interval between comparisons. The next
      // comparison then begins only in the next step, because the results of this list must be
      // emitted first.
      this.#check.dueMs = Math.max(started.monotonicMs + CHECK_MS, now.monotonicMs + 1);
    }
    if (!isTable) return;
    const gap = this.#gaps.open;
    if (gap !== undefined && (gap.endedMs === undefined || gap.endedMs > started.wallMs)) return;
    // If the list was read soon after the gap, it may come from a replica that lags. The gap then
    // stays open, and the list is read a second time as planned.
    const isSettled = gap?.endedMs === undefined || started.wallMs >= gap.endedMs + SECOND_LOOK_MS;
    if (isSettled) this.#secondLook = undefined;
    this.#catchUp.forget();
    this.#isNewGap = false;
    this.#closeGap();
  }

  #endWhole({ gone, reason, total }: WholeResult, now: Moment) {
    const pending = this.#pendingReport;
    this.#pendingReport = undefined;
    this.#isFirstPending = false;
    if (pending === undefined && gone === 0) return;
    const report: Report = pending ?? {
      ...NOTHING_READ,
      sinceWallMs: this.#check.comparedTo.wallMs,
    };
    // The counts are compared again, because a bicycle may have left the fleet between the two
    // passes. Also, a repeated message may have kept a deleted bicycle in the known fleet.
    const isComparable = !this.known.store.isTable && (gone > 0 || this.#seesAll);
    const difference = isComparable ? this.#countDifference(total) : undefined;
    if (difference !== undefined && gone > 0) {
      this.#pendingReport = { ...report, gone: report.gone + gone };
      return this.#whole.want(difference, now);
    }
    // If another gap began after the list was requested, the list does not contain all changes
    // during that gap.
    const isBehind = pending === undefined && this.#catchUp.isBehind;
    const isSure = reason === undefined && difference === undefined && !isBehind;
    const isComplete = isSure && (report.isComplete || this.#options.isWhole);
    const why = isComplete
      ? undefined
      : (reason ?? difference ?? report.reason ?? 'the changes of the last gap were not read yet');
    this.#emitReading({ ...report, gone: report.gone + gone, isComplete, reason: why });
  }
}

const UNCOUNTED = 'the service sends no count of bicycles';
const NOTHING_READ = { pages: 0, changes: 0, unknown: 0, gone: 0, isComplete: true, missing: [] };
