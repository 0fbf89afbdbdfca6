// Between socket and parser: cuts the bytes of an event stream into whole events, whatever the line ends and splits.
//
// The grammar is that of the HTML standard, "9.2.5 Parsing an event stream". `eventsource-parser` parses the events; what it
// does not report is found here: the id of an event without data, `retry:`, an event that was cut off, one too big.
// Every byte is looked at a fixed number of times, whatever the pieces it comes in.

import { StringDecoder } from 'node:string_decoder';
import { isField, type Known, learnFrom } from './fields.js';

/** Of an event that is passed over, lines up to this length are looked at: an id is shorter. */
const ID_LINE_LIMIT_BYTES = 8 * 1024;

export interface EventCutter {
  /** Takes bytes as they came; returns the text of the events that are whole now, with LF line ends and known fields alone. */
  take(chunk: Uint8Array): string;
  /** What the events taken so far have said beside their data. */
  readonly known: Readonly<Known>;
  /** How many bytes have come of an event whose end has not; comments and `retry:` are no event. */
  readonly partialBytes: number;
}

/** An event whose end has not come: its whole lines, none of them once it is too big. */
interface Unfinished {
  lines: string[];
  bytes: number;
  isTooBig: boolean;
}

/** The line that has not ended, in the pieces it came in; nothing is kept of one that is passed over. */
interface Line {
  pieces: string[];
  bytes: number;
  isPassedOver: boolean;
}

/**
 * Makes a cutter for one connection. An event of more than `limitBytes` is not kept: its bytes are passed over and
 * `onTooBig` is called with their number. Comments count for nothing, however long they are.
 */
export function cutEvents(lastEventId: string, limitBytes: number, onTooBig: (bytes: number) => void): EventCutter {
  const known: Known = { lastEventId, firstId: undefined, retryMs: undefined };
  const read = openReader();
  let event: Unfinished = { lines: [], bytes: 0, isTooBig: false };
  let line: Line | undefined;

  /** The id of what is passed over counts all the same, or a service that repeats from there would send it for ever. */
  const learnId = (text: string) => {
    if (text.length <= ID_LINE_LIMIT_BYTES) learnFrom(text, known);
  };
  const passOver = () => {
    event.isTooBig = true;
    event.lines.forEach(learnId);
    event.lines = [];
  };

  /** Keeps whole lines that do not end the event; `retry:` counts at once. */
  const holdLines = (text: string) => {
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf('\n', start) + 1;
      const whole = text.slice(start, end);
      start = end;
      if (isField(whole, 0, whole.length - 1, 'retry')) learnFrom(whole, known);
      else if (!whole.startsWith(':')) {
        event.bytes += Buffer.byteLength(whole);
        if (event.isTooBig) learnId(whole);
        else event.lines.push(whole);
      }
    }
    if (event.bytes > limitBytes && !event.isTooBig) passOver();
  };

  /** Keeps what has come of a line. */
  const holdPiece = (piece: string) => {
    if (piece === '') return;
    const isComment = line === undefined ? piece.startsWith(':') : line.isPassedOver && line.bytes === 0;
    line ??= { pieces: [], bytes: 0, isPassedOver: isComment };
    if (isComment) return;
    line.bytes += Buffer.byteLength(piece);
    if (event.bytes + line.bytes > limitBytes && !event.isTooBig) passOver();
    line.isPassedOver ||= event.isTooBig && line.bytes > ID_LINE_LIMIT_BYTES;
    if (line.isPassedOver) line.pieces = [];
    else line.pieces.push(piece);
  };

  /** The lines of a text that ends with one, the beginning of the first included; without it where that is passed over. */
  const endLine = (text: string): string => {
    const begun = line;
    if (begun === undefined) return text;
    line = undefined;
    if (!begun.isPassedOver) return begun.pieces.join('') + text;
    const end = text.indexOf('\n') + 1;
    if (begun.bytes > 0) event.bytes += begun.bytes + Buffer.byteLength(text.slice(0, end));
    return text.slice(end);
  };

  /** Takes whole lines; returns the events that are whole with them. */
  const takeLines = (text: string): string => {
    const end = afterLastBlankLine(text);
    if (end === 0) {
      holdLines(text);
      return '';
    }
    const begun = event;
    const start = begun.isTooBig ? afterFirstBlankLine(text) : 0;
    holdLines(text.slice(0, start));
    if (begun.isTooBig) onTooBig(begun.bytes);
    event = { lines: [], bytes: 0, isTooBig: false };
    const whole = learnFrom(begun.lines.join('') + text.slice(start, end), known);
    holdLines(text.slice(end));
    return whole;
  };

  return {
    known,
    get partialBytes() {
      return event.bytes + (line?.bytes ?? 0);
    },
    take(chunk) {
      const text = read(chunk);
      const end = text.lastIndexOf('\n') + 1;
      const events = end === 0 ? '' : takeLines(endLine(text.slice(0, end)));
      holdPiece(text.slice(end));
      return events;
    },
  };
}

/** "Lines are separated by CRLF, LF or CR": all become LF, at once, so that the event before a lone CR need not wait. */
function openReader(): (chunk: Uint8Array) => string {
  const decoder = new StringDecoder('utf8');
  let isFirst = true;
  let endedWithCarriageReturn = false;
  return (chunk) => {
    let text = decoder.write(chunk);
    if (text === '') return text;
    if ((isFirst && text.startsWith('\uFEFF')) || (endedWithCarriageReturn && text.startsWith('\n')))
      text = text.slice(1);
    isFirst = false;
    endedWithCarriageReturn = text.endsWith('\r');
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  };
}

/** The index after the last blank line of whole lines, 0 when there is none. */
function afterLastBlankLine(lines: string): number {
  const found = lines.lastIndexOf('\n\n');
  return found === -1 ? Number(lines.startsWith('\n')) : found + 2;
}

function afterFirstBlankLine(lines: string): number {
  return lines.startsWith('\n') ? 1 : lines.indexOf('\n\n') + 2;
}
