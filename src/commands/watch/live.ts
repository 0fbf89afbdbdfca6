// The full-screen board of `fleet watch --live`. It is redrawn at most ten times per second, and
// handles the user's keypresses.

import type { Alert } from '../../api/alert.js';
import { openAlertPages } from '../../api/alert-pages.js';
import type { Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Session } from '../../follow/loop.js';
import { readAlertFeed } from '../../follower/alert-feed.js';
import type { Client } from '../../http/client.js';
import { type Clock, every, momentOf, openTimer } from '../../system/clock.js';
import { showClock } from '../../system/time-zone.js';
import { canvasLines } from '../../terminal/canvas.js';
import { widthOf } from '../../terminal/cells.js';
import { loadPaint, type Paint } from '../../terminal/colour.js';
import { countNoun } from '../../terminal/formats/renderer.js';
import { openScreen } from '../../terminal/screen.js';
import { textOf } from '../../terminal/values.js';
import { BICYCLES } from '../../views/bicycle.js';
import { type BoardInput, bicycleRows, boardLines, pickRows } from '../../views/board.js';
import type { BoardDialog } from '../../views/board-dialog.js';
import { connectionText, keyHints } from '../../views/board-help.js';
import type { ShownEntry } from '../../views/watch.js';
import { openLiveMap } from '../map/live-map.js';
import { type AlertsReading, Board, type BoardSeen } from './board.js';
import type { BoardRequest } from './board-actions.js';
import {
  actFromBoard,
  commandFor,
  copyText,
  offerTransitions,
  refuseToAct,
  wordQuestion,
} from './board-work.js';
import { readFilter } from './filter.js';
import type { WatchPlan } from './plan.js';
import type { Watch, WatchEffect, WatchEvent } from './state.js';

/** A function that shows the effects of a watch on a full screen instead of printing them. */
export type Display = (effects: readonly WatchEffect[]) => void;

export interface LiveOptions {
  context: Context;
  plan: WatchPlan;
  client: Client;
  session: Session<WatchEvent>;
  watched: Watch;
}

/**
 * The minimum time between two frames, which allows ten frames per second. People cannot read more
 * frames, and a slow connection cannot transfer more.
 */
const FRAME_MS = 100;
/**
 * The minimum time between two frames of the map after a keypress. It is short, because the map
 * must react without a noticeable delay. This is possible because only changed lines are written.
 */
const MAP_FRAME_MS = 34;
/**
 * The pause after a frame, as a multiple of the time that drawing the frame took. With this pause,
 * drawing uses at most a tenth of the time, even with a large fleet.
 */
const FRAME_COST_FACTOR = 10;
/**
 * The maximum time between two frames. A new frame is needed even when no message arrives, because
 * the displayed ages change.
 */
const IDLE_FRAME_MS = 1_000;
/**
 * The pause between two reads of the newest alerts. Alerts are polled, because the interface
 * description lists no topic that pushes them (section 6.1).
 */
const ALERTS_PAUSE_MS = 30_000;
const RATE_MS = 10_000;
/**
 * How long a question must be visible before Enter can answer it. When the user holds a key down,
 * the key repeats. Without this delay, it could answer a question that has just appeared.
 */
const READING_MS = 500;

/** Switches the terminal to the full-screen board, and restores the terminal at the end. */
export async function openLive(options: LiveOptions): Promise<Display> {
  const { context, plan, session } = options;
  const { clock, io } = context;
  const { stop } = session.ending;
  const board = new Board(plan.map === undefined ? 'fleet' : 'map');
  const draw = openDrawing(options, board, await loadPaint(io.stdout.colorLevel));
  const sizeOf = () => ({
    width: io.streams.stdout.columns || io.stdout.width() || 80,
    height: io.stdout.height(),
  });
  /** What the last frame showed. Keys refer to this content. */
  let seen: BoardSeen = { uuids: [], first: 0, rows: 1, matching: 0 };
  /** When the current question was last drawn, on the monotonic clock. */
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let isWriting = false;
  const frames = openFrames(clock, () => {
    if (isWriting) return;
    isWriting = true;
    const drawn = draw(sizeOf());
    if (questionIn(drawn.seen.dialog) !== questionIn(seen.dialog)) askedAtMs = clock.monotonicMs();
    seen = { ...seen, ...drawn.seen };
    // A terminal that Ctrl-S has paused does not accept the frame. No other frame is drawn until
    // the terminal accepts this one.
    void io.stdout.write(screen.frame(drawn.lines)).then(
      () => {
        isWriting = false;
      },
      (thrown: unknown) => {
        // Writing to a closed terminal can fail before SIGHUP arrives.
        const isHangup = thrown instanceof FleetError && thrown.kind === 'hangup';
        if (isHangup) stop('hangup', thrown);
        else stop('failed', new FleetError('output', 'the terminal was closed'));
      },
    );
  });
  const screen = openScreen({
    stdout: io.streams.stdout,
    stdin: io.stdin,
    onChange: () => frames.want(0),
    onKey(key) {
      const { dialog, ...others } = seen;
      const isRead = clock.monotonicMs() - askedAtMs >= READING_MS;
      board.press(key, isRead ? seen : others);
      for (const request of board.takeRequests()) work(request);
      // Quitting is a success, unless the watch is still waiting for the --until condition.
      const isEarly = plan.until !== undefined;
      if (board.isOver)
        stop(
          'quit',
          isEarly
            ? new FleetError(
                'interrupted',
                'the watch was closed before the --until condition was met',
              )
            : undefined,
        );
      frames.want(0, board.view.home === 'map' ? MAP_FRAME_MS : undefined);
    },
  });
  const work = openWork(options, board, {
    copy: (text) => void io.stdout.write(copyText(text)).catch(() => undefined),
    redraw: () => frames.want(0),
  });
  session.atEnd(() => {
    frames.close();
    screen.close();
  });
  pollAlerts(options, (reading) => {
    board.takeAlerts(reading, context.clock.monotonicMs());
    frames.want(0);
  });
  return (effects) => {
    for (const effect of effects) board.take(effect);
    frames.want(0);
  };
}

