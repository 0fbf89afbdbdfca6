// Between the socket and the parser: cuts the bytes of an event stream into whole events, whatever the line ends and splits.
//
// The grammar is that of the HTML standard, "9.2.5 Parsing an event stream". The parser of `eventsource` does the parsing;
// what it does not tell is found here: the id of an event without data, `retry:`, an event that was cut off, one too big.

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const BLANK_LINE = Buffer.from('\n\n');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NOTHING = Buffer.alloc(0);

export interface EventCutter {
  /** Takes bytes as they came; returns the events that are whole now, with LF line ends. */
  take(chunk: Uint8Array): Uint8Array;
  /** The last event id of the events taken so far; '' when there is none. Only whole events count. */
  readonly lastEventId: string;
  /** What `retry:` said last, in milliseconds. */
  readonly retryMs: number | undefined;
  /** Called at the end of the stream: how many bytes had come of an event whose end never came. */
  end(): number;
}

/**
 * Makes a cutter for one connection. An event of more than `limitBytes` is not kept: its bytes are passed over and
 * `onTooBig` is told how many there were.
 */
export function cutEvents(lastEventId: string, limitBytes: number, onTooBig: (bytes: number) => void): EventCutter {
  let id = lastEventId;
  let retryMs: number | undefined;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let isSkipping = false;
  let skippedBytes = 0;
  let endedWithCarriageReturn = false;
  let isAtLineStart = true;
  let isFirst = true;

  /** "lines are separated by CRLF, LF or CR": all become LF, at once, so that the event before a lone CR need not wait. */
  const normalize = (chunk: Buffer): Buffer => {
    let bytes = chunk;
    if (endedWithCarriageReturn && bytes[0] === LF) bytes = bytes.subarray(1);
    endedWithCarriageReturn = chunk[chunk.length - 1] === CR;
    if (!bytes.includes(CR)) return bytes;
    const lines = Buffer.allocUnsafe(bytes.length);
    let length = 0;
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index];
      if (byte === LF && index > 0 && bytes[index - 1] === CR) continue;
      lines[length++] = byte === CR || byte === undefined ? LF : byte;
    }
    return lines.subarray(0, length);
  };

  /** The index after the first or last blank line, 0 when there is none. */
  const blankLine = (bytes: Buffer, which: 'first' | 'last'): number => {
    const opening = isAtLineStart && bytes[0] === LF ? 1 : 0;
    if (which === 'first' && opening === 1) return 1;
    const found = which === 'first' ? bytes.indexOf(BLANK_LINE) : bytes.lastIndexOf(BLANK_LINE);
    return found === -1 ? opening : found + BLANK_LINE.length;
  };

  const learnRetry = (lines: Buffer) => {
    // "If the field value consists of only ASCII digits …"
    const retry = lastField(lines, 'retry', (value) => /^\d+$/.test(value));
    if (retry !== undefined) retryMs = Number(retry);
  };

  const learn = (lines: Buffer) => {
    const bytes = isFirst && startsWith(lines, BYTE_ORDER_MARK) ? lines.subarray(BYTE_ORDER_MARK.length) : lines;
    isFirst = false;
    // "If the field value does not contain U+0000 NULL, then set the last event ID buffer to the field value."
    id = lastField(bytes, 'id', (value) => !value.includes('\0')) ?? id;
    learnRetry(bytes);
  };

  const hold = (bytes: Buffer) => {
    if (bytes.length === 0) return;
    isAtLineStart = bytes[bytes.length - 1] === LF;
    pending.push(bytes);
    pendingBytes += bytes.length;
    if (pendingBytes <= limitBytes) return;
    // Its id counts all the same, or a service that repeats from there would send it for ever.
    const dropped = Buffer.concat(pending);
    learn(dropped.subarray(0, dropped.lastIndexOf(LF) + 1));
    skippedBytes = pendingBytes;
    pending = [];
    pendingBytes = 0;
    isSkipping = true;
  };

  return {
    get lastEventId() {
      return id;
    },
    get retryMs() {
      return retryMs;
    },
    take(chunk) {
      let bytes = normalize(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      if (bytes.length === 0) return NOTHING;
      if (isSkipping) {
        const end = blankLine(bytes, 'first');
        if (end === 0) {
          skippedBytes += bytes.length;
          isAtLineStart = bytes[bytes.length - 1] === LF;
          return NOTHING;
        }
        learn(bytes.subarray(isAtLineStart ? 0 : bytes.indexOf(LF) + 1, end));
        onTooBig(skippedBytes + end);
        isSkipping = false;
        isAtLineStart = true;
        bytes = bytes.subarray(end);
        if (bytes.length === 0) return NOTHING;
      }
      const end = blankLine(bytes, 'last');
      if (end === 0) {
        hold(bytes);
        return NOTHING;
      }
      const whole = pending.length === 0 ? bytes.subarray(0, end) : Buffer.concat([...pending, bytes.subarray(0, end)]);
      pending = [];
      pendingBytes = 0;
      isAtLineStart = true;
      learn(whole);
      hold(bytes.subarray(end));
      return whole;
    },
    end() {
      if (isSkipping) return skippedBytes;
      const rest = Buffer.concat(pending);
      // `retry:` counts as soon as its line is whole; an id only with the blank line that ends its event.
      learnRetry(rest.subarray(0, rest.lastIndexOf(LF) + 1));
      const lines = rest.toString('latin1').split('\n');
      // Comments and `retry:` need no blank line after them.
      return lines.some((line) => line !== '' && !line.startsWith(':') && !line.startsWith('retry')) ? pendingBytes : 0;
    },
  };
}

function startsWith(bytes: Buffer, beginning: Buffer): boolean {
  return bytes.subarray(0, beginning.length).equals(beginning);
}

/** The value of the last line with that field name whose value is fit; undefined when there is none. */
function lastField(lines: Buffer, name: string, isFit: (value: string) => boolean): string | undefined {
  const beginning = Buffer.from(`\n${name}`);
  for (let from = lines.length; from >= 0; ) {
    const found = lines.lastIndexOf(beginning, from);
    // Not found: the very first line, which has no line end before it, may still be the one.
    if (found === -1 && !startsWith(lines, Buffer.from(name))) return undefined;
    const value = fieldValue(lines, found + 1 + name.length);
    if (value !== undefined && isFit(value)) return value;
    from = found - 1;
  }
  return undefined;
}

/** The text after a field's name: "if the value starts with a U+0020 SPACE character, remove it". */
function fieldValue(lines: Buffer, afterName: number): string | undefined {
  const lineEnd = lines.indexOf(LF, afterName);
  const end = lineEnd === -1 ? lines.length : lineEnd;
  if (afterName === end) return '';
  if (lines[afterName] !== COLON) return undefined;
  const start = lines[afterName + 1] === SPACE ? afterName + 2 : afterName + 1;
  return lines.toString('utf8', Math.min(start, end), end);
}
