// The updates for the browser tabs of a served page: first the whole fleet, then numbered updates
// with the changes. No I/O.

import type { Bicycle } from '../../api/bicycle.js';
import { KNOWN_LIMIT } from '../../follower/memory-store.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type {
  Alerts,
  FeedEntry,
  FieldTexts,
  Link,
  PageRow,
  PageZone,
  Payload,
  Tiles,
  Update,
} from '../../page/payload.js';
import type { TimeZone } from '../../system/time-zone.js';
import { clean } from '../../terminal/clean.js';
import { streamLine } from '../../views/connection.js';
import { packedFieldsOf, rowOf } from '../../views/map/pack.js';
import { changeText, type ShownEntry } from '../../views/watch.js';
import type { Watch, WatchEffect } from '../watch/state.js';
import { STILL } from './html.js';

export interface FeedOptions {
  title: string;
  tiles: Tiles | null;
  zone: TimeZone;
  zones: readonly PageZone[];
  /** The earliest time on the time slider, or null without a mirror. */
  pastFromMs: number | null;
  /**
   * The number of the first update. A page that is still open may remember update numbers from an
   * earlier run of fleet. This number is greater than all of them.
   */
  startMs: number;
  /** Whether a bicycle passes the filters. */
  keep(bicycle: Bicycle): boolean;
}

/** The parts of a watch that the feed reads. */
type Watched = Pick<Watch, 'known' | 'store' | 'total' | 'doubt'>;

/**
 * The maximum number of log entries that a new tab receives. An update also contains at most this
 * many log entries.
 */
const KEPT_EVENTS = 200;

