// Formats the events of a stream: human-readable lines or JSON lines, and a summary at the end.

import type { ErrorKind, FleetError } from '../errors.js';
import type { Gap, StreamEvent } from '../http/stream/events.js';
import { showClock, type TimeZone } from '../system/time-zone.js';
import { clean } from '../terminal/clean.js';
import { count } from '../terminal/count.js';
import { showDuration } from '../terminal/time.js';

/** How a watch ended. */
type SignalKind = Extract<ErrorKind, 'interrupted' | 'terminated' | 'hangup'>;
export type WatchEnd = 'until' | 'for' | 'max-events' | 'replayed' | 'quit' | 'failed' | SignalKind;

/** The counters of a watch. */
export interface WatchCounts {
  readonly messages: number;
  readonly shown: number;
  readonly reconnects: number;
  readonly gapCount: number;
  readonly downMs: number;
  /**
   * The number of events that could not be used, because they were broken, incomplete or too big.
   */
  readonly dropped: number;
  /** The number of changes that were found in the list after a gap. */
  readonly caughtUp: number;
  /** The number of bicycles that were first seen when the list was read after a gap. */
  readonly unknown: number;
  /** The number of bicycles that left the list. */
  readonly gone: number;
  /** The number of moves that are too short to be shown without `--all`. */
  readonly hiddenMoves: number;
}

/** The data of the summary at the end of a watch. */
export interface WatchSummary extends WatchCounts {
  end: WatchEnd;
  /** The end of the watch by the machine's clock, in milliseconds since the epoch. */
  endedAtMs: number;
  durationMs: number;
  /** The first gaps, up to a limit. `gapCount` is the number of all gaps. */
  gaps: readonly Gap[];
  /** Topics that were never connected, each with the reason. */
  neverConnected: readonly { readonly topic: string; readonly message: string }[];
  /** Whether the watch ended before the list was read after the last gap. */
  isUnread: boolean;
  /**
   * The number of messages that the reader of the output did not get, because the watch ended
   * first.
   */
  undelivered: number;
}

/**
 * The maximum number of gaps in the human-readable summary. The machine-readable summary has all
 * stored gaps.
 */
const NAMED_GAPS = 10;

function seconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000;
}

/** Formats a time for machine-readable output. */
export function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

/**
 * Returns the human-readable line for an event, without control characters or a newline. Undefined
 * for events that are not printed.
 */
export function streamLine(
  event: StreamEvent,
  zone: TimeZone,
  namesTopic: boolean,
  titleOf = (topic: string) => topic,
): string | undefined {
  const clock = (at: number) => showClock(at, zone);
  const topic = namesTopic && 'topic' in event ? `${event.topic}: ` : '';
  switch (event.type) {
    case 'open':
      return event.isReturn
        ? undefined
        : clean(`${clock(event.atMs)} watching ${titleOf(event.as ?? event.topic)}`);
    case 'lost':
      return clean(
        `${clock(event.atMs)} ${topic}${event.lastLifeWallMs === undefined ? 'not connected' : 'lost'}: ${event.error.message}; trying again in ${showDuration(event.retryInMs)}${showCapped(event.cappedFromMs)}`,
      );
    case 'gap':
      return clean(
        event.durationMs === 0
          ? `${clock(event.atMs)} ${topic}lost one event: ${event.message}`
          : `${clock(event.atMs)} ${topic}back after ${showDuration(event.durationMs)}, no updates from ${clock(event.fromWallMs)} to ${clock(event.atMs)}: ${event.message}`,
      );
    default:
      return undefined;
  }
}

/** Reports that fleet waits for less time than the service asked for. */
export function showCapped(cappedFromMs: number | undefined): string {
  return cappedFromMs === undefined
    ? ''
    : `, not in ${showDuration(cappedFromMs)} as the service asked`;
}

export function errorFields(error: FleetError): {
  kind: string;
  message: string;
  status: number | null;
} {
  return { kind: error.kind, message: error.message, status: error.status ?? null };
}

/**
 * Returns the JSON line object for an event. Returns undefined for messages, because messages are
 * printed on stdout.
 */
export function streamRecord(event: StreamEvent): { [field: string]: unknown } | undefined {
  if (event.type === 'message' || event.type === 'resync') return undefined;
  const head = { event: event.type, at: iso(event.atMs), topic: event.topic };
  switch (event.type) {
    case 'open':
      return {
        ...head,
        as: event.as,
        again: event.isReturn,
        request_id: event.trace.requestId ?? null,
      };
    case 'lost':
      return {
        ...head,
        cause: event.cause,
        ...errorFields(event.error),
        last_life: iso(event.lastLifeWallMs),
        attempt: event.attempt,
        retry_in_seconds: seconds(event.retryInMs),
        asked_seconds: event.cappedFromMs === undefined ? undefined : seconds(event.cappedFromMs),
      };
    case 'gap':
      return { event: 'gap', ...gapFields(event) };
    case 'closed':
      return { ...head, ...errorFields(event.error) };
  }
}

