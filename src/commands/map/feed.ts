// What the tabs of a served page are told: the fleet as a whole, and after it what changed, in numbered updates. Without I/O.

import type { Bicycle } from '../../api/bicycle.js';
import type { StreamEvent } from '../../http/stream/events.js';
import type { Knowledge } from '../../mirror/knowledge.js';
import type { Alerts, FeedEntry, Fields, Link, Payload, Tiles, Update } from '../../page/payload.js';
import { changeText, type Entry } from '../../views/change.js';
import { valueIn } from '../../views/counts.js';
import { fieldsOf, packFleet, rowOf, uuidOf } from '../../views/map/pack.js';
import { streamLine } from '../../views/stream.js';
import { entryOf, type WatchEffect } from '../watch/state.js';

export interface FeedOptions {
  title: string;
  tiles: Tiles | null;
  offsetMinutes: number;
  /** Since when the past can be shown. */
  pastFromMs: number | null;
  /** Whether a bicycle is among those asked for. */
  keep(bicycle: Bicycle): boolean;
}

export interface Feed {
  /** Notes what a step of the watch brought. */
  take(effects: readonly WatchEffect[], knowledge: Knowledge, nowMs: number): void;
  takeAlerts(alerts: Alerts): void;
  /** What happened since the last one; undefined for nothing. */
  flush(nowMs: number): Flushed | undefined;
  /** Bicycles that have been silent for longer than their group says by now come with the next update. */
  age(nowMs: number): void;
  payload(nowMs: number): Payload;
  /** Other bicycles in the same page: those of a moment of the past. */
  payloadOf(bicycles: readonly Bicycle[], atMs: number): Payload;
  fields(uuid: string): Fields | undefined;
  /** The bicycles that are shown. */
  uuids(): ReadonlySet<string>;
}

/** `undefined`: so much is new that the tabs read everything again. */
export interface Flushed {
  readonly sequence: number;
  readonly update: Update | undefined;
}

/** An update with more would be slower than reading everything anew. */
const MOST_ROWS = 2_000;
/** Lines of what happened that a new tab is shown, and that one update may carry. */
const KEPT_EVENTS = 200;

