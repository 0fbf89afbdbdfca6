// Between the socket and the parser: cuts the bytes of an event stream into whole events, whatever the line ends and splits.
//
// The grammar is that of the HTML standard, "9.2.5 Parsing an event stream". `eventsource-parser` parses the events; what it
// does not report is found here: the id of an event without data, `retry:`, an event that was cut off, one too big.
// Every byte is looked at a fixed number of times, whatever the pieces it comes in.

import { type Known, learnFrom } from './fields.js';
import { bytesHeld, hold, openHeld, skip, takeWith } from './held.js';

const LF = 10;
const CR = 13;
const BLANK_LINE = Buffer.from('\n\n');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

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
      return bytesHeld(held);
    },
    take(chunk) {
      let bytes = normalize(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength), endedWithCarriageReturn);
      if (chunk.length > 0) endedWithCarriageReturn = chunk[chunk.length - 1] === CR;
      if (held.skippedBytes !== undefined) {
        const end = skip(held, bytes);
        if (end === undefined) return '';
        onTooBig(end.skippedBytes);
        bytes = bytes.subarray(end.at);
      }
      const end = afterLastBlankLine(bytes);
      if (end === 0) {
        hold(held, bytes);
        return '';
      }
      let whole = takeWith(held, bytes.subarray(0, end));
      if (isFirst && whole.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
        whole = whole.subarray(BYTE_ORDER_MARK.length);
      isFirst = false;
      const text = learnFrom(whole.toString('utf8'), known);
      hold(held, bytes.subarray(end));
      return text;
    },
  };
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