function gapFields(gap: Gap): { [field: string]: unknown } {
  return {
    at: iso(gap.atMs),
    topic: gap.topic,
    cause: gap.cause,
    message: gap.message,
    from: iso(gap.fromWallMs),
    to: iso(gap.atMs),
    seconds: seconds(gap.durationMs),
    replayed: gap.replayed,
    dropped_events: gap.droppedEvents,
    text: gap.text,
  };
}

/**
 * Returns phrases such as `2 changes caught up` and `1 bicycle gone`. Omits counts that are zero.
 */
export function describeFound(changes: number, unknown: number, gone: number): string[] {
  return [
    ...countSome(changes, 'change', 'caught up'),
    ...countSome(unknown, 'bicycle', 'not known before'),
    ...countSome(gone, 'bicycle', 'gone'),
  ];
}

/**
 * Returns a list with one phrase: a count with its noun and its description. Returns an empty list
 * when the count is zero.
 */
function countSome(number: number, one: string, what: string): string[] {
  return number === 0 ? [] : [`${count(number, one)} ${what}`];
}

/** Returns the summary for people: one line, followed by one line per gap. */
export function summaryLines(summary: WatchSummary, zone: TimeZone, namesTopic: boolean): string[] {
  const { gaps, gapCount, messages, shown, neverConnected } = summary;
  // When the only topic of a watch was never connected, the watch ends with an error that states
  // the reason. The summary does not repeat this reason.
  const isNever = neverConnected.length > 0 && !namesTopic;
  const facts = [
    shown === messages
      ? count(messages, 'message')
      : `${count(messages, 'message')}, ${shown} shown`,
    count(summary.reconnects, 'reconnect'),
    gapCount === 0
      ? 'no gaps'
      : `${count(gapCount, 'gap')}${summary.downMs > 0 ? `, not connected for ${showDuration(summary.downMs)}` : ''}`,
    ...describeFound(summary.caughtUp, summary.unknown, summary.gone),
    ...countSome(summary.hiddenMoves, 'move', 'of less than 5 m hidden (--all shows them)'),
    ...countSome(summary.dropped, 'event', 'lost'),
  ];
  const lines = [
    `watched for ${showDuration(summary.durationMs)}: ${isNever ? 'never connected' : facts.join(', ')}`,
  ];
  for (const { topic, message } of namesTopic ? neverConnected : [])
    lines.push(clean(`  never connected to ${topic}: ${message}`));
  for (const gap of gaps.slice(0, NAMED_GAPS)) {
    const topic = namesTopic ? ` ${gap.topic}` : '';
    const span =
      gap.durationMs === 0
        ? showClock(gap.fromWallMs, zone)
        : `${showClock(gap.fromWallMs, zone)} to ${showClock(gap.atMs, zone)} (${showDuration(gap.durationMs)})`;
    lines.push(clean(`  gap ${span}${topic}: ${gap.message}`));
  }
  if (gapCount > NAMED_GAPS) lines.push(`  and ${count(gapCount - NAMED_GAPS, 'more gap')}`);
  if (summary.isUnread)
    lines.push('  what changed in the last gap was not looked up before the end');
  if (summary.undelivered > 0) {
    lines.push(
      `  ${count(summary.undelivered, 'message')} not delivered: the reader of stdout stopped reading`,
    );
  }
  return lines;
}

/** Returns the machine-readable summary, which is the last event of the stream. */
export function summaryRecord(summary: WatchSummary): { [field: string]: unknown } {
  return {
    event: 'closed',
    at: iso(summary.endedAtMs),
    reason: summary.end,
    seconds: seconds(summary.durationMs),
    messages: summary.messages,
    shown: summary.shown,
    reconnects: summary.reconnects,
    caught_up: summary.caughtUp,
    unknown: summary.unknown,
    gone: summary.gone,
    hidden_moves: summary.hiddenMoves,
    dropped_events: summary.dropped,
    undelivered: summary.undelivered,
    blind_seconds: seconds(summary.downMs),
    gap_count: summary.gapCount,
    looked_up: !summary.isUnread,
    never_connected: summary.neverConnected.map(({ topic }) => topic),
    gaps: summary.gaps.map(gapFields),
  };
}
