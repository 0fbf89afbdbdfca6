// The lines of an event stream that say something beside the data: ids and `retry:`, by the HTML standard, 9.2.6.

/** `retry:` beyond this is a number that a clock can still work with. */
const LONGEST_RETRY_MS = Number.MAX_SAFE_INTEGER;

/** What the whole events and lines of a connection have said. */
export interface Known {
  /** The id of the last whole event; '' for none. */
  lastEventId: string;
  /** The first id that came on this connection. */
  firstId: string | undefined;
  /** What `retry:` said last, in milliseconds. */
  retryMs: number | undefined;
}

/**
 * Reads ids and `retry:` out of whole lines. Returns what the parser needs of them: lines of other names are left out, for it
 * makes an error of each, and an event may have half a million of them.
 */
export function learnFrom(text: string, known: Known): string {
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
      known.lastEventId = id;
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

/** Whether the line from `start` to `end` is of that field. */
export function isField(text: string, start: number, end: number, name: string): boolean {
  const after = start + name.length;
  return after <= end && text.startsWith(name, start) && (after === end || text[after] === ':');
}

/** The text after a field's name: "if the value starts with a U+0020 SPACE character, remove it". */
function fieldValue(text: string, afterName: number, end: number): string {
  const from = text[afterName + 1] === ' ' ? afterName + 2 : afterName + 1;
  return text.slice(Math.min(from, end), end);
}