function questionIn(dialog: BoardDialog | undefined): string | undefined {
  return dialog?.type === 'ask' ? dialog.question : undefined;
}

/** Returns a function that carries out an action when the user presses its key on the board. */
function openWork(
  { context, plan, session, watched: { known } }: LiveOptions,
  board: Board,
  { copy, redraw }: { copy(text: string): void; redraw(): void },
): (request: BoardRequest) => void {
  const isReplay = plan.isReplay === true;
  const carryOut = async (request: BoardRequest): Promise<void> => {
    switch (request.type) {
      case 'offer': {
        await refuseToAct(context, isReplay);
        const { uuids } = request;
        const choices = offerTransitions(uuids, known);
        return board.show({ type: 'choose', uuids, choices, selected: 0 });
      }
      case 'ask':
        return board.show(await wordQuestion(context, request, known));
      case 'act': {
        await refuseToAct(context, isReplay);
        board.startAct();
        board.say(`running ${request.transition} …`);
        redraw();
        const run = actFromBoard(context, request, session.signal).catch(
          (thrown) => `! ${asFleetError(thrown).message}`,
        );
        // Before it ends, the watch waits until the journal contains the outcome of each request.
        context.atEnd(async () => void (await run));
        return board.endAct(request.uuids, await run);
      }
      case 'copy':
        copy(request.uuid);
        return board.say(`sent ${request.uuid} to the clipboard (if the terminal supports OSC 52)`);
      default: {
        const text = commandFor(context, request, board.view);
        return board.show({ type: 'text', title: 'COMMAND', text });
      }
    }
  };
  return (request) => {
    void carryOut(request)
      .catch((thrown) => board.say(`! ${asFleetError(thrown).message}`))
      .finally(redraw);
  };
}

type Size = { readonly width: number; readonly height: number };

/** Returns a function that draws the board or the map. */
function openDrawing({ context, plan, watched, session }: LiveOptions, board: Board, paint: Paint) {
  const { titleOf } = session.stderr;
  const { zone } = context;
  const { stdout } = context.io;
  const { connections, store } = watched;
  const title = plan.topics.map(titleOf).join(', ');
  const rateOf = openRate();
  const map = openLiveMap();
  const isSelected = (bicycle: Bicycle) => plan.selection?.has(bicycle) ?? true;
  const bicyclesShown = () =>
    plan.selection === undefined ? store.bicycles() : [...store.bicycles()].filter(isSelected);
  const drawBoard = (size: Size): { lines: string[]; seen: Partial<BoardSeen> } => {
    const { view, changes, alerts, staleAlerts } = board;
    const { wallMs: nowMs, monotonicMs } = momentOf(context.clock);
    const { keep, problem } = readFilter(view.filter, { ms: nowMs, zone });
    const shownChanges =
      view.filter === '' ? changes : changes.filter(({ entry }) => isWanted(entry, keep));
    const shown = [...bicyclesShown()];
    const all = pickRows(shown, { sort: view.sort, keep }, 0, Number.POSITIVE_INFINITY);
    const rows = bicycleRows(size.height, {
      bicycles: all.matching,
      changes: shownChanges.length,
      alerts: alerts.length,
    });
    board.fit(rows);
    const { view: fitted } = board;
    const picked = { ...all, rows: all.rows.slice(fitted.scroll, fitted.scroll + rows) };
    const { counts, lastMessageMs } = watched;
    const input: BoardInput = {
      ...{
        view: fitted,
        title,
        nowMs,
        monotonicMs,
        zone,
        alerts,
        staleAlerts,
        doubt: watched.doubt?.reason,
        connections: connections.topics,
      },
      traffic: { ...counts, perSecond: rateOf(counts.messages, monotonicMs), lastMessageMs },
      fleet: {
        ...{ ...picked, ...extentOf(watched), counts: countStates(shown) },
        filterProblem: problem,
        card: view.panel.type === 'card' ? watched.known.get(view.panel.uuid) : undefined,
      },
      changes: shownChanges,
    };
    const uuids = picked.rows.map(({ uuid }) => textOf(uuid)?.toLowerCase());
    const { scroll: first, dialog } = fitted;
    const seen = { uuids, first, rows, matching: picked.matching, dialog };
    return { lines: boardLines(input, { ...size, paint }), seen };
  };
  const drawMap: typeof drawBoard = (size) => {
    const { wallMs, monotonicMs } = momentOf(context.clock);
    const look = { ...size, hasColor: stdout.colorLevel > 0, hasUnicode: stdout.hasUnicode };
    const { keep } = readFilter(board.view.filter, { ms: wallMs, zone });
    const bicycles = [...bicyclesShown()].filter(
      (each) => (plan.map?.keep(each) ?? true) && keep(each),
    );
    const { isWhole, known, total = '?' } = extentOf(watched);
    const progress = isWhole ? '' : ` so far, ${known} of ${total} read`;
    const doubt = watched.doubt === undefined ? '' : ', comparison not complete';
    const connection = connectionText(connections.topics, monotonicMs);
    const { canvas, seen } = map.frame({
      ...{ state: board.map, bicycles, isWhole, look },
      title: `${countNoun(bicycles.length, BICYCLES.noun)}${progress}${doubt}, ${plan.map?.title ?? title}`,
      moment: showClock(wallMs, zone),
      footer: [
        { text: `${connection.text}  `, ink: connection.color },
        { text: keyHints(MAP_HINTS, look.width - widthOf(connection.text) - 2), ink: 'dim' },
      ],
    });
    return { lines: canvasLines(canvas, paint), seen: { map: seen } };
  };
  return (size: Size) => (board.view.panel.type === 'map' ? drawMap(size) : drawBoard(size));
}

