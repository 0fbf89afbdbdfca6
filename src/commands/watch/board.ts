// The board of `--live`: its state without the bicycles, and the actions of its keys. No I/O.

import type { Alert } from '../../api/alert.js';
import type { FleetError } from '../../errors.js';
import type { Key } from '../../terminal/keys.js';
import { type BoardView, SORTS, type StaleAlerts } from '../../views/board.js';
import type { BoardDialog } from '../../views/board-dialog.js';
import { type MapSeen, mapKey, START_OF_MAP } from '../../views/map/keys.js';
import type { ShownEntry } from '../../views/watch.js';
import { type BoardRequest, pressInDialog } from './board-actions.js';
import type { WatchEffect } from './state.js';

/** The newest alerts, or the reason why the list could not be read. */
export type AlertsReading = { readonly alerts: readonly Alert[] } | { readonly error: FleetError };

/**
 * The content of the last frame. A key that the user presses acts on this content, because the user
 * sees it.
 */
export interface BoardSeen {
  /** The UUIDs of the visible bicycles. `first` is the index of the first visible bicycle. */
  readonly uuids: readonly (string | undefined)[];
  readonly first: number;
  /**
   * `rows` is the number of visible rows. `matching` is the number of bicycles that match the
   * filter.
   */
  readonly rows: number;
  readonly matching: number;
  readonly map?: MapSeen | undefined;
  /** The dialog that the last frame showed. */
  readonly dialog?: BoardDialog | undefined;
}

/** The maximum number of changes in memory. This is more than the number of rows on any screen. */
const KEPT_ROWS = 200;
const FILTER_CHARACTERS = 100;
/** The keys that request work from the caller of the board. */
const REQUEST_KEYS: readonly Key[] = ['a', 'c', 'y'];

export class Board {
  view: BoardView;
  map = START_OF_MAP;
  /** The latest changes, newest first. */
  changes: readonly { entry: ShownEntry; atMs: number }[] = [];
  alerts: readonly Alert[] = [];
  /** Why the list of alerts cannot be read, if the last attempt failed. */
  staleAlerts: StaleAlerts | undefined;
  #alertsReadAtMs: number | undefined;
  isOver = false;
  /** The requests from key presses since the last call of `takeRequests`. */
  #requests: BoardRequest[] = [];

  constructor(home: BoardView['home'] = 'fleet') {
    this.view = {
      panel: { type: home },
      home,
      sort: 'charge',
      filter: '',
      isTyping: false,
      selected: 0,
      scroll: 0,
      marked: new Set(),
      dialog: undefined,
      message: undefined,
      isBusy: false,
    };
  }

  /** Returns the work that was requested since the last call. */
  takeRequests(): readonly BoardRequest[] {
    const requests = this.#requests;
    this.#requests = [];
    return requests;
  }

  /** Opens a dialog, or closes the current one. */
  show(dialog: BoardDialog | undefined) {
    this.#change({ dialog });
  }

  /** Shows a line in the footer until the next key. */
  say(message: string) {
    this.#change({ message });
  }

  /** Records that a change is running. `endAct` records its end, and unmarks the bicycles. */
  startAct() {
    this.#change({ isBusy: true });
  }

  endAct(uuids: readonly string[], message: string) {
    const marked = new Set([...this.view.marked].filter((uuid) => !uuids.includes(uuid)));
    this.#change({ isBusy: false, marked, message });
  }

  /** Scrolls until the selected row is visible. `rows` is the number of visible rows. */
  fit(rows: number) {
    const { selected, scroll } = this.view;
    const fitted = Math.max(0, selected - rows + 1, Math.min(scroll, selected));
    if (fitted !== scroll) this.#change({ scroll: fitted });
  }

  take(effect: WatchEffect) {
    if (effect.type !== 'show') return;
    const { entry, atMs } = effect;
    if (entry.type === 'alert') this.alerts = added(this.alerts, entry.alert);
    else this.changes = added(this.changes, { entry, atMs });
  }

  /**
   * Stores the alerts that were read, or the error. `monotonicMs` is the time at which they were
   * read.
   */
  takeAlerts(reading: AlertsReading, monotonicMs: number) {
    if ('alerts' in reading) {
      this.alerts = reading.alerts;
      this.#alertsReadAtMs = monotonicMs;
      this.staleAlerts = undefined;
    } else {
      this.staleAlerts = { readAtMs: this.#alertsReadAtMs, reason: reading.error.message };
    }
  }

  press(key: Key, seen: BoardSeen) {
    const { panel, home, isTyping, dialog, isBusy } = this.view;
    if (this.view.message !== undefined && !isBusy) this.#change({ message: undefined });
    if (dialog !== undefined) this.#pressInDialog(dialog, key, seen);
    else if (isTyping) this.#type(key);
    else if (key === 'q' && isBusy) this.say('a change is running; q works after its result');
    else if (key === 'q') this.isOver = true;
    else if (key === '?') this.#change({ panel: { type: panel.type === 'help' ? home : 'help' } });
    else if (key === 'm') {
      const other = home === 'map' ? 'fleet' : 'map';
      this.#change({ home: other, panel: { type: other } });
    } else if (panel.type === 'map') this.#pressOnMap(key, seen.map);
    else if (panel.type === 'fleet') this.#pressOnFleet(key, seen);
    else if (panel.type === 'card' && this.#requestFor(key, panel.uuid)) return;
    else if (key === 'escape' || key === 'enter') this.#change({ panel: { type: home } });
    else if (panel.type === 'card')
      this.#change({
        panel: { ...panel, scroll: Math.max(0, panel.scroll + stepOf(key, seen.rows)) },
      });
  }

