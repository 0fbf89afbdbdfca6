// The beginning of an event whose end has not come: its lines without comments, or nothing of it once it is too big.

import { type Known, learnFrom } from './fields.js';

const LF = 10;
const COLON = 58;
const ID = Buffer.from('id');
const RETRY = Buffer.from('retry');

/** What lines begin with that are looked at one by one: comments and `retry:`; of an event that is passed over its end and id too. */
const HELD_APART = [COLON, RETRY[0] ?? 0];
const SKIPPED_APART = [...HELD_APART, LF, ID[0] ?? 0];

/** Of an event that is passed over, lines up to this length are looked at: an id is shorter. */
const ID_LINE_LIMIT_BYTES = 8 * 1024;
/** What the unfinished event starts with in memory; it doubles as far as the limit asks for. */
const FIRST_CAPACITY_BYTES = 4 * 1024;
/** More memory than this is given back when the event is over. */
const KEPT_CAPACITY_BYTES = 64 * 1024;

/** Changed by the functions below alone. */
export interface Held {
  readonly known: Known;
  readonly limitBytes: number;
  buffer: Buffer;
  length: number;
  /** Where the line begins that has not ended yet. */
  lineStart: number;
  isAtLineStart: boolean;
  isInComment: boolean;
  /** How much of an event above the limit was passed over; undefined while the event is kept. */
  skippedBytes: number | undefined;
  /** Of an event that is passed over: this line is longer than an id. */
  isLongLine: boolean;
}

const NOTHING = {
  length: 0,
  lineStart: 0,
  isAtLineStart: true,
  isInComment: false,
  skippedBytes: undefined,
  isLongLine: false,
} satisfies Partial<Held>;

export function openHeld(known: Known, limitBytes: number): Held {
  return { known, limitBytes, buffer: Buffer.allocUnsafe(FIRST_CAPACITY_BYTES), ...NOTHING };
}

/** How many bytes of the event have come. */
export function bytesHeld({ length, skippedBytes }: Held): number {
  return skippedBytes ?? length;
}

/** Keeps bytes that do not end the event. */
export function hold(held: Held, bytes: Buffer): void {
  for (let from = 0; from < bytes.length; ) {
    const arePlain = held.isAtLineStart && held.skippedBytes === undefined;
    const plainEnd = arePlain ? endOfPlainLines(bytes, from, HELD_APART) : from;
    if (plainEnd > from) append(held, bytes.subarray(from, plainEnd));
    if (plainEnd > from) held.lineStart = held.length;
    from = plainEnd;
    if (from < bytes.length) from = addLine(held, bytes, from);
    if (held.length > held.limitBytes && held.skippedBytes === undefined) beginSkipping(held);
  }
}

/** Passes bytes over until the event ends; returns where its end is, and how many bytes it had. */
export function skip(held: Held, bytes: Buffer): { at: number; skippedBytes: number } | undefined {
  for (let from = 0; from < bytes.length; ) {
    const plainEnd = held.isAtLineStart ? endOfPlainLines(bytes, from, SKIPPED_APART) : from;
    held.skippedBytes = (held.skippedBytes ?? 0) + plainEnd - from;
    from = plainEnd;
    if (held.isAtLineStart && bytes[from] === LF) {
      const end = { at: from + 1, skippedBytes: held.skippedBytes + 1 };
      clear(held);
      return end;
    }
    if (from < bytes.length) from = addLine(held, bytes, from);
  }
  return undefined;
}

/** What was held and the rest of it, as one; holds nothing afterwards. Valid until something is held again. */
export function takeWith(held: Held, rest: Buffer): Buffer {
  const isRestOfComment = held.isInComment && !held.isAtLineStart;
  const isEmpty = held.length === 0;
  if (!isEmpty) append(held, isRestOfComment ? rest.subarray(rest.indexOf(LF)) : rest);
  const whole = held.buffer.subarray(0, held.length);
  clear(held);
  if (!isEmpty) return whole;
  return isRestOfComment ? rest.subarray(rest.indexOf(LF) + 1) : rest;
}

