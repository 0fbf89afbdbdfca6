// Between the socket and the parser: cuts the bytes of an event stream into whole events, whatever the line ends and splits.
//
// The grammar is that of the HTML standard, "9.2.5 Parsing an event stream". `eventsource-parser` parses the events; what it
// does not report is found here: the id of an event without data, `retry:`, an event that was cut off, one too big.
// Every byte is looked at a fixed number of times, whatever the pieces it comes in.

const LF = 10;
const CR = 13;
const COLON = 58;
const BLANK_LINE = Buffer.from('\n\n');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const ID = Buffer.from('id');
const RETRY = Buffer.from('retry');

/** What lines begin with that are looked at one by one: comments and `retry:`; of an event that is passed over its end and id too. */
const HELD_APART = [COLON, RETRY[0] ?? 0];
const SKIPPED_APART = [...HELD_APART, LF, ID[0] ?? 0];

/** Of an event that is passed over, lines up to this length are looked at: an id is shorter. */
const ID_LINE_LIMIT_BYTES = 8 * 1024;
/** What the unfinished event starts with in memory; it doubles as far as the limit asks for. */
const FIRST_CAPACITY_BYTES = 4 * 1024;
/** `retry:` beyond this is a number that a clock can still work with. */
const LONGEST_RETRY_MS = Number.MAX_SAFE_INTEGER;

export interface EventCutter {
  /** Takes bytes as they came; returns the text of the events that are whole now, with LF line ends and known fields alone. */
  take(chunk: Uint8Array): string;
  /** The last event id of the events taken so far; '' when there is none. Only whole events count. */
  readonly lastEventId: string;
  /** The first id that came on this connection. */
  readonly firstId: string | undefined;
  /** What `retry:` said last, in milliseconds. */
  readonly retryMs: number | undefined;
  /** How many bytes have come of an event whose end has not; comments and `retry:` are no event. */
  readonly partialBytes: number;
}

/**
 * Makes a cutter for one connection. An event of more than `limitBytes` is not kept: its bytes are passed over and
 * `onTooBig` is called with their number. Comments count for nothing, however long they are.
 */
export function cutEvents(lastEventId: string, limitBytes: number, onTooBig: (bytes: number) => void): EventCutter {
  const known: Known = { id: lastEventId, firstId: undefined, retryMs: undefined };
  const held = openHeld(known, limitBytes);
  let endedWithCarriageReturn = false;
  let isFirst = true;

  /** The index after the last blank line, 0 when there is none. */
  const afterLastBlankLine = (bytes: Buffer): number => {
    const found = bytes.lastIndexOf(BLANK_LINE);
    if (found !== -1) return found + BLANK_LINE.length;
    return held.isAtLineStart && bytes[0] === LF ? 1 : 0;
  };

  return {
    get lastEventId() {
      return known.id;
    },
    get firstId() {
      return known.firstId;
    },
    get retryMs() {
      return known.retryMs;
    },
    get partialBytes() {
      return held.bytes;
    },
    take(chunk) {
      let bytes = normalize(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength), endedWithCarriageReturn);
      if (chunk.length > 0) endedWithCarriageReturn = chunk[chunk.length - 1] === CR;
      if (held.isSkipping) {
        const end = held.skip(bytes);
        if (end === undefined) return '';
        onTooBig(end.skippedBytes);
        bytes = bytes.subarray(end.at);
      }
      const end = afterLastBlankLine(bytes);
      if (end === 0) {
        held.add(bytes);
        return '';
      }
      let whole = held.takeWith(bytes.subarray(0, end));
      if (isFirst && whole.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
        whole = whole.subarray(BYTE_ORDER_MARK.length);
      isFirst = false;
      const text = learnFrom(whole.toString('utf8'), known);
      held.add(bytes.subarray(end));
      return text;
    },
  };
}

/** What the whole events and lines of a connection have said. */
interface Known {
  id: string;
  firstId: string | undefined;
  retryMs: number | undefined;
}

/** "Lines are separated by CRLF, LF or CR": all become LF, at once, so that the event before a lone CR need not wait. */
function normalize(chunk: Buffer, endedWithCarriageReturn: boolean): Buffer {
  const bytes = endedWithCarriageReturn && chunk[0] === LF ? chunk.subarray(1) : chunk;
  if (!bytes.includes(CR)) return bytes;
  const lines = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === LF && index > 0 && bytes[index - 1] === CR) continue;
    lines[length++] = byte === CR || byte === undefined ? LF : byte;
  }
  return lines.subarray(0, length);
}

