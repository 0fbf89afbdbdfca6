// The full-screen board of `fleet watch --live`: draws the board's state ten times a second at most, and hands it the keys.

import { ALERT, type Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { firstPage } from '../../http/first-page.js';
import { type Clock, every, momentOf, openTimer } from '../../system/clock.js';
import { canvasLines } from '../../terminal/canvas.js';
import { widthOf } from '../../terminal/cells.js';
import { loadPaint, type Paint } from '../../terminal/colour.js';
import { countNoun } from '../../terminal/formats/renderer.js';
import type { Key } from '../../terminal/keys.js';
import { openScreen } from '../../terminal/screen.js';
import { textOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import { type BoardInput, bicycleRows, boardLines, pickRows } from '../../views/board.js';
import { connectionText, keyHints } from '../../views/board-keys.js';
import { type ShownEntry, showClock } from '../../views/change.js';
import type { WatchEnd } from '../../views/stream.js';
import { openLiveMap } from '../map/live-map.js';
import type { Session } from '../shared/follow/loop.js';
import { Board, type BoardSeen } from './board.js';
import { readFilter } from './filter.js';
import type { WatchPlan } from './plan.js';
import type { Watch, WatchEffect, WatchEvent } from './state.js';

/** What draws a watch instead of printing it. */
export interface Display {
  take(effects: readonly WatchEffect[], state: Watch): void;
}

export interface LiveOptions {
  context: Context;
  plan: WatchPlan;
  /** What is followed. */
  title: string;
  client: Client;
  offsetMinutes: number;
  /** Aborted when the watch is over. */
  over: AbortSignal;
  stop(end: WatchEnd, error?: FleetError): void;
  /** What was opened is closed so at the end, also where what is opened next fails. */
  atEnd: Session<WatchEvent>['atEnd'];
}

/** Ten frames a second at most: more cannot be read, and a slow line would choke on them. */
const FRAME_MS = 100;
/** The map follows its keys, and writes no more than what changed. */
const MAP_FRAME_MS = 34;
/** Drawing takes at most a tenth of the time, however large the fleet is. */
const FRAME_COST_FACTOR = 10;
/** Ages on the board go on without messages. */
const IDLE_FRAME_MS = 1_000;
/** How often the board reads the newest alerts: the interface shows no topic that pushes them (section 6.1). */
const ALERTS_PAUSE_MS = 30_000;
const RATE_MS = 10_000;

/** Takes over the terminal, and leaves it at the end as it was found. */
export async function openLive(options: LiveOptions): Promise<Display> {
  return new Live(options, await loadPaint(options.context.io.stdout.colorLevel));
}

class Live implements Display {
  readonly #options: LiveOptions;
  readonly #paint: Paint;
  /** How many messages had come at each of the last frames. */
  #counted: readonly { readonly atMs: number; readonly messages: number }[];
  readonly #screen: ReturnType<typeof openScreen>;
  readonly #frames: ReturnType<typeof openFrames>;
  readonly #map = openLiveMap();
  readonly #board: Board;
  #watched: Watch | undefined;
  /** What the last frame showed: keys are about that. */
  #seen: Omit<BoardSeen, 'rows'> = { uuids: [], first: 0, matching: 0 };
  #isWriting = false;

  constructor(options: LiveOptions, paint: Paint) {
    const { context, plan } = options;
    const { clock, io } = context;
    this.#options = options;
    this.#paint = paint;
    this.#counted = [{ atMs: clock.monotonicMs(), messages: 0 }];
    this.#board = new Board(plan.map === undefined ? 'fleet' : 'map');
    this.#frames = openFrames(clock, () => this.#draw());
    this.#screen = openScreen({
      stdout: io.streams.stdout,
      stdin: io.stdin,
      onChange: () => this.#frames.want(0),
      onKey: (key) => this.#press(key),
    });
    options.atEnd(() => {
      this.#frames.close();
      this.#screen.close();
    });
    pollAlerts(options, (alerts) => {
      this.#board.alerts = alerts;
      this.#frames.want(0);
    });
  }

  take(effects: readonly WatchEffect[], state: Watch) {
    this.#watched = state;
    for (const effect of effects) this.#board.take(effect);
    this.#frames.want(0);
  }

  #press(key: Key) {
    const { plan, stop } = this.#options;
    this.#board.press(key, { ...this.#seen, rows: bicycleRows(this.#size().height) });
    // Leaving a board is what was asked for; what was waited for did not come.
    const isEarly = plan.until !== undefined;
    if (this.#board.isOver)
      stop('quit', isEarly ? new FleetError('interrupted', 'quit before --until was met') : undefined);
    this.#frames.want(0, this.#board.view.home === 'map' ? MAP_FRAME_MS : undefined);
  }

  #size() {
    const { io } = this.#options.context;
    return { width: io.streams.stdout.columns ?? io.stdout.width() ?? 80, height: io.stdout.height() };
  }

  /** Returns how far apart such frames are at least. */
  #draw(): number {
    const isMap = this.#board.view.panel.type === 'map';
    if (this.#watched !== undefined && !this.#isWriting) {
      this.#isWriting = true;
      const frame = isMap ? this.#mapFrame(this.#watched) : this.#boardFrame(this.#watched);
      // A terminal that is held back by Ctrl-S gets the next frame when it takes this one.
      void this.#options.context.io.stdout.write(frame).then(
        () => {
          this.#isWriting = false;
        },
        () => this.#options.stop('failed', new FleetError('output', 'the terminal has gone')),
      );
    }
    return isMap ? MAP_FRAME_MS : FRAME_MS;
  }

  #boardFrame(watched: Watch): string {
    const { width, height } = this.#size();
    const { context, offsetMinutes, title, plan } = this.#options;
    const { view, changes, alerts } = this.#board;
    const { known } = watched;
    const { wallMs: nowMs, monotonicMs } = momentOf(context.clock);
    const counts = new Map<string, number>();
    for (const { state } of watched.store.bicycles()) {
      const name = (textOf(state) ?? 'unknown').slice(0, 100);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const filter = readFilter(view.filter);
    const keep = (bicycle: Bicycle) => filter.keep(bicycle, nowMs);
    const picked = pickRows(watched.store.bicycles(), { sort: view.sort, keep }, view.scroll, bicycleRows(height));
    const { messages, gapCount, blindMs } = watched.counts;
    const total = plan.bicycles === undefined ? watched.total : plan.bicycles.size;
    const card = view.panel.type === 'card' ? known.get(view.panel.uuid) : undefined;
    const input: BoardInput = {
      ...{ view, title, nowMs, monotonicMs, offsetMinutes, alerts },
      connections: watched.connections.topics,
      traffic: {
        ...{ messages, gapCount, blindMs },
        perSecond: this.#rate(messages, monotonicMs),
        lastMessageMs: watched.lastMessageMs,
      },
      fleet: {
        ...picked,
        filterProblem: filter.findProblem(watched.store.bicycles()),
        counts,
        total,
        card,
        known: known.store.size(),
        isWhole: isWhole(watched),
      },
      changes: view.filter === '' ? changes : changes.filter(({ entry }) => isWanted(entry, keep)),
    };
    const uuids = picked.rows.map(({ uuid }) => textOf(uuid)?.toLowerCase());
    this.#seen = { ...this.#seen, uuids, first: view.scroll, matching: picked.matching };
    return this.#screen.frame(boardLines(input, { width, height, paint: this.#paint }));
  }

  /** Messages a second, of the last ten. */
  #rate(messages: number, atMs: number): number {
    const recent = this.#counted.filter((frame) => frame.atMs >= atMs - RATE_MS);
    this.#counted = [...recent, { atMs, messages }];
    const [first = { atMs, messages }] = this.#counted;
    return (messages - first.messages) / Math.max(1, (atMs - first.atMs) / 1000);
  }

  #mapFrame(watched: Watch): string {
    const { context, plan, offsetMinutes, title } = this.#options;
    const { stdout } = context.io;
    const now = momentOf(context.clock);
    const look = { ...this.#size(), hasColor: stdout.colorLevel > 0, hasUnicode: stdout.hasUnicode };
    const filter = readFilter(this.#board.view.filter);
    const bicycles = [...watched.store.bicycles()].filter(
      (bicycle) => (plan.map?.keep(bicycle) ?? true) && filter.keep(bicycle, now.wallMs),
    );
    const known = isWhole(watched) ? '' : ` so far, ${watched.known.store.size()} of ${watched.total ?? '?'} read`;
    const connection = connectionText(watched.connections.topics, now.monotonicMs);
    const { canvas, seen } = this.#map.frame({
      state: this.#board.map,
      bicycles,
      isWhole: isWhole(watched),
      title: `${countNoun(bicycles.length, BICYCLES.noun)}${known}, ${plan.map?.title ?? title}`,
      moment: showClock(now.wallMs, offsetMinutes),
      footer: [
        { text: `${connection.text}  `, ink: connection.color },
        { text: keyHints(MAP_HINTS, look.width - widthOf(connection.text) - 2), ink: 'dim' },
      ],
      look,
    });
    this.#seen = { ...this.#seen, map: seen };
    return this.#screen.frame(canvasLines(canvas, this.#paint));
  }
}