export function openFeed({ title, tiles, offsetMinutes, pastFromMs, keep }: FeedOptions): Feed {
  let knowledge: Knowledge | undefined;
  let sequence = 0;
  /** What the tabs know: the silence of each bicycle, by its uuid. */
  const shown = new Map<string, string>();
  /** Every bicycle that was looked at, whether it is among those asked for or not. */
  const met = new Set<string>();
  let dirty = new Set<string>();
  let silences = new Map<string, string>();
  let events: FeedEntry[] = [];
  let pending: FeedEntry[] = [];
  let link: Link = { state: 'connecting', sinceMs: 0, message: null };
  let gaps = 0;
  let total: number | undefined;
  let alerts: Alerts = { rows: [], byType: [], note: null };
  const changed = new Set<'link' | 'gaps' | 'total' | 'alerts'>();

  const reading = () =>
    knowledge === undefined || knowledge.isWhole() || total === undefined || knowledge.size() >= total ? null : total;
  const note = (uuid: string) => {
    met.add(uuid);
    dirty.add(uuid);
  };
  const add = (entry: FeedEntry) => {
    events = [entry, ...events.slice(0, KEPT_EVENTS - 1)];
    pending = [entry, ...pending.slice(0, KEPT_EVENTS - 1)];
  };
  const addChange = (kind: 'change' | 'caught-up', entry: Entry, atMs: number) => {
    const uuid = entry.type === 'bicycle' || entry.type === 'leaving' ? entry.uuid : undefined;
    const bicycle = knowledge?.get(uuid);
    if (uuid !== undefined) note(uuid);
    if (bicycle === undefined || !keep(bicycle)) return;
    const { name, text } = changeText(entry);
    add({ kind, atMs, uuid: uuid ?? null, name, text });
  };
  const takeStream = (event: StreamEvent) => {
    if (event.type === 'gap') {
      gaps++;
      changed.add('gaps');
      const text = streamLine(event, offsetMinutes, false) ?? event.message;
      add({ kind: 'gap', atMs: event.atMs, uuid: null, name: null, text });
    } else if (event.type === 'open') {
      link = { state: 'open', sinceMs: event.atMs, message: null };
      changed.add('link');
    } else if (event.type === 'lost') {
      const sinceMs = link.state === 'lost' ? link.sinceMs : (event.lastLifeWallMs ?? event.atMs);
      link = { state: 'lost', sinceMs, message: event.error.message };
      changed.add('link');
    }
  };

  return {
    take(effects, known, nowMs) {
      knowledge = known;
      for (const effect of effects) {
        if (effect.type === 'show') addChange('change', effect.entry, effect.atMs);
        else if (effect.type === 'caught-up') addChange('caught-up', entryOf(effect.change), nowMs);
        else if (effect.type === 'stream') takeStream(effect.event);
        else if (effect.type === 'counted') {
          total = effect.total ?? total;
          changed.add('total');
        }
      }
      // What the list of the start brought was shown to nobody.
      if (known.size() > met.size) changed.add('total');
    },
    takeAlerts(news) {
      if (JSON.stringify(news) === JSON.stringify(alerts)) return;
      alerts = news;
      changed.add('alerts');
    },
    age(nowMs) {
      for (const bicycle of knowledge?.bicycles() ?? []) {
        const uuid = uuidOf(bicycle);
        const silence = valueIn('silence', bicycle, nowMs);
        if (shown.has(uuid) && shown.get(uuid) !== silence) silences.set(uuid, silence);
      }
    },
    flush(nowMs) {
      if (knowledge === undefined) return undefined;
      if (changed.has('total')) {
        for (const bicycle of knowledge.bicycles()) {
          const uuid = uuidOf(bicycle);
          if (!met.has(uuid)) note(uuid);
        }
      }
      if (dirty.size + silences.size + pending.length + changed.size === 0) return undefined;
      sequence++;
      const isMuch = dirty.size + silences.size > MOST_ROWS;
      const rows = [];
      const gone: string[] = [];
      for (const uuid of dirty) {
        const bicycle = knowledge.get(uuid);
        if (bicycle !== undefined && keep(bicycle)) {
          const row = rowOf(bicycle, nowMs);
          shown.set(uuid, row.silence);
          if (!isMuch) rows.push(row);
        } else if (shown.delete(uuid)) gone.push(uuid);
      }
      for (const [uuid, silence] of silences) shown.set(uuid, silence);
      const update: Update | undefined = isMuch
        ? undefined
        : {
            sequence,
            atMs: nowMs,
            ...(rows.length === 0 ? {} : { rows }),
            ...(gone.length === 0 ? {} : { gone }),
            ...(silences.size === 0 ? {} : { silences: [...silences] }),
            ...(pending.length === 0 ? {} : { events: pending }),
            ...(changed.has('link') ? { link } : {}),
            ...(changed.has('gaps') ? { gaps } : {}),
            ...(changed.has('total') ? { total: reading() } : {}),
            ...(changed.has('alerts') ? { alerts } : {}),
          };
      dirty = new Set();
      silences = new Map();
      pending = [];
      changed.clear();
      return { sequence, update };
    },
    payload(nowMs) {
      const bicycles = [...(knowledge?.bicycles() ?? [])].filter((bicycle) => shown.has(uuidOf(bicycle)));
      const live = { sequence, link, events, total: reading(), gaps, pastFromMs };
      return { title, atMs: nowMs, note: null, ...packFleet(bicycles, nowMs), alerts, tiles, live };
    },
    payloadOf(bicycles, atMs) {
      const nothing = { rows: [], byType: [], note: 'Alerts are those of now, and not shown for the past.' };
      return { title, atMs, note: null, ...packFleet(bicycles, atMs), alerts: nothing, tiles, live: null };
    },
    fields(uuid) {
      const bicycle = shown.has(uuid) ? knowledge?.get(uuid) : undefined;
      return bicycle === undefined ? undefined : fieldsOf({ json: '', value: bicycle });
    },
    uuids: () => new Set(shown.keys()),
  };
}