/** The beginning of an event whose end has not come: its lines without comments, or nothing of it once it is too big. */
function openHeld(known: Known, limitBytes: number) {
  let buffer = Buffer.allocUnsafe(FIRST_CAPACITY_BYTES);
  let length = 0;
  /** Where the line begins that has not ended yet. */
  let lineStart = 0;
  let isAtLineStart = true;
  let isInComment = false;
  let isSkipping = false;
  let skippedBytes = 0;
  /** Of an event that is passed over: this line is longer than an id. */
  let isLongLine = false;

  const append = (bytes: Buffer) => {
    if (length + bytes.length > buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(buffer.length * 2, length + bytes.length));
      buffer.copy(grown, 0, 0, length);
      buffer = grown;
    }
    bytes.copy(buffer, length);
    length += bytes.length;
  };

  const clear = () => {
    length = 0;
    lineStart = 0;
    isAtLineStart = true;
    isInComment = false;
    isSkipping = false;
    skippedBytes = 0;
    if (buffer.length > FIRST_CAPACITY_BYTES * 16) buffer = Buffer.allocUnsafe(FIRST_CAPACITY_BYTES);
  };

  /** A line has ended: `retry:` counts at once, and of an event that is passed over the id alone. */
  const endLine = () => {
    const line = buffer.subarray(lineStart, length);
    const isRetry = startsWith(line, RETRY);
    if (isRetry || (isSkipping && startsWith(line, ID))) learnFrom(line.toString('utf8'), known);
    if (isRetry || isSkipping) length = lineStart;
    lineStart = length;
  };

  const addLine = (line: Buffer, isWhole: boolean) => {
    if (isAtLineStart) {
      isInComment = line[0] === COLON;
      isLongLine = false;
    }
    isAtLineStart = isWhole;
    if (isInComment) return;
    if (isSkipping) skippedBytes += line.length;
    isLongLine ||= isSkipping && length + line.length > ID_LINE_LIMIT_BYTES;
    if (isLongLine) length = 0;
    else append(line);
    if (isWhole) endLine();
    if (length > limitBytes && !isSkipping) beginSkipping();
  };

  /** Its id counts all the same, or a service that repeats from there would send it for ever. */
  const beginSkipping = () => {
    isSkipping = true;
    skippedBytes = length;
    learnFrom(withoutOthers(buffer.subarray(0, lineStart), ID), known);
    isLongLine = length - lineStart > ID_LINE_LIMIT_BYTES;
    if (!isLongLine) buffer.copyWithin(0, lineStart, length);
    length = isLongLine ? 0 : length - lineStart;
    lineStart = 0;
  };

  return {
    get isAtLineStart() {
      return isAtLineStart;
    },
    get isSkipping() {
      return isSkipping;
    },
    get bytes() {
      return isSkipping ? skippedBytes : length;
    },
    add(bytes: Buffer) {
      for (let from = 0; from < bytes.length; ) {
        const plainEnd = isAtLineStart && !isSkipping ? endOfPlainLines(bytes, from, HELD_APART) : from;
        if (plainEnd > from) {
          append(bytes.subarray(from, plainEnd));
          lineStart = length;
        }
        const end = plainEnd === bytes.length ? plainEnd : endOfLine(bytes, plainEnd);
        if (end > plainEnd) addLine(bytes.subarray(plainEnd, end), bytes[end - 1] === LF);
        else if (length > limitBytes && !isSkipping) beginSkipping();
        from = end;
      }
    },
    /** Passes bytes over until the event ends; says where its end is, and how many bytes it had. */
    skip(bytes: Buffer): { at: number; skippedBytes: number } | undefined {
      for (let from = 0; from < bytes.length; ) {
        if (isAtLineStart && bytes[from] === LF) {
          const end = { at: from + 1, skippedBytes: skippedBytes + 1 };
          clear();
          return end;
        }
        const plainEnd = isAtLineStart ? endOfPlainLines(bytes, from, SKIPPED_APART) : from;
        skippedBytes += plainEnd - from;
        from = plainEnd;
        if (from === bytes.length || (isAtLineStart && bytes[from] === LF)) continue;
        const end = endOfLine(bytes, from);
        addLine(bytes.subarray(from, end), bytes[end - 1] === LF);
        from = end;
      }
      return undefined;
    },
    /** What was held and the rest of it, as one; holds nothing afterwards. Valid until something is added. */
    takeWith(rest: Buffer): Buffer {
      if (length === 0) {
        const isRestOfComment = isInComment && !isAtLineStart;
        clear();
        return isRestOfComment ? rest.subarray(rest.indexOf(LF) + 1) : rest;
      }
      append(isInComment && !isAtLineStart ? rest.subarray(rest.indexOf(LF)) : rest);
      const whole = buffer.subarray(0, length);
      clear();
      return whole;
    },
  };
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

/**
 * Reads ids and `retry:` out of whole lines. Returns what the parser needs of them: lines of other names are left out, for it
 * makes an error of each, and an event may have half a million of them.
 */
function learnFrom(text: string, known: Known): string {
  let kept = '';
  let keptTo = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    if (!isForParser(text, start, end, known)) {
      kept += text.slice(keptTo, start);
      keptTo = end + 1;
    }
    start = end + 1;
  }
  return keptTo === 0 ? text : kept + text.slice(keptTo);
}

/** Whether a line is one of those that make up an event; learns from it where it is an id or `retry:`. */
function isForParser(text: string, start: number, end: number, known: Known): boolean {
  switch (text[start]) {
    case 'd':
      return isField(text, start, end, 'data');
    case '\n':
    case ':':
      return true;
    case 'e':
      return isField(text, start, end, 'event');
    case 'i': {
      if (!isField(text, start, end, 'id')) return false;
      const id = fieldValue(text, start + 'id'.length, end);
      // "If the field value does not contain U+0000 NULL, then set the last event ID buffer to the field value."
      if (id.includes('\0')) return true;
      known.firstId ??= id;
      known.id = id;
      return true;
    }
    case 'r': {
      if (!isField(text, start, end, 'retry')) return false;
      const value = fieldValue(text, start + 'retry'.length, end);
      // "If the field value consists of only ASCII digits …"
      if (!/^\d+$/.test(value)) return false;
      known.retryMs = Math.min(Number(value), LONGEST_RETRY_MS);
      return true;
    }
    default:
      return false;
  }
}

function isField(text: string, start: number, end: number, name: string): boolean {
  const after = start + name.length;
  return after <= end && text.startsWith(name, start) && (after === end || text[after] === ':');
}

/** The text after a field's name: "if the value starts with a U+0020 SPACE character, remove it". */
function fieldValue(text: string, afterName: number, end: number): string {
  const from = text[afterName + 1] === ' ' ? afterName + 2 : afterName + 1;
  return text.slice(Math.min(from, end), end);
}