/** Takes the line that begins or goes on there; returns the index after it. */
function addLine(held: Held, bytes: Buffer, from: number): number {
  const end = endOfLine(bytes, from);
  const line = bytes.subarray(from, end);
  if (held.isAtLineStart) {
    held.isInComment = line[0] === COLON;
    held.isLongLine = false;
  }
  held.isAtLineStart = line[line.length - 1] === LF;
  if (held.isInComment) return end;
  if (held.skippedBytes !== undefined) {
    held.skippedBytes += line.length;
    held.isLongLine ||= held.length + line.length > ID_LINE_LIMIT_BYTES;
  }
  if (held.isLongLine) held.length = 0;
  else append(held, line);
  if (held.isAtLineStart) endLine(held);
  return end;
}

/** A line has ended: `retry:` counts at once, and of an event that is passed over the id alone. */
function endLine(held: Held): void {
  const line = held.buffer.subarray(held.lineStart, held.length);
  const isSkipping = held.skippedBytes !== undefined;
  const isRetry = startsWith(line, RETRY);
  if (isRetry || (isSkipping && startsWith(line, ID))) learnFrom(line.toString('utf8'), held.known);
  if (isRetry || isSkipping) held.length = held.lineStart;
  held.lineStart = held.length;
}

/** The id of what is passed over counts all the same, or a service that repeats from there would send it for ever. */
function beginSkipping(held: Held): void {
  held.skippedBytes = held.length;
  learnFrom(withoutOthers(held.buffer.subarray(0, held.lineStart), ID), held.known);
  const lineLength = held.length - held.lineStart;
  held.isLongLine = lineLength > ID_LINE_LIMIT_BYTES;
  if (!held.isLongLine) held.buffer.copyWithin(0, held.lineStart, held.length);
  held.length = held.isLongLine ? 0 : lineLength;
  held.lineStart = 0;
}

function append(held: Held, bytes: Buffer): void {
  if (held.length + bytes.length > held.buffer.length) {
    const grown = Buffer.allocUnsafe(Math.max(held.buffer.length * 2, held.length + bytes.length));
    held.buffer.copy(grown, 0, 0, held.length);
    held.buffer = grown;
  }
  bytes.copy(held.buffer, held.length);
  held.length += bytes.length;
}

function clear(held: Held): void {
  Object.assign(held, NOTHING);
  if (held.buffer.length > KEPT_CAPACITY_BYTES) held.buffer = Buffer.allocUnsafe(FIRST_CAPACITY_BYTES);
}

/** The index after the line's end, or after the last byte. */
function endOfLine(bytes: Buffer, from: number): number {
  const found = bytes.indexOf(LF, from);
  return found === -1 ? bytes.length : found + 1;
}

/** The index after the whole lines from there on that begin with none of these bytes: they are taken together, not one by one. */
function endOfPlainLines(bytes: Buffer, from: number, apart: readonly number[]): number {
  let end = from;
  while (end < bytes.length && !apart.includes(bytes[end] ?? LF)) {
    const next = endOfLine(bytes, end);
    if (bytes[next - 1] !== LF) break;
    end = next;
  }
  return end;
}

function startsWith(bytes: Buffer, beginning: Buffer): boolean {
  return bytes.length >= beginning.length && bytes.compare(beginning, 0, beginning.length, 0, beginning.length) === 0;
}

/** The text of the lines that begin with the name, the others left out. */
function withoutOthers(bytes: Buffer, name: Buffer): string {
  let text = '';
  for (let from = 0; from < bytes.length; ) {
    const end = endOfLine(bytes, from);
    if (bytes[from] === name[0] && end - from <= ID_LINE_LIMIT_BYTES) {
      const line = bytes.subarray(from, end);
      if (startsWith(line, name)) text += line.toString('utf8');
    }
    from = end;
  }
  return text;
}