/** Returns a function that computes the messages per second over the last ten seconds. */
function openRate() {
  let counted: readonly { readonly atMs: number; readonly messages: number }[] = [];
  return (messages: number, atMs: number): number => {
    counted = [...counted.filter((frame) => frame.atMs >= atMs - RATE_MS), { atMs, messages }];
    const [first = { atMs, messages }] = counted;
    return (messages - first.messages) / Math.max(1, (atMs - first.atMs) / 1000);
  };
}

function countStates(bicycles: Iterable<Bicycle>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { state } of bicycles) {
    const name = (textOf(state) ?? 'unknown').slice(0, 100);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/**
 * Draws a frame when one is requested. Also draws regularly, so that the displayed ages stay
 * correct.
 */
function openFrames(clock: Clock, draw: () => void) {
  let lastMs = Number.NEGATIVE_INFINITY;
  let apartMs = FRAME_MS;
  const timer = openTimer(clock, () => {
    lastMs = clock.monotonicMs();
    draw();
    apartMs = Math.max(FRAME_MS, FRAME_COST_FACTOR * (clock.monotonicMs() - lastMs));
    want(IDLE_FRAME_MS);
  });
  const want = (inMs: number, leastApartMs = apartMs) =>
    timer.want(Math.max(inMs, lastMs + leastApartMs - clock.monotonicMs()));
  return { want, close: timer.cancel };
}

/** Returns the number of known bicycles, and the total number of followed bicycles. */
function extentOf({ plan: { bicycles }, known: { isWhole, store }, total }: Watch) {
  const known = store.size();
  if (bicycles === undefined) return { known, total, isWhole };
  return { known, total: bicycles.size, isWhole: known >= bicycles.size };
}

const MAP_HINTS = [
  'q quit',
  '? help',
  'm board',
  '+ - 0 zoom',
  'arrows move',
  'Enter open',
  'Tab next',
];

function isWanted(entry: ShownEntry, keep: (bicycle: Bicycle) => boolean): boolean {
  if (entry.type === 'bicycle') return keep(entry.after);
  return entry.type === 'leaving' && keep(entry.bicycle ?? { uuid: entry.uuid ?? null });
}

/**
 * Reads one page of the newest alerts at regular intervals. Passes the alerts or the error to
 * `onReading`.
 */
function pollAlerts(
  { client, plan, context, session }: LiveOptions,
  onReading: (reading: AlertsReading) => void,
): void {
  const [organization] = plan.organizations;
  if (organization === undefined) return;
  const readNewest = async (): Promise<AlertsReading> => {
    let newest: Alert[] = [];
    await readAlertFeed({
      filters: [['organization', organization]],
      order: 'created',
      hasLargePages: false,
      readPage: openAlertPages(client),
      takePage(alerts) {
        newest = alerts.map(({ value }) => value);
        return { hasNews: true, isEnough: true };
      },
    });
    return { alerts: newest };
  };
  const poll = async () => {
    const reading = await readNewest().catch((thrown) => ({ error: asFleetError(thrown) }));
    if (!session.signal.aborted) onReading(reading);
  };
  void poll().then(() => every(context.clock, ALERTS_PAUSE_MS, session.signal, poll));
}
