// What the tabs of a served page are told: the fleet as a whole, and after it what changed, in numbered updates. Without I/O.

import type { Bicycle } from '../../api/bicycle.js';
import { KNOWN_LIMIT } from '../../follower/store.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type { Alerts, FeedEntry, Fields, Link, Payload, Row, Tiles, Update } from '../../page/payload.js';
import { changeText, type Entry } from '../../views/change.js';
import { fieldsOf, rowOf, uuidOf } from '../../views/map/pack.js';
import { streamLine } from '../../views/stream.js';
import type { Watch, WatchEffect } from '../watch/state.js';
import { STILL } from './html.js';

export interface FeedOptions {
  title: string;
  tiles: Tiles | null;
  offsetMinutes: number;
  /** Since when the past can be shown. */
  pastFromMs: number | null;
  /** The first number of updates: greater than all of an earlier run, which a page that stayed open may know. */
  startMs: number;
  /** Whether a bicycle is among those asked for. */
  keep(bicycle: Bicycle): boolean;
}

/** The fleet of a watch. */
type Watched = Pick<Watch, 'known' | 'bicycles'>;

export interface Feed {
  /** Notes what a step of the watch brought. */
  take(effects: readonly WatchEffect[], watch: Watched): void;
  takeAlerts(alerts: Alerts): void;
  /** What is new since the last update; undefined for nothing. */
  flush(nowMs: number): Update | undefined;
  /** The fleet as the last update left it. */
  payload(nowMs: number): Payload;
  /** Other bicycles in the same page: those of a moment of the past. */
  payloadOf(bicycles: readonly Bicycle[], atMs: number): Payload;
  fields(uuid: string): Fields | undefined;
  /** The bicycles that are shown. */
  uuids(): ReadonlySet<string>;
}

/** Lines of what happened that a new tab is shown, and that one update may carry. */
const KEPT_EVENTS = 200;

export function openFeed({ title, tiles, offsetMinutes, pastFromMs, startMs, keep }: FeedOptions): Feed {
  let watched: Watched | undefined;
  /** Each bicycle as it was looked at last, whether it is among those asked for or not. */
  const seen = new Map<string, Bicycle>();
  /** What the tabs know. */
  const shown = new Map<string, Row>();
  let events: FeedEntry[] = [];
  let pending: FeedEntry[] = [];
  let link: Link = { state: 'connecting', sinceMs: 0, message: null, gaps: 0, total: null };
  let total = 0;
  let alerts: Alerts = { rows: [], byType: [], note: null };
  let last = { sequence: Math.floor(startMs), note: null as string | null, link, alerts };

  const add = (entry: FeedEntry) => {
    pending = [entry, ...pending.slice(0, KEPT_EVENTS - 1)];
  };
  const addChange = (entry: Entry, atMs: number) => {
    const kind = entry.type === 'bicycle' && entry.kind === 'caught-up' ? 'caught-up' : 'change';
    const uuid = entry.type === 'alert' || entry.type === 'other' ? undefined : entry.uuid;
    const bicycle = entry.type === 'gone' ? entry.bicycle : watched?.known.get(uuid);
    if (uuid !== undefined && bicycle !== undefined && keep(bicycle)) add({ kind, atMs, uuid, ...changeText(entry) });
  };
  const takeStream = (event: StreamEvent) => {
    if (event.type === 'gap') {
      link = { ...link, gaps: link.gaps + 1 };
      const text = streamLine(event, offsetMinutes, false) ?? event.message;
      add({ kind: 'gap', atMs: event.atMs, uuid: null, name: null, text });
    } else if (event.type === 'open') {
      link = { ...link, state: 'open', sinceMs: event.atMs, message: null };
    } else if (event.type === 'lost') {
      const sinceMs = link.state === 'lost' ? link.sinceMs : (event.lastLifeWallMs ?? event.atMs);
      link = { ...link, state: 'lost', sinceMs, message: event.error.message };
    }
  };
  /** What was read so far, and what there is no room for. */
  const extent = ({ known }: Watched) => {
    const isFull = known.store.size() >= KNOWN_LIMIT && total > KNOWN_LIMIT;
    const isReading = !known.isWhole && !isFull && known.store.size() < total;
    const [all, some] = [total, KNOWN_LIMIT].map((count) => count.toLocaleString('en'));
    const note = `Of ${all} bicycles only the ${some} that were updated last are followed.`;
    return { link: { ...link, total: isReading ? total : null }, note: isFull ? note : null };
  };
  /** The bicycles that are others than they were; what is merged or read anew is another object. */
  const compare = (watch: Watched) => {
    const { known } = watch;
    const rows: Row[] = [];
    const gone: string[] = [];
    const drop = (uuid: string) => shown.delete(uuid) && gone.push(uuid);
    for (const bicycle of watch.bicycles()) {
      const uuid = uuidOf(bicycle);
      if (seen.get(uuid) === bicycle) continue;
      seen.set(uuid, bicycle);
      if (!keep(bicycle)) drop(uuid);
      else {
        const row = rowOf(bicycle);
        if (JSON.stringify(row) !== JSON.stringify(shown.get(uuid))) rows.push(row);
        shown.set(uuid, row);
      }
    }
    // What left the list is gone; where there is no room for more, the least recently updated were evicted.
    for (const uuid of seen.size > known.store.size() ? seen.keys() : []) {
      if (known.get(uuid) !== undefined) continue;
      seen.delete(uuid);
      drop(uuid);
    }
    return { rows, gone };
  };

  return {
    take(effects, watch) {
      watched = watch;
      for (const effect of effects) {
        if (effect.type === 'show') addChange(effect.entry, effect.atMs);
        else if (effect.type === 'stream') takeStream(effect.event);
        else if (effect.type === 'counted') total = effect.total ?? total;
      }
    },
    takeAlerts(news) {
      if (JSON.stringify(news) !== JSON.stringify(alerts)) alerts = news;
    },
    flush(nowMs) {
      if (watched === undefined) return undefined;
      const news = { ...compare(watched), ...extent(watched), events: pending };
      const isSameHead = JSON.stringify([news.link, news.note]) === JSON.stringify([last.link, last.note]);
      const isNothing = news.rows.length + news.gone.length + pending.length === 0;
      if (isNothing && isSameHead && alerts === last.alerts) return undefined;
      const sequence = last.sequence + 1;
      const update = { ...news, sequence, atMs: nowMs, alerts: alerts === last.alerts ? null : alerts };
      events = [...pending, ...events].slice(0, KEPT_EVENTS);
      pending = [];
      last = { sequence, note: news.note, link: news.link, alerts };
      return update;
    },
    payload: (atMs) => ({ title, tiles, pastFromMs, atMs, rows: [...shown.values()], gone: [], ...last, events }),
    payloadOf(bicycles, atMs) {
      const nothing = { rows: [], byType: [], note: 'Alerts are those of now, and not shown for the past.' };
      return { ...STILL, title, tiles, atMs, note: null, rows: bicycles.map(rowOf), alerts: nothing };
    },
    fields(uuid) {
      const bicycle = shown.has(uuid) ? watched?.known.get(uuid) : undefined;
      return bicycle === undefined ? undefined : fieldsOf({ json: '', value: bicycle });
    },
    uuids: () => new Set(shown.keys()),
  };
}
