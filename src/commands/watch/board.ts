// The state of the board of `--live` and what its keys do. No I/O.

import type { Alert } from '../../api/alert.js';
import type { Moment } from '../../clock.js';
import type { Gap, StreamEvent } from '../../http/stream/events.js';
import type { Key } from '../../terminal/keys.js';
import { readTime } from '../../terminal/time.js';
import { type BoardView, SORTS } from '../../views/board.js';
import type { BoardConnection } from '../../views/board-keys.js';
import type { ShownEntry } from '../../views/change.js';
import { type MapSeen, type MapState, mapKey, neighbourOf, START_OF_MAP } from './map-view.js';
import type { WatchEffect } from './state.js';

export interface BoardState {
  readonly view: BoardView;
  readonly map: MapState;
  readonly connections: ReadonlyMap<string, BoardConnection>;
  /** The newest first. */
  readonly changes: readonly { entry: ShownEntry; atMs: number }[];
  readonly alerts: readonly { alert: Alert; atMs: number }[];
  readonly gaps: readonly Gap[];
  readonly total: number | undefined;
  readonly isOver: boolean;
}

export type BoardEvent =
  | { readonly type: 'effect'; readonly effect: WatchEffect }
  | { readonly type: 'alerts'; readonly alerts: readonly Alert[] }
  /** `uuids` are those of the bicycles that can be seen, from row `first` on, `rows` how many have room, `matching` how many there are. */
  | {
      readonly type: 'key';
      readonly key: Key;
      readonly uuids: readonly (string | undefined)[];
      readonly first: number;
      readonly rows: number;
      readonly matching: number;
      /** The map as it was drawn last. */
      readonly map?: MapSeen | undefined;
    };

/** How much is kept of what scrolls: more rows than any screen has. */
const KEPT_ROWS = 200;
const FILTER_CHARACTERS = 100;

export function startBoard(topics: readonly string[], now: Moment, home: BoardView['home'] = 'fleet'): BoardState {
  const sinceMs = now.monotonicMs;
  return {
    map: START_OF_MAP,
    view: { panel: { type: home }, home, sort: 'charge', filter: '', isTyping: false, selected: 0, scroll: 0 },
    connections: new Map(topics.map((topic) => [topic, { state: 'connecting', sinceMs }])),
    changes: [],
    alerts: [],
    gaps: [],
    total: undefined,
    isOver: false,
  };
}

export function boardState(state: BoardState, event: BoardEvent): BoardState {
  if (event.type === 'effect') return takeEffect(state, event.effect);
  if (event.type === 'alerts') return takeAlerts(state, event.alerts);
  return takeKey(state, event);
}

function added<Row>(rows: readonly Row[], row: Row): Row[] {
  return [row, ...rows.slice(0, KEPT_ROWS - 1)];
}

function takeEffect(state: BoardState, effect: WatchEffect): BoardState {
  switch (effect.type) {
    case 'show': {
      const { entry, atMs } = effect;
      if (entry.type !== 'alert') return { ...state, changes: added(state.changes, { entry, atMs }) };
      return { ...state, alerts: added(state.alerts, { alert: entry.alert, atMs }) };
    }
    case 'stream':
      return takeStream(state, effect.event);
    case 'counted':
      return { ...state, total: effect.total ?? state.total };
    default:
      return state;
  }
}

function takeStream(state: BoardState, event: StreamEvent): BoardState {
  const { topic, monotonicMs } = event;
  if (event.type === 'gap') return { ...state, gaps: added(state.gaps, event) };
  if (event.type !== 'open' && event.type !== 'lost') return state;
  const after: BoardConnection =
    event.type === 'open'
      ? { state: 'open', sinceMs: monotonicMs }
      : // What counts is since when nothing comes, not when the last try failed.
        {
          state: 'lost',
          sinceMs: monotonicMs - event.downMs,
          message: event.error.message,
          retryAtMs: monotonicMs + event.retryInMs,
        };
  return { ...state, connections: new Map(state.connections).set(topic, after) };
}

