// Between socket and parser: cuts the bytes of an event stream into lines, and hands on those of whole events.
//
// The grammar is that of the HTML standard, "9.2.5 Parsing an event stream". `eventsource-parser` parses the events; what it
// does not report is found here: the id of an event without data, `retry:`, an event that was cut off, one too big. Lines of other
// names are left out, for it makes an error of each. Every byte is looked at a fixed number of times, whatever the pieces it comes in.

import { StringDecoder } from 'node:string_decoder';

/** What the whole events and lines of a connection have said. */
export interface Known {
  /** The id of the last whole event; '' for none. */
  lastEventId: string;
  /** The first id that came on this connection. */
  firstId: string | undefined;
  /** What `retry:` said last, in milliseconds. */
  retryMs: number | undefined;
}

export interface EventCutter {
  /** Takes bytes as they came; returns the text of the events that are whole now, with LF line ends and known fields alone. */
  take(chunk: Uint8Array): string;
  /** What the events taken so far have said beside their data. */
  readonly known: Readonly<Known>;
  /** How many bytes have come of an event whose end has not; comments and `retry:` are no event. */
  readonly partialBytes: number;
}

/** `retry:` beyond this is a number that a clock can still work with. */
const LONGEST_RETRY_MS = Number.MAX_SAFE_INTEGER;

/** An event whose end has not come: its whole lines, none of them once it is too big. */
interface Unfinished {
  text: string;
  bytes: number;
  id: string | undefined;
  isTooBig: boolean;
}

/** The line that has not ended, in the pieces it came in; none of them once it is too big, or a comment. */
interface Line {
  pieces: string[];
  bytes: number;
  isComment: boolean;
}

const NO_EVENT: Readonly<Unfinished> = { text: '', bytes: 0, id: undefined, isTooBig: false };

/**
 * Makes a cutter for one connection. An event of more than `limitBytes` is not kept: its bytes are passed over and
 * `onTooBig` is called with their number. Comments count for nothing, however long they are.
 */
export function cutEvents(lastEventId: string, limitBytes: number, onTooBig: (bytes: number) => void): EventCutter {
  const known: Known = { lastEventId, firstId: undefined, retryMs: undefined };
  const read = openReader();
  let event: Unfinished = { ...NO_EVENT };
  let line: Line | undefined;

  const learnId = () => {
    if (event.id === undefined) return;
    known.firstId ??= event.id;
    known.lastEventId = event.id;
  };

  /** Counts what came of the event, and lets go of it when that is too much. */
  const count = (bytes: number) => {
    if (!event.isTooBig && event.bytes + bytes > limitBytes) event = { ...event, text: '', isTooBig: true };
    // The id of what is passed over counts all the same, or a service that repeats from there would send it for ever.
    if (event.isTooBig) learnId();
  };

  /** Takes a piece of a line that has not ended. */
  const hold = (piece: string) => {
    if (piece === '') return;
    line ??= { pieces: [], bytes: 0, isComment: piece.startsWith(':') };
    if (line.isComment) return;
    line.bytes += Buffer.byteLength(piece);
    if (line.bytes > limitBytes) line.pieces = [];
    else line.pieces.push(piece);
    count(line.bytes);
  };

  const endEvent = (): string => {
    const { text, bytes, isTooBig } = event;
    learnId();
    event = { ...NO_EVENT };
    if (isTooBig) onTooBig(bytes + 1);
    return text === '' ? '' : `${text}\n`;
  };

  /** Takes a whole line; returns the event that is whole with it. */
  const endLine = (text: string): string => {
    if (text === '') return endEvent();
    const colon = text.indexOf(':');
    const name = colon === -1 ? text : text.slice(0, colon);
    if (name === '') return '';
    if (name === 'retry') {
      // "If the field value consists of only ASCII digits …"
      const value = fieldValue(text, colon);
      if (/^\d+$/.test(value)) known.retryMs = Math.min(Number(value), LONGEST_RETRY_MS);
      return '';
    }
    // "If the field value does not contain U+0000 NULL, then set the last event ID buffer to the field value."
    if (name === 'id' && !text.includes('\0')) event.id = fieldValue(text, colon);
    event.bytes += Buffer.byteLength(text) + 1;
    count(0);
    if (!event.isTooBig && (name === 'data' || name === 'event' || name === 'id')) event.text += `${text}\n`;
    return '';
  };

  /** Takes what comes up to the end of a line. */
  const takeLine = (text: string): string => {
    const begun = line;
    if (begun === undefined) return endLine(text);
    hold(text);
    line = undefined;
    if (begun.isComment) return '';
    if (begun.bytes <= limitBytes) return endLine(begun.pieces.join(''));
    event.bytes += begun.bytes + 1;
    return '';
  };

  return {
    known,
    get partialBytes() {
      return event.bytes + (line?.bytes ?? 0);
    },
    take(chunk) {
      const text = read(chunk);
      let events = '';
      let start = 0;
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
        events += takeLine(text.slice(start, end));
        start = end + 1;
      }
      hold(text.slice(start));
      return events;
    },
  };
}

/** "If the value starts with a U+0020 SPACE character, remove it"; a line without a colon has none. */
function fieldValue(text: string, colon: number): string {
  if (colon === -1) return '';
  return text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
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
