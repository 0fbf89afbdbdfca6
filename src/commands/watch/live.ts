// The full-screen board of `fleet watch --live`: draws the board's state ten times a second at most, and hands it the keys.

import { ALERT, type Alert } from '../../api/alert.js';
import type { Bicycle } from '../../api/bicycle.js';
import { every, type Moment, momentOf, openTimer } from '../../clock.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { firstPage } from '../../http/first-page.js';
import { widthOf } from '../../terminal/cells.js';
import { loadPaint } from '../../terminal/colour.js';
import { countNoun } from '../../terminal/formats/renderer.js';
import type { Key } from '../../terminal/keys.js';
import { openScreen } from '../../terminal/screen.js';
import { textOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import { type BoardInput, bicycleRows, boardLines, connectionText, keyHints, pickRows } from '../../views/board.js';
import { type Entry, showClock } from '../../views/change.js';
import type { Look } from '../../views/map/legend.js';
import type { WatchEnd } from '../../views/stream.js';
import type { Session } from '../follow/loop.js';
import { type BoardEvent, type BoardState, boardState, startBoard } from './board.js';
import { readFilter } from './filter.js';
import { type LiveMapInput, openLiveMap } from './live-map.js';
import type { MapSeen } from './map-view.js';
import type { Plan } from './plan.js';
import type { Watch, WatchEffect, WatchEvent } from './state.js';

/** What draws a watch instead of printing it. */
export interface Display {
  take(effects: readonly WatchEffect[], state: Watch): void;
}

export interface LiveOptions {
  context: Context;
  plan: Plan;
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
const KEPT_SECONDS = 60;

/** Takes over the terminal, and leaves it at the end as it was found. */
export async function openLive(options: LiveOptions): Promise<Display> {
  const { context, plan, client, over, stop } = options;
  const { clock, io } = context;
  const paint = await loadPaint(io.stdout.colorLevel);
  const moment = () => momentOf(clock);
  const openedAt = moment();
  const rate = openRate(openedAt.monotonicMs);
  let board = startBoard(plan.topics, openedAt, plan.map === undefined ? 'fleet' : 'map');
  const map = openLiveMap();
  let seenMap: MapSeen | undefined;
  let watched: Watch | undefined;
  /** How many messages the rate has counted. */
  let counted = 0;
  /** What the last frame showed: keys are about that. */
  let seen: Pick<BoardEvent & { type: 'key' }, 'uuids' | 'first' | 'matching'> = { uuids: [], first: 0, matching: 0 };
  let isWriting = false;
  let frameMs = FRAME_MS;

  let lastFrameMs = Number.NEGATIVE_INFINITY;
  const timer = openTimer(clock, draw);
  const wantFrame = (inMs: number, apartMs = frameMs) =>
    timer.want(Math.max(inMs, lastFrameMs + apartMs - clock.monotonicMs()));
  const size = () => ({ width: io.streams.stdout.columns ?? io.stdout.width() ?? 80, height: io.stdout.height() });
  const take = (event: BoardEvent) => {
    board = boardState(board, event);
    if (board.isOver) stop('quit', quitError(plan));
    wantFrame(0, event.type === 'key' && board.view.home === 'map' ? MAP_FRAME_MS : undefined);
  };
  const boardFrame = (state: Watch) => {
    const { width, height } = size();
    const input = inputOf(board, state, moment(), {
      rows: bicycleRows(height),
      rate,
      openedMs: openedAt.monotonicMs,
      offsetMinutes: options.offsetMinutes,
      title: options.title,
    });
    const uuids = input.rows.map(({ uuid }) => textOf(uuid)?.toLowerCase());
    seen = { uuids, first: board.view.scroll, matching: input.matching };
    return screen.frame(boardLines(input, { width, height, paint }));
  };
  const mapFrame = (state: Watch) => {
    const look = { ...size(), hasColor: io.stdout.colorLevel > 0, hasUnicode: io.stdout.hasUnicode };
    const drawn = map.frame(
      mapInputOf(board, state, moment(), { ...options, title: plan.map?.title ?? options.title, look }),
    );
    seenMap = drawn.seen;
    return screen.draw(drawn.canvas, paint);
  };

  function draw(): void {
    const startMs = clock.monotonicMs();
    lastFrameMs = startMs;
    const isMap = board.view.panel.type === 'map';
    if (watched !== undefined && !isWriting) {
      isWriting = true;
      // A terminal that is held back by Ctrl-S gets the next frame when it takes this one.
      void io.stdout.write(isMap ? mapFrame(watched) : boardFrame(watched)).then(
        () => {
          isWriting = false;
        },
        () => stop('failed', new FleetError('output', 'the terminal has gone')),
      );
    }
    frameMs = Math.max(isMap ? MAP_FRAME_MS : FRAME_MS, FRAME_COST_FACTOR * (clock.monotonicMs() - startMs));
    wantFrame(IDLE_FRAME_MS);
  }

  const screen = openScreen({
    stdout: io.streams.stdout,
    stdin: io.stdin,
    onChange: () => wantFrame(0),
    onKey: (key: Key) => take({ type: 'key', key, rows: bicycleRows(size().height), ...seen, map: seenMap }),
  });
  options.atEnd(() => {
    timer.cancel();
    screen.close();
  });
  pollAlerts(client, plan, context, over, (alerts) => take({ type: 'alerts', alerts }));
  return {
    take(effects, state) {
      rate.add(state.counts.messages - counted, clock.monotonicMs());
      counted = state.counts.messages;
      watched = state;
      for (const effect of effects) board = boardState(board, { type: 'effect', effect });
      wantFrame(0);
    },
  };
}

/** Leaving a board is what was asked for; what was waited for did not come. */
function quitError({ until }: Plan): FleetError | undefined {
  return until === undefined ? undefined : new FleetError('interrupted', 'quit before --until was met');
}

type Rate = ReturnType<typeof openRate>;

/** Counts messages in each of the last seconds. */
function openRate(startMs: number) {
  const counts = new Map<number, number>();
  const secondOf = (monotonicMs: number) => Math.floor((monotonicMs - startMs) / 1000);
  return {
    add(messages: number, monotonicMs: number) {
      const now = secondOf(monotonicMs);
      counts.set(now, (counts.get(now) ?? 0) + messages);
      for (const second of counts.keys()) if (second <= now - KEPT_SECONDS) counts.delete(second);
    },
    /** The present second last. */
    perSecond(monotonicMs: number): readonly number[] {
      const first = secondOf(monotonicMs) - KEPT_SECONDS + 1;
      return Array.from({ length: KEPT_SECONDS }, (_, index) => counts.get(first + index) ?? 0);
    },
  };
}

interface Frame {
  rows: number;
  rate: Rate;
  /** On the monotonic clock. */
  openedMs: number;
  offsetMinutes: number;
  title: string;
}

function inputOf(board: BoardState, watched: Watch, now: Moment, frame: Frame): BoardInput {
  const { view } = board;
  const { known, plan, lastMessageMs } = watched;
  const counts = new Map<string, number>();
  for (const { state } of watched.bicycles()) {
    const name = (textOf(state) ?? 'unknown').slice(0, 100);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const filter = readFilter(view.filter);
  const keep = (bicycle: Bicycle) => filter(bicycle, now.wallMs);
  return {
    ...board,
    ...watched.counts,
    ...pickRows(watched.bicycles(), { sort: view.sort, keep }, view.scroll, frame.rows),
    nowMs: now.wallMs,
    monotonicMs: now.monotonicMs,
    offsetMinutes: frame.offsetMinutes,
    title: frame.title,
    lastMessageMs,
    perSecond: frame.rate.perSecond(now.monotonicMs),
    openedMs: frame.openedMs,
    counts,
    known: known.store.size(),
    total: plan.bicycles === undefined ? board.total : plan.bicycles.size,
    isWhole: isWhole(watched),
    card: view.panel.type === 'card' ? known.get(view.panel.uuid) : undefined,
    changes: view.filter === '' ? board.changes : board.changes.filter(({ entry }) => isWanted(entry, keep)),
  };
}

/** Whether every bicycle that is followed is known. */
function isWhole({ plan, known }: Watch): boolean {
  return plan.bicycles === undefined ? known.isWhole : known.store.size() >= plan.bicycles.size;
}

const MAP_HINTS = ['q quit', '? help', 'm board', '+ - 0 zoom', 'arrows move', 'Enter open', 'Tab next'];

/** What the map draws of a watch. */
function mapInputOf(
  board: BoardState,
  watched: Watch,
  now: Moment,
  { offsetMinutes, title, look }: { offsetMinutes: number; title: string; look: Look },
): LiveMapInput {
  const { plan } = watched;
  const filter = readFilter(board.view.filter);
  const bicycles = [...watched.bicycles()].filter(
    (bicycle) => (plan.map?.keep(bicycle) ?? true) && filter(bicycle, now.wallMs),
  );
  const known = isWhole(watched) ? '' : ` so far, ${watched.known.store.size()} of ${board.total ?? '?'} read`;
  const connection = connectionText(board.connections, now.monotonicMs);
  return {
    state: board.map,
    bicycles,
    isWhole: isWhole(watched),
    title: `${countNoun(bicycles.length, BICYCLES.noun)}${known}, ${title}`,
    moment: showClock(now.wallMs, offsetMinutes),
    footer: [
      { text: `${connection.text}  `, ink: connection.color },
      { text: keyHints(MAP_HINTS, look.width - widthOf(connection.text) - 2), ink: 'dim' },
    ],
    look,
  };
}

function isWanted(entry: Entry, keep: (bicycle: Bicycle) => boolean): boolean {
  if (entry.type === 'bicycle') return keep(entry.after);
  return entry.type === 'leaving' && keep(entry.bicycle ?? { uuid: entry.uuid ?? null });
}

/** Reads one page of the newest alerts again and again. */
function pollAlerts(
  client: Client,
  { organizations: [organization] }: Plan,
  { clock }: Context,
  over: AbortSignal,
  onAlerts: (alerts: readonly Alert[]) => void,
): void {
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
  void poll().then(() => every(clock, ALERTS_PAUSE_MS, over, poll));
}