/** Pushed alerts stay above the list that does not have them yet. */
function takeAlerts(state: BoardState, listed: readonly Alert[]): BoardState {
  const uuids = new Set(listed.map(({ uuid }) => uuid));
  const newest = readTime(listed[0]?.created) ?? 0;
  const pushed = state.alerts.filter(({ alert, atMs }) => !uuids.has(alert.uuid) && atMs > newest);
  const rows = listed.map((alert) => ({ alert, atMs: readTime(alert.created) ?? newest }));
  return { ...state, alerts: [...pushed, ...rows].slice(0, KEPT_ROWS) };
}

function takeKey(state: BoardState, event: BoardEvent & { type: 'key' }): BoardState {
  const { view } = state;
  const { key } = event;
  const change = (changes: Partial<BoardView>): BoardState => ({ ...state, view: { ...view, ...changes } });
  if (view.isTyping) return change(typed(view, key));
  if (key === 'q') return { ...state, isOver: true };
  if (key === '?') return change({ panel: { type: view.panel.type === 'help' ? view.home : 'help' } });
  if (key === 'm') {
    const home = view.home === 'map' ? 'fleet' : 'map';
    return change({ home, panel: { type: home } });
  }
  if (view.panel.type === 'map') return takeMapKey(state, event);
  if (view.panel.type !== 'fleet') {
    if (key === 'escape' || key === 'enter') return change({ panel: { type: view.home } });
    if (view.panel.type !== 'card') return state;
    if (event.map !== undefined && view.home === 'map' && (key === 'tab' || key === 'back-tab')) {
      const uuid = neighbourOf(view.panel.uuid, event.map, key === 'tab' ? 1 : -1);
      return { ...change({ panel: { type: 'card', uuid, scroll: 0 } }), map: { ...state.map, chosen: uuid } };
    }
    return change({ panel: { ...view.panel, scroll: Math.max(0, view.panel.scroll + stepOf(key, event.rows)) } });
  }
  if (key === '/') return change({ isTyping: true, filter: '', selected: 0, scroll: 0 });
  if (key === 'escape') return change({ filter: '', selected: 0, scroll: 0 });
  if (key === 's') {
    return change({ sort: SORTS[(SORTS.indexOf(view.sort) + 1) % SORTS.length] ?? 'charge', selected: 0, scroll: 0 });
  }
  if (key === 'enter') {
    const uuid = event.uuids[view.selected - event.first];
    return uuid === undefined ? state : change({ panel: { type: 'card', uuid, scroll: 0 } });
  }
  const selected = Math.max(0, Math.min(event.matching - 1, view.selected + stepOf(key, event.rows)));
  const lowest = Math.max(0, selected - event.rows + 1);
  return change({ selected, scroll: Math.max(lowest, Math.min(view.scroll, selected)) });
}

function takeMapKey(state: BoardState, { key, map: seen }: BoardEvent & { type: 'key' }): BoardState {
  if (seen === undefined) return state;
  const { state: map, open } = mapKey(state.map, key, seen);
  if (open === undefined) return { ...state, map };
  return { ...state, map, view: { ...state.view, panel: { type: 'card', uuid: open, scroll: 0 } } };
}

function stepOf(key: Key, rows: number): number {
  const page = Math.max(1, rows - 1);
  const steps: { readonly [name in Key]?: number } = { up: -1, down: 1, 'page-up': -page, 'page-down': page };
  return steps[key] ?? 0;
}

function typed({ filter }: BoardView, key: Key): Partial<BoardView> {
  if (key === 'enter') return { isTyping: false };
  if (key === 'escape') return { isTyping: false, filter: '' };
  if (key === 'backspace') return { filter: [...filter].slice(0, -1).join('') };
  // A key with a name of its own writes nothing.
  if ([...key].length > 1 || filter.length >= FILTER_CHARACTERS) return {};
  return { filter: filter + key, selected: 0, scroll: 0 };
}