/** Draws when it is wanted, and as its age on the screen asks for; `draw` returns how far apart its frames are at least. */
function openFrames(clock: Clock, draw: () => number) {
  let lastMs = Number.NEGATIVE_INFINITY;
  let apartMs = FRAME_MS;
  const timer = openTimer(clock, () => {
    lastMs = clock.monotonicMs();
    const leastMs = draw();
    apartMs = Math.max(leastMs, FRAME_COST_FACTOR * (clock.monotonicMs() - lastMs));
    want(IDLE_FRAME_MS);
  });
  const want = (inMs: number, leastApartMs = apartMs) =>
    timer.want(Math.max(inMs, lastMs + leastApartMs - clock.monotonicMs()));
  return { want, close: timer.cancel };
}

/** Whether every bicycle that is followed is known. */
function isWhole({ plan, known }: Watch): boolean {
  return plan.bicycles === undefined ? known.isWhole : known.store.size() >= plan.bicycles.size;
}

const MAP_HINTS = ['q quit', '? help', 'm board', '+ - 0 zoom', 'arrows move', 'Enter open', 'Tab next'];

function isWanted(entry: ShownEntry, keep: (bicycle: Bicycle) => boolean): boolean {
  if (entry.type === 'bicycle') return keep(entry.after);
  return entry.type === 'leaving' && keep(entry.bicycle ?? { uuid: entry.uuid ?? null });
}

/** Reads one page of the newest alerts again and again. */
function pollAlerts({ client, plan, context, over }: LiveOptions, onAlerts: (alerts: readonly Alert[]) => void): void {
  const [organization] = plan.organizations;
  if (organization === undefined) return;
  const query = [['ordering', '-created'] as const, ['organization', organization] as const];
  const request = { path: ALERT.listPath, query, subject: 'the list of alerts' };
  const poll = async () => {
    try {
      const { items } = await firstPage<Alert>(client, request);
      if (!over.aborted) onAlerts(items.map(({ value }) => value));
    } catch {
      // The board shows the connection's troubles; alerts that are a little old are no other trouble.
    }
  };
  void poll().then(() => every(context.clock, ALERTS_PAUSE_MS, over, poll));
}
