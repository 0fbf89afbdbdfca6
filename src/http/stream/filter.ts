// Filters the bytes between socket and EventSource: passes whole events on, skips those that are too big, notes ids and `retry:`.
//
// The grammar is that of the HTML standard, "9.2.5 Parsing an event stream". It does not report the id of an event without
// data, `retry:`, an event that was cut off, nor one too big; and names of events count for nothing here: all are messages. Every byte is looked at a fixed number of times, whatever the
// pieces it comes in. Texts hold the bytes as they came, a character each (latin1): line ends are found faster, and lengths are bytes.

/** What the whole events and lines of a connection have said beside their data. */
export interface StreamPosition {
  /** The id of the last whole event, in its bytes; '' for none. */
  lastEventId: string;
  /** The first id that came on this connection. */
  firstId: string | undefined;
  /** What `retry:` said last, in milliseconds. */
  retryMs: number | undefined;
  /** How many bytes have come of an event whose end has not; comments and `retry:` are no event. */
  partialBytes: number;
}

/** `retry:` beyond this is a number that a clock can still work with. */
const LONGEST_RETRY_MS = Number.MAX_SAFE_INTEGER;

/** "One leading U+FEFF BYTE ORDER MARK character must be ignored". */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/**
 * Makes a filter for one connection; an event of more than the limit is not kept, and `onTooBig` is called with its size. Comments count for
 * nothing, however long they are.
 */
export function filterEvents(
  lastEventId: string,
  limitBytes: number,
  onTooBig: (bytes: number) => void,
) {
  const known = {
    lastEventId,
    firstId: undefined as string | undefined,
    retryMs: undefined as number | undefined,
  };
  const read = openReader();
  let event = newEvent();
  /** The line that has not ended; nothing of it once it is too big, or a comment. */
  let line = '';
  let lineBytes = 0;
  let isComment = false;

  const endEvent = (): string => {
    const { text, bytes, id } = event;
    if (bytes > limitBytes) onTooBig(bytes + 1);
    // The id of what is passed over counts all the same, or a service that repeats from there would send it for ever.
    known.firstId ??= id;
    known.lastEventId = id ?? known.lastEventId;
    event = newEvent();
    return text === '' ? '' : `${text}\n`;
  };

  /** Takes a whole line with its end; returns the event that is whole with it. */
  const endLine = (text: string): string => {
    if (text === '\n') return endEvent();
    const { name, value } = readField(text.slice(0, -1));
    // "If the field value consists of only ASCII digits …"
    if (name === 'retry' && /^\d+$/.test(value))
      known.retryMs = Math.min(Number(value), LONGEST_RETRY_MS);
    if (name === 'retry' || name === '') return '';
    // "If the field value does not contain U+0000 NULL, then set the last event ID buffer to the field value."
    if (name === 'id' && !value.includes('\0')) event.id = value;
    event.bytes += text.length;
    if (event.bytes > limitBytes) event.text = '';
    // Other fields are left out: the parser makes an error of each that it does not know.
    else if (name === 'data' || name === 'id') event.text += text;
    return '';
  };

  /** Takes a piece of a line, the last one with its end; returns the event that is whole with it. */
  const hold = (piece: string): string => {
    if (lineBytes === 0) isComment = piece.startsWith(':');
    lineBytes += piece.length;
    line = isComment || lineBytes > limitBytes ? '' : line + piece;
    if (!piece.endsWith('\n')) return '';
    const whole = line;
    if (!isComment && lineBytes > limitBytes)
      event = { ...event, text: '', bytes: event.bytes + lineBytes };
    line = '';
    lineBytes = 0;
    return whole === '' ? '' : endLine(whole);
  };

  return {
    known: (): StreamPosition => ({
      ...known,
      partialBytes: event.bytes + (isComment ? 0 : lineBytes),
    }),
    /** Takes bytes as they came; returns the events that are whole now, with LF line ends and known fields alone. */
    take(chunk: Buffer): string {
      const text = read(chunk);
      let events = '';
      let start = 0;
      for (
        let end = text.indexOf('\n') + 1;
        end !== 0;
        start = end, end = text.indexOf('\n', start) + 1
      ) {
        const piece = text.slice(start, end);
        events += lineBytes === 0 ? endLine(piece) : hold(piece);
      }
      if (start < text.length) hold(text.slice(start));
      return events;
    },
  };
}

/** An event whose end has not come: the lines that are handed on, none of them once it is too big. */
function newEvent() {
  return { text: '', bytes: 0, id: undefined as string | undefined };
}

/** A line without its end as name and value; a comment has no name. */
function readField(text: string): { name: string; value: string } {
  const colon = text.indexOf(':');
  if (colon === -1) return { name: text, value: '' };
  // "If the value starts with a U+0020 SPACE character, remove it".
  return {
    name: text.slice(0, colon),
    value: text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1),
  };
}

/** "Lines are separated by CRLF, LF or CR": all become LF, at once, so that the event before a lone CR need not wait. */
function openReader(): (chunk: Buffer) => string {
  let isStart = true;
  let endedWithCarriageReturn = false;
  return (chunk) => {
    if (chunk.length === 0) return '';
    let text = chunk.toString('latin1');
    if (isStart && text.startsWith(BYTE_ORDER_MARK)) text = text.slice(BYTE_ORDER_MARK.length);
    else if (endedWithCarriageReturn && text.startsWith('\n')) text = text.slice(1);
    isStart = false;
    endedWithCarriageReturn = text.endsWith('\r');
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  };
}
