// The full-screen board of `fleet watch --live`: keeps what has just happened, and draws it ten times a second at most.

import type { Alert } from '../../api/alert.js';
import type { Clock } from '../../clock.js';
import type { Context } from '../../context.js';
import type { Gap, StreamEvent } from '../../http/stream/events.js';
import { loadPaint } from '../../terminal/colour.js';
import { openScreen } from '../../terminal/screen.js';
import { readTime } from '../../terminal/time.js';
import { textOf } from '../../terminal/values.js';
import { type BoardConnection, type BoardFacts, boardLines, lowestCharges } from '../../views/board.js';
import type { Sight } from '../../views/change.js';
import type { Knowledge } from './knowledge.js';
import type { Plan } from './plan.js';

/** What a watch shows its messages through: lines, JSON lines (show.ts) or the board. */
export interface Show {
  /** Whether the terminal belongs to the show alone. */
  readonly isFullScreen: boolean;
  /** Each returns what goes to stdout for it, newline included; '' for nothing. */
  message(sight: () => Sight, at: number, data: string): string;
  caughtUp(sight: Sight, at: number): string;
  stream(event: StreamEvent): string;
  draw(knowledge: Knowledge): string;
  /** A message came, shown or not. */
  heard(at: number): void;
  /** A page of the list came, with the service's total where it says one. */
  listed(count: number | undefined): void;
  /** The newest alerts of the list, the newest first. */
  alerts(alerts: readonly Alert[]): void;
  write(text: string): Promise<void>;
  /** Leaves the terminal as it was found. */
  close(): Promise<void>;
}

/** Ten frames a second at most: more cannot be read, and a slow line would choke on them. */
const FRAME_MS = 100;
/** Ages on the board go on without messages. */
const IDLE_FRAME_MS = 1_000;
/** How much is kept of what scrolls: more rows than any screen has. */
const KEPT_ROWS = 200;
const KEPT_SECONDS = 60;

/** Takes over the terminal. `onTick` is called when the board wants to be drawn. */
export async function openBoard(
  context: Context,
  plan: Plan,
  offsetMinutes: number,
  clock: Clock,
  onTick: () => void,
): Promise<Show> {
  const { stdout } = context.io;
  const raw = context.io.streams.stdout;
  const paint = await loadPaint(stdout.colorLevel);
  const startedAt = clock.wallMs();
  const connections = new Map<string, BoardConnection>(
    plan.topics.map((topic) => [topic, { topic, state: 'connecting', since: startedAt }]),
  );
  const changes: BoardFacts['changes'][number][] = [];
  const alerts: BoardFacts['alerts'][number][] = [];
  const gaps: Gap[] = [];
  const seconds = new Map<number, number>();
  let messages = 0;
  let lastMessageAt: number | undefined;
  let gapCount = 0;
  let blindMs = 0;
  let total: number | undefined;

  let lastFrameAt = Number.NEGATIVE_INFINITY;
  let callOff = () => {};
  let dueAt = Number.POSITIVE_INFINITY;
  const wantFrame = (inMs: number) => {
    const at = Math.max(clock.wallMs() + inMs, lastFrameAt + FRAME_MS);
    if (at >= dueAt) return;
    callOff();
    dueAt = at;
    callOff = clock.after(at - clock.wallMs(), () => {
      dueAt = Number.POSITIVE_INFINITY;
      onTick();
    });
  };
  const screen = openScreen(raw, () => wantFrame(0));
  wantFrame(0);

  const keep = <T>(rows: T[], row: T) => {
    rows.unshift(row);
    if (rows.length > KEPT_ROWS) rows.pop();
    wantFrame(0);
    return '';
  };
  const perSecond = (now: number) => {
    const present = Math.floor(now / 1000);
    for (const second of seconds.keys()) if (second <= present - KEPT_SECONDS) seconds.delete(second);
    return Array.from({ length: KEPT_SECONDS }, (_, index) => seconds.get(present - KEPT_SECONDS + 1 + index) ?? 0);
  };

  return {
    isFullScreen: true,
    message(look, at) {
      const sight = look();
      return sight.type === 'alert' ? keep(alerts, { alert: sight.alert, at }) : keep(changes, { sight, at });
    },
    caughtUp: (sight, at) => keep(changes, { sight, at }),
    stream(event) {
      const { topic, atMs: at } = event;
      if (event.type === 'open') connections.set(topic, { topic, state: 'open', since: at });
      if (event.type === 'lost') {
        const before = connections.get(topic);
        // What counts is since when nothing comes, not when the last try failed.
        const since = before?.state === 'lost' ? before.since : (event.lastLifeWallMs ?? before?.since ?? at);
        const retryAt = at + event.retryInMs;
        connections.set(topic, { topic, state: 'lost', since, message: event.error.message, retryAt });
      }
      if (event.type === 'gap') {
        gapCount++;
        blindMs += event.durationMs;
        keep(gaps, event);
      }
      wantFrame(0);
      return '';
    },
    draw(knowledge) {
      const now = clock.wallMs();
      lastFrameAt = now;
      wantFrame(IDLE_FRAME_MS);
      const width = raw.columns ?? stdout.width() ?? 80;
      const height = stdout.height();
      const counts = new Map<string, number>();
      for (const { state } of knowledge.bicycles()) {
        const name = textOf(state) ?? 'unknown';
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      const facts: BoardFacts = {
        now,
        startedAt,
        offsetMinutes,
        connections: [...connections.values()],
        messages,
        lastMessageAt,
        perSecond: perSecond(now),
        counts,
        total,
        lowest: lowestCharges(knowledge.bicycles(), height),
        alerts,
        changes,
        gaps,
        gapCount,
        blindMs,
      };
      return screen.frame(boardLines(facts, { width, height, paint }));
    },
    heard(at) {
      messages++;
      lastMessageAt = at;
      const second = Math.floor(at / 1000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
      wantFrame(0);
    },
    listed(count) {
      total = count ?? total;
      wantFrame(0);
    },
    alerts(listed) {
      // Pushed ones stay above: they came later than the list that does not have them yet.
      const uuids = new Set(listed.map(({ uuid }) => uuid));
      const newest = readTime(listed[0]?.created) ?? 0;
      const pushed = alerts.filter(({ alert, at }) => !uuids.has(alert.uuid) && at > newest);
      const rows = listed.map((alert) => ({ alert, at: readTime(alert.created) ?? startedAt }));
      alerts.splice(0, alerts.length, ...[...pushed, ...rows].slice(0, KEPT_ROWS));
      wantFrame(0);
    },
    write: (text) => stdout.write(text),
    async close() {
      callOff();
      dueAt = Number.NEGATIVE_INFINITY;
      screen.close();
    },
  };
}
