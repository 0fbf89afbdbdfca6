// Filters the bytes between the socket and EventSource.
//
// The filter and EventSource share the parsing, so that each line is parsed once. EventSource parses
// the `data` lines, which the filter passes on unchanged when their event is complete. The filter
// reads `id` and `retry`, because EventSource does not report the id of an event without data, nor
// `retry`. It drops every other line: event names are ignored, and EventSource would create an error
// for each unknown field. It also drops unfinished events and events above the size limit.
//
// The grammar is "9.2.5 Parsing an event stream" of the HTML standard. The work for each byte is
// constant for any chunk sizes. Texts have one character for each byte (latin1), so the length of a
// text is its number of bytes.

/** The information, besides data, from complete events and lines. */
export interface StreamPosition {
  /** The id of the last complete event, in bytes; empty when no event had an id. */
  lastEventId: string;
  /** The first id of this connection. */
  firstId: string | undefined;
  /** The last `retry:` in milliseconds. */
  retryMs: number | undefined;
  /** The number of received bytes of an unfinished event. Comments and `retry:` do not count. */
  partialBytes: number;
}

/** The largest `retry:` that a timer can use. */
const LONGEST_RETRY_MS = Number.MAX_SAFE_INTEGER;

/** "One leading U+FEFF BYTE ORDER MARK character must be ignored". */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/**
 * Creates a filter for one connection. An event above the limit is dropped, and `onTooBig` is
 * called with its size. Comments are never too big.
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
  /** The unfinished line; empty when it is too big or a comment. */
  let line = '';
  let lineBytes = 0;
  let isComment = false;

  /** Returns the data lines of the complete event and the empty line that ends the event. */
  const endEvent = (): string => {
    const { dataLines, bytes, id } = event;
    if (bytes > limitBytes) onTooBig(bytes + 1);
    // The id of a skipped event counts. Otherwise a service that continues after the last id would
    // send the event again forever.
    known.firstId ??= id;
    known.lastEventId = id ?? known.lastEventId;
    event = newEvent();
    return dataLines === '' ? '' : `${dataLines}\n`;
  };

  /** Handles a whole line. Returns the event if the line ends it. */
  const endLine = (line: string): string => {
    if (line === '\n') return endEvent();
    if (line.startsWith(':')) return '';
    if (isField(line, 'retry')) {
      const value = fieldValue(line, 'retry');
      // "If the field value consists of only ASCII digits …"
      if (/^\d+$/.test(value)) known.retryMs = Math.min(Number(value), LONGEST_RETRY_MS);
      return '';
    }
    event.bytes += line.length;
    if (isField(line, 'id')) {
      const value = fieldValue(line, 'id');
      // "If the field value does not contain U+0000 NULL, then set the last event ID buffer to the field value."
      if (!value.includes('\0')) event.id = value;
    }
    if (event.bytes > limitBytes) event.dataLines = '';
    else if (isField(line, 'data')) event.dataLines += line;
    return '';
  };

  /** Handles a part of a line. Returns the event if it is complete. */
  const hold = (piece: string): string => {
    if (lineBytes === 0) isComment = piece.startsWith(':');
    lineBytes += piece.length;
    line = isComment || lineBytes > limitBytes ? '' : line + piece;
    if (!piece.endsWith('\n')) return '';
    const whole = line;
    if (!isComment && lineBytes > limitBytes)
      event = { ...event, dataLines: '', bytes: event.bytes + lineBytes };
    line = '';
    lineBytes = 0;
    return whole === '' ? '' : endLine(whole);
  };

  return {
    known: (): StreamPosition => ({
      ...known,
      partialBytes: event.bytes + (isComment ? 0 : lineBytes),
    }),
    /**
     * Handles received bytes. Returns the data lines of the complete events, with LF line ends and an
     * empty line after each event.
     */
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

/** Creates the state of an unfinished event. Its data lines are dropped once it is too big. */
function newEvent() {
  return { dataLines: '', bytes: 0, id: undefined as string | undefined };
}

/** Whether a line has this field name, which ends at a colon or at the end of the line. */
function isField(line: string, name: string): boolean {
  if (!line.startsWith(name)) return false;
  const end = line[name.length];
  return end === ':' || end === '\n';
}

/** Returns the value of a line with this field name. */
function fieldValue(line: string, name: string): string {
  const value = line.slice(name.length + 1, -1);
  // "If the value starts with a U+0020 SPACE character, remove it".
  return value.startsWith(' ') ? value.slice(1) : value;
}

/**
 * "Lines are separated by CRLF, LF or CR": turns all into LF at once, so that an event before a
 * single CR does not wait.
 */
function openReader(): (chunk: Buffer) => string {
  let isStart = true;
  /** The beginning of a byte order mark, until its other bytes arrive. */
  let held = '';
  let endedWithCarriageReturn = false;
  return (chunk) => {
    if (chunk.length === 0) return '';
    let text = held + chunk.toString('latin1');
    if (isStart && text.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.startsWith(text)) {
      held = text;
      return '';
    }
    held = '';
    if (isStart && text.startsWith(BYTE_ORDER_MARK)) text = text.slice(BYTE_ORDER_MARK.length);
    else if (endedWithCarriageReturn && text.startsWith('\n')) text = text.slice(1);
    isStart = false;
    endedWithCarriageReturn = text.endsWith('\r');
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  };
}
