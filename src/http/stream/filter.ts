// Filters the bytes between the socket and EventSource.
//
// Each line is parsed once, by the filter or by EventSource. EventSource parses `data` lines. The
// filter passes them on unchanged when their event is complete. The filter parses `id` and `retry`
// lines. EventSource reports neither `retry` nor the id of an event without data. The filter drops
// all other lines. Event names are not used, and EventSource would create an error for each unknown
// field. The filter also drops unfinished events and events above the size limit.
//
// The grammar is "9.2.5 Parsing an event stream" of the HTML standard. The processing time per byte
// is the same for small and large chunks. Text is decoded as latin1, so its length equals its
// number of bytes.

/** The position in a stream, and other stream information that is not part of an event's data. */
export interface StreamPosition {
  /** The id of the last complete event, as latin1; '' when no event had an id. */
  lastEventId: string;
  /** The first event id that was received on this connection. */
  firstId: string | undefined;
  /** The value of the last `retry:` line in milliseconds. */
  retryMs: number | undefined;
  /**
   * The number of bytes that were received for an unfinished event. Comments and `retry:` lines are
   * not counted.
   */
  partialBytes: number;
}

/**
 * The maximum value that is accepted from a `retry:` line. A larger value is reduced to this one.
 */
const LONGEST_RETRY_MS = Number.MAX_SAFE_INTEGER;

/** HTML standard: "One leading U+FEFF BYTE ORDER MARK character must be ignored". */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/**
 * Creates a filter for one connection. Drops events above the size limit and calls `onTooBig` with
 * their size. Comments can have any size.
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
  /**
   * The received part of the current line. It stays empty for a comment and for a line that is too
   * long.
   */
  let line = '';
  let lineBytes = 0;
  let isComment = false;

  /**
   * Called at the end of an event. Returns the event's data lines and the empty line that ends the
   * event. Returns '' for an event without data.
   */
  const endEvent = (): string => {
    const { dataLines, bytes, id } = event;
    if (bytes > limitBytes) onTooBig(bytes + 1);
    // The id of a skipped event is stored like any other id. Otherwise the service would resend
    // this event after each reconnect.
    known.firstId ??= id;
    known.lastEventId = id ?? known.lastEventId;
    event = newEvent();
    return dataLines === '' ? '' : `${dataLines}\n`;
  };

  /**
   * Handles a complete line. Returns the event data when this line ends the event, otherwise ''.
   */
  const endLine = (line: string): string => {
    if (line === '\n') return endEvent();
    if (line.startsWith(':')) return '';
    if (isField(line, 'retry')) {
      const value = fieldValue(line, 'retry');
      // HTML standard: "If the field value consists of only ASCII digits …"
      if (/^\d+$/.test(value)) known.retryMs = Math.min(Number(value), LONGEST_RETRY_MS);
      return '';
    }
    event.bytes += line.length;
    if (isField(line, 'id')) {
      const value = fieldValue(line, 'id');
      // HTML standard: "If the field value does not contain U+0000 NULL, then set the last event ID
      // buffer to the field value."
      if (!value.includes('\0')) event.id = value;
    }
    if (event.bytes > limitBytes) event.dataLines = '';
    else if (isField(line, 'data')) event.dataLines += line;
    return '';
  };

  /** Handles a part of a line. Returns the event when this part ends the event, otherwise ''. */
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
     * Handles received bytes. Returns the data lines of the complete events. Lines end with LF, and
     * an empty line follows each event.
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

/** Returns the state of a new, empty event. */
function newEvent() {
  return { dataLines: '', bytes: 0, id: undefined as string | undefined };
}

/**
 * Whether a line has this field name. After the name, there must be a colon or the end of the line.
 */
function isField(line: string, name: string): boolean {
  if (!line.startsWith(name)) return false;
  const end = line[name.length];
  return end === ':' || end === '\n';
}

/** Returns the text after the field name and the colon. The line must have this field name. */
function fieldValue(line: string, name: string): string {
  const value = line.slice(name.length + 1, -1);
  // HTML standard: "If the value starts with a U+0020 SPACE character, remove it".
  return value.startsWith(' ') ? value.slice(1) : value;
}

/**
 * Returns a decoder that replaces all line endings with LF. "Lines are separated by CRLF, LF or
 * CR." A CR is replaced immediately. Waiting for an LF that may follow would delay the event.
 */
function openReader(): (chunk: Buffer) => string {
  let isStart = true;
  /**
   * The possible beginning of a byte order mark. It consists of the first bytes of the stream, and
   * is kept until the next chunk arrives.
   */
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
