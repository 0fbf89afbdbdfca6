// The full-screen board of `fleet watch --live`: draws the board's state ten times a second at most, and hands it the keys.

import { ALERT, type Alert } from '../../api/alert.js';
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
import {
  type BoardInput,
  bicycleRows,
  boardLines,
  connectionText,
  matchesFilter,
  pickRows,
} from '../../views/board.js';
import { type Entry, showClock } from '../../views/change.js';
import type { Look } from '../../views/map/legend.js';
import type { WatchEnd } from '../../views/stream.js';
import type { Session } from '../follow/loop.js';
import { type BoardEvent, type BoardState, boardState, startBoard } from './board.js';
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
    });
    const uuids = input.rows.map(({ uuid }) => textOf(uuid)?.toLowerCase());
    seen = { uuids, first: board.view.scroll, matching: input.matching };
    return screen.frame(boardLines(input, { width, height, paint }));
  };
  const mapFrame = (state: Watch) => {
    const look = { ...size(), hasColor: io.stdout.colorLevel > 0, hasUnicode: io.stdout.hasUnicode };
    const drawn = map.frame(mapInputOf(board, state, moment(), { offsetMinutes: options.offsetMinutes, look }));
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
}

function inputOf(board: BoardState, watched: Watch, now: Moment, frame: Frame): BoardInput {
  const { view } = board;
  const { known, plan, lastMessageMs } = watched;
  const counts = new Map<string, number>();
  for (const { state } of watched.bicycles()) {
    const name = (textOf(state) ?? 'unknown').slice(0, 100);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const wanted = view.filter.toLowerCase();
  return {
    ...board,
    ...watched.counts,
    ...pickRows(watched.bicycles(), view, view.scroll, frame.rows),
    nowMs: now.wallMs,
    monotonicMs: now.monotonicMs,
    offsetMinutes: frame.offsetMinutes,
    title: plan.topics.join(' '),
    lastMessageMs,
    perSecond: frame.rate.perSecond(now.monotonicMs),
    openedMs: frame.openedMs,
    counts,
    known: known.store.size(),
    total: plan.bicycles === undefined ? board.total : plan.bicycles.size,
    isWhole: isWhole(watched),
    card: view.panel.type === 'card' ? known.get(view.panel.uuid) : undefined,
    changes: wanted === '' ? board.changes : board.changes.filter(({ entry }) => isWanted(entry, wanted)),
  };
}

/** Whether every bicycle that is followed is known. */
function isWhole({ plan, known }: Watch): boolean {
  return plan.bicycles === undefined ? known.isWhole : known.store.size() >= plan.bicycles.size;
}

/** The keys in as many words as there is room for. */
const MAP_KEYS = [
  'q quit  ? help  arrows move  + - 0 zoom  Tab next  Enter open  m board',
  'q ? arrows + - 0 Tab Enter m',
  'q ? m',
];

/** What the map draws of a watch. */
function mapInputOf(
  board: BoardState,
  watched: Watch,
  now: Moment,
  { offsetMinutes, look }: { offsetMinutes: number; look: Look },
): LiveMapInput {
  const { plan } = watched;
  const wanted = board.view.filter.toLowerCase();
  const bicycles = [...watched.bicycles()].filter(
    (bicycle) => (plan.map?.keep(bicycle) ?? true) && (wanted === '' || matchesFilter(bicycle, wanted)),
  );
  const known = isWhole(watched) ? '' : ` so far, ${watched.known.store.size()} of ${board.total ?? '?'} read`;
  const connection = connectionText(board.connections, now.monotonicMs);
  return {
    state: board.map,
    bicycles,
    isWhole: isWhole(watched),
    title: `${countNoun(bicycles.length, BICYCLES.noun)}${known}, ${plan.map?.title ?? plan.topics.join(' ')}`,
    moment: showClock(now.wallMs, offsetMinutes),
    footer: [
      { text: `${connection.text}  `, ink: connection.color },
      { text: MAP_KEYS.find((keys) => widthOf(keys) + widthOf(connection.text) + 2 <= look.width) ?? '', ink: 'dim' },
    ],
    look,
  };
}

function isWanted(entry: Entry, wanted: string): boolean {
  if (entry.type === 'bicycle') return matchesFilter(entry.after, wanted);
  return entry.type === 'leaving' && matchesFilter(entry.bicycle ?? { uuid: entry.uuid ?? null }, wanted);
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
