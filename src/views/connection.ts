// Prints the events of a stream: lines for people, JSON lines for programs, a summary at the end.

import type { ErrorKind, FleetError } from '../errors.js';
import type { Gap, StreamEvent } from '../http/stream/events.js';
import { showClock, type TimeZone } from '../system/time-zone.js';
import { clean } from '../terminal/clean.js';
import { count } from '../terminal/count.js';
import { showDuration } from '../terminal/time.js';

/** How a watch ended. */
type SignalKind = Extract<ErrorKind, 'interrupted' | 'terminated' | 'hangup'>;
export type WatchEnd = 'until' | 'for' | 'max-events' | 'replayed' | 'quit' | 'failed' | SignalKind;

/** What a watch counts. */
export interface WatchCounts {
  readonly messages: number;
  readonly shown: number;
  readonly reconnects: number;
  readonly gapCount: number;
  readonly downMs: number;
  /** Events that arrived broken, cut off or too big. */
  readonly dropped: number;
  /** How many changes were found in the list after a gap. */
  readonly caughtUp: number;
  /** How many bicycles were met in a list after a gap of which nothing had been known. */
  readonly unknown: number;
  /** How many bicycles left the list. */
  readonly gone: number;
}

/** What a watch can say of itself at its end. */
export interface WatchSummary extends WatchCounts {
  end: WatchEnd;
  /** By the machine's date, in milliseconds since the epoch. */
  endedAtMs: number;
  durationMs: number;
  /** The first gaps; `gapCount` says how many there were. */
  gaps: readonly Gap[];
  /** Topics that were never connected, and why. */
  neverConnected: readonly { readonly topic: string; readonly message: string }[];
  /** The watch ended before the list was read for the last gap. */
  isUnread: boolean;
  /** Messages that the reader of the output had not taken when the watch ended. */
  undelivered: number;
}

/** How many gaps the summary names for people; a program gets all that were kept. */
const NAMED_GAPS = 10;

function seconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000;
}

/** A time for programs. */
export function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

/** One event for people, without its newline, cleaned; undefined for those that are not printed. */
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

/** A pause that the service asked for and that is too long to be waited. */
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

/** One event for programs, as an object for one JSON line; undefined for messages, which go to stdout. */
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

/** What a list showed after a gap: `2 changes caught up, 1 bicycle gone`, those that are none left out. */
export function describeFound(changes: number, unknown: number, gone: number): string[] {
  return [
    ...countSome(changes, 'change', 'caught up'),
    ...countSome(unknown, 'bicycle', 'not known before'),
    ...countSome(gone, 'bicycle', 'gone'),
  ];
}

/** A number with its noun and what became of them; nothing for none. */
function countSome(number: number, one: string, what: string): string[] {
  return number === 0 ? [] : [`${count(number, one)} ${what}`];
}

/** The summary for people: one line, then one for each gap. */
export function summaryLines(summary: WatchSummary, zone: TimeZone, namesTopic: boolean): string[] {
  const { gaps, gapCount, messages, shown, neverConnected } = summary;
  // Of a single topic the error that ends it says why.
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

/** The summary for programs: the last line of the stream's own events. */
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
    dropped_events: summary.dropped,
    undelivered: summary.undelivered,
    blind_seconds: seconds(summary.downMs),
    gap_count: summary.gapCount,
    looked_up: !summary.isUnread,
    never_connected: summary.neverConnected.map(({ topic }) => topic),
    gaps: summary.gaps.map(gapFields),
  };
}