  #change(changes: Partial<BoardView>) {
    this.view = { ...this.view, ...changes };
  }

  #pressInDialog(before: BoardDialog, key: Key, seen: BoardSeen) {
    const { dialog, request } = pressInDialog(before, key, seen.dialog);
    this.#change({ dialog });
    if (request !== undefined) this.#requests.push(request);
  }

  /**
   * If the key has an action, requests it for the marked bicycles or for one bicycle. Returns
   * whether the key has an action.
   */
  #requestFor(key: Key, uuid: string | undefined): boolean {
    const { marked, panel, isBusy } = this.view;
    if (!REQUEST_KEYS.includes(key)) return false;
    if (key === 'y' && panel.type === 'fleet') {
      this.#requests.push({ type: 'show-list' });
      return true;
    }
    const isOnList = panel.type === 'fleet';
    if (key === 'a') {
      const chosen = uuid === undefined ? [] : [uuid];
      const uuids = isOnList && marked.size > 0 ? [...marked] : chosen;
      if (isBusy) this.say('a change is running; wait for its result');
      else if (uuids.length === 0) this.say('there is no bicycle under the cursor');
      else this.#requests.push({ type: 'offer', uuids });
      return true;
    }
    if (uuid === undefined) return true;
    this.#requests.push(key === 'c' ? { type: 'copy', uuid } : { type: 'show-get', uuid });
    return true;
  }

  #toggleMark(uuid: string | undefined) {
    if (uuid === undefined) return;
    const marked = new Set(this.view.marked);
    if (!marked.delete(uuid)) marked.add(uuid);
    this.#change({ marked });
  }

  #open(uuid: string) {
    this.#change({ panel: { type: 'card', uuid, scroll: 0 } });
  }

  #pressOnMap(key: Key, seen: MapSeen | undefined) {
    if (seen === undefined) return;
    const { state, open } = mapKey(this.map, key, seen);
    this.map = state;
    if (open !== undefined) this.#open(open);
  }

  #pressOnFleet(key: Key, { uuids, first, rows, matching }: BoardSeen) {
    const { sort, selected, scroll } = this.view;
    const top = { selected: 0, scroll: 0 };
    if (key === '/') return this.#change({ isTyping: true, filter: '', ...top });
    if (key === 'escape' && this.view.marked.size > 0) return this.#change({ marked: new Set() });
    if (key === 'escape') return this.#change({ filter: '', ...top });
    if (key === 's')
      return this.#change({
        sort: SORTS[(SORTS.indexOf(sort) + 1) % SORTS.length] ?? 'charge',
        ...top,
      });
    const uuid = uuids[selected - first];
    if (key === ' ') return this.#toggleMark(uuid);
    if (this.#requestFor(key, uuid)) return;
    if (key !== 'enter' && key !== 'e') {
      const next = Math.max(0, Math.min(matching - 1, selected + stepOf(key, rows)));
      this.#change({
        selected: next,
        scroll: Math.max(next - rows + 1, 0, Math.min(scroll, next)),
      });
    } else if (uuid !== undefined) this.#open(uuid);
  }

  #type(key: Key) {
    const { filter } = this.view;
    if (key === 'enter') this.#change({ isTyping: false });
    else if (key === 'escape') this.#change({ isTyping: false, filter: '' });
    else if (key === 'backspace') this.#change({ filter: [...filter].slice(0, -1).join('') });
    // A key that is a single character inserts this character into the filter. Other keys, such as
    // arrow keys, have longer names and insert nothing.
    else if ([...key].length === 1 && filter.length < FILTER_CHARACTERS)
      this.#change({ filter: filter + key, selected: 0, scroll: 0 });
  }
}

function added<Row>(rows: readonly Row[], row: Row): Row[] {
  return [row, ...rows.slice(0, KEPT_ROWS - 1)];
}

function stepOf(key: Key, rows: number): number {
  const page = Math.max(1, rows - 1);
  const steps: { readonly [name in Key]?: number } = {
    up: -1,
    down: 1,
    'page-up': -page,
    'page-down': page,
  };
  return steps[key] ?? 0;
}