export class TabFeed {
  readonly #options: FeedOptions;
  #watched: Watched | undefined;
  /**
   * The bicycles as the browser tabs know them. Their values are from the last update that was
   * created for the tabs.
   */
  readonly #shown = new Map<string, Bicycle>();
  #events: FeedEntry[] = [];
  #pending: FeedEntry[] = [];
  #link: Link = { state: 'connecting', sinceMs: 0, message: null, gaps: 0, total: null };
  #alerts: Alerts = { rows: [], byType: [], note: null };
  #last: Pick<Update, 'sequence' | 'note' | 'link'> & { alerts: Alerts };

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#last = {
      sequence: Math.floor(options.startMs),
      note: null,
      link: this.#link,
      alerts: this.#alerts,
    };
  }

  /** Records the effects of one step of the watch. */
  take(effects: readonly WatchEffect[], watch: Watched) {
    this.#watched = watch;
    for (const effect of effects) {
      if (effect.type === 'show') this.#addChange(effect.entry, effect.atMs);
      else if (effect.type === 'stream') this.#takeStream(effect.event);
    }
  }

  takeAlerts(news: Alerts) {
    if (JSON.stringify(news) !== JSON.stringify(this.#alerts)) this.#alerts = news;
  }

  /** Returns the changes since the last update, or undefined when there are none. */
  flush(nowMs: number): Update | undefined {
    if (this.#watched === undefined) return undefined;
    const news = {
      ...this.#compare(this.#watched),
      ...this.#extent(this.#watched),
      events: this.#pending,
    };
    const last = this.#last;
    const alerts = this.#alerts === last.alerts ? null : this.#alerts;
    const isSameHead =
      JSON.stringify([news.link, news.note]) === JSON.stringify([last.link, last.note]);
    const isNothing = news.rows.length + news.gone.length + news.events.length === 0;
    if (isNothing && isSameHead && alerts === null) return undefined;
    const sequence = last.sequence + 1;
    this.#events = [...this.#pending, ...this.#events].slice(0, KEPT_EVENTS);
    this.#pending = [];
    this.#last = { sequence, note: news.note, link: news.link, alerts: this.#alerts };
    return { ...news, sequence, atMs: nowMs, alerts };
  }

  /** Returns the whole fleet in the state of the last update. */
  payload(atMs: number): Payload {
    const { title, tiles, pastFromMs, zone, zones } = this.#options;
    const rows = Array.from(this.#shown.values(), rowOf);
    return {
      title,
      timeZone: zone.name ?? null,
      tiles,
      zones,
      pastFromMs,
      atMs,
      rows,
      gone: [],
      ...this.#last,
      events: this.#events,
    };
  }

  /**
   * Returns the page data for bicycles other than the current ones, such as the fleet at a past
   * moment.
   */
  payloadOf(bicycles: readonly Bicycle[], atMs: number): Payload {
    const { title, tiles, zone, zones } = this.#options;
    const nothing = {
      rows: [],
      byType: [],
      note: 'Alerts are those of now, and not shown for the past.',
    };
    return {
      ...STILL,
      title,
      timeZone: zone.name ?? null,
      tiles,
      zones,
      atMs,
      note: null,
      rows: bicycles.map(rowOf),
      alerts: nothing,
    };
  }

  fields(uuid: string): FieldTexts | undefined {
    const bicycle = this.#shown.get(uuid);
    return bicycle === undefined ? undefined : packedFieldsOf({ json: '', value: bicycle });
  }

  /** Returns the UUIDs of the bicycles on the page. */
  uuids(): ReadonlySet<string> {
    return new Set(this.#shown.keys());
  }

  #add(entry: FeedEntry) {
    this.#pending = [entry, ...this.#pending.slice(0, KEPT_EVENTS - 1)];
  }

  #addChange(entry: ShownEntry, atMs: number) {
    const kind = entry.type === 'bicycle' && entry.kind === 'caught-up' ? 'caught-up' : 'change';
    const uuid = entry.type === 'alert' || entry.type === 'other' ? undefined : entry.uuid;
    const bicycle = entry.type === 'gone' ? entry.bicycle : this.#watched?.known.get(uuid);
    if (uuid === undefined || bicycle === undefined || !this.#options.keep(bicycle)) return;
    this.#add({ kind, atMs, uuid, ...changeText(entry) });
  }

  #takeStream(event: StreamEvent) {
    const link = this.#link;
    if (event.type === 'gap') {
      this.#link = { ...link, gaps: link.gaps + 1 };
      const text = streamLine(event, this.#options.zone, false) ?? event.message;
      this.#add({ kind: 'gap', atMs: event.atMs, uuid: null, name: null, text });
    } else if (event.type === 'open') {
      this.#link = { ...link, state: 'open', sinceMs: event.atMs, message: null };
    } else if (event.type === 'lost') {
      const sinceMs = link.state === 'lost' ? link.sinceMs : (event.lastLifeWallMs ?? event.atMs);
      this.#link = { ...link, state: 'lost', sinceMs, message: event.error.message };
    }
  }

  /**
   * Describes the data that the page lacks: bicycles that fleet is still reading, and bicycles
   * beyond the limit. Changes that an incomplete comparison may have missed are mentioned too.
   */
  #extent({ known, total = 0, doubt }: Watched) {
    const isFull = known.store.size() >= KNOWN_LIMIT && total > KNOWN_LIMIT;
    const isReading = !known.isWhole && !isFull && known.store.size() < total;
    const [all, some] = [total, KNOWN_LIMIT].map((count) => count.toLocaleString('en'));
    const notes: string[] = [];
    if (isFull)
      notes.push(`Of ${all} bicycles only the ${some} that were updated last are followed.`);
    if (doubt !== undefined)
      notes.push(`The comparison after the last gap is not complete: ${clean(doubt.reason)}.`);
    const note = notes.length === 0 ? null : notes.join(' ');
    return { link: { ...this.#link, total: isReading ? total : null }, note };
  }

  /**
   * Returns the changed rows and the removed bicycles. Compares only the values that the page
   * shows, because a change of other values needs no update.
   */
  #compare(watch: Watched) {
    const rows: PageRow[] = [];
    const gone: string[] = [];
    for (const uuid of watch.store.takeTouched()) {
      const bicycle = watch.known.get(uuid);
      const before = this.#shown.get(uuid);
      if (bicycle === undefined || !this.#options.keep(bicycle)) {
        if (this.#shown.delete(uuid)) gone.push(uuid);
        continue;
      }
      const row = rowOf(bicycle);
      if (before === undefined || JSON.stringify(row) !== JSON.stringify(rowOf(before)))
        rows.push(row);
      this.#shown.set(uuid, bicycle);
    }
    return { rows, gone };
  }
}
