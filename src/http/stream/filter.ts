// Filters the bytes between socket and EventSource: passes whole events, skips events that are too
// big, and records ids and `retry:`.
//
// The grammar is "9.2.5 Parsing an event stream" of the HTML standard. EventSource does not report
// the id of an event without data, `retry:`, an unfinished event, or an event that is too big.
// Event names are ignored. The work per byte is constant for any chunk sizes. Texts have one
// character per byte (latin1), which makes line ends fast to find and lengths equal to bytes.

/** The information from whole events and lines besides their data. */
export interface StreamPosition {
  /** The id of the last whole event, in bytes; empty without one. */
  lastEventId: string;
  /** The first id of this connection. */
  firstId: string | undefined;
  /** The last `retry:` in milliseconds. */
  retryMs: number | undefined;
  /** The received bytes of an unfinished event. Comments and `retry:` do not count. */
  partialBytes: number;
}

/** The largest `retry:` that a clock can use. */
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

  const endEvent = (): string => {
    const { text, bytes, id } = event;
    if (bytes > limitBytes) onTooBig(bytes + 1);
    // The id of a skipped event counts, because a service that continues after the last id would
    // send the event again forever.
    known.firstId ??= id;
    known.lastEventId = id ?? known.lastEventId;
    event = newEvent();
    return text === '' ? '' : `${text}\n`;
  };

  /** Handles the end of a line. Returns the event if it is complete. */
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
    // Drop other fields, because the parser reports unknown fields as errors.
    else if (name === 'data' || name === 'id') event.text += text;
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
    /**
     * Handles received bytes. Returns the complete events with LF line ends and known fields only.
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

/** The state of an unfinished event: its lines, or none once it is too big. */
function newEvent() {
  return { text: '', bytes: 0, id: undefined as string | undefined };
}

/** Splits a line into name and value. A comment has an empty name. */
function readField(text: string): { name: string; value: string } {
  const colon = text.indexOf(':');
  if (colon === -1) return { name: text, value: '' };
  // "If the value starts with a U+0020 SPACE character, remove it".
  return {
    name: text.slice(0, colon),
    value: text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1),
  };
}

/**
 * "Lines are separated by CRLF, LF or CR": turns all into LF at once, so that an event before a
 * single CR does not wait.
 */
function openReader(): (chunk: Buffer) => string {
  let isStart = true;
  /** The beginning of a byte order mark whose rest has not arrived. */
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
