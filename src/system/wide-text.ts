// Finds and changes ASCII text in data that is encoded in UTF-16 or UTF-32. In these encodings, a
// character takes several bytes.

/** The number of NUL bytes around each ASCII character. */
interface Encoding {
  readonly before: number;
  readonly after: number;
}

const ENCODINGS: readonly Encoding[] = [
  { before: 0, after: 1 }, // UTF-16, little-endian
  { before: 1, after: 0 }, // UTF-16, big-endian
  { before: 0, after: 3 }, // UTF-32, little-endian
  { before: 3, after: 0 }, // UTF-32, big-endian
];

const LAST_ASCII = 0x7f;

/**
 * Replaces each run of wide ASCII characters with the result of `change`. Runs can begin at any
 * byte. Returns the data itself when nothing changes.
 * @param shortest runs with fewer characters than this are not changed
 */
export function changeWideText(
  data: Buffer,
  shortest: number,
  change: (text: string) => string,
): Buffer {
  let changed = data;
  for (const encoding of ENCODINGS) {
    if (changed.includes(0)) changed = changeRuns(changed, encoding, shortest, change);
  }
  return changed;
}

function changeRuns(
  data: Buffer,
  encoding: Encoding,
  shortest: number,
  change: (text: string) => string,
): Buffer {
  const width = encoding.before + 1 + encoding.after;
  const parts: Buffer[] = [];
  let end = 0;
  let at = 0;
  while (at + width <= data.length) {
    const runEnd = findEnd(data, at, encoding);
    const characters = (runEnd - at) / width;
    if (characters < shortest) {
      at = findStart(data, characters === 0 ? at + 1 : runEnd, encoding);
      continue;
    }
    const run = data.subarray(at, runEnd);
    const text = narrow(run, encoding);
    const changed = change(text);
    if (changed !== text) {
      parts.push(data.subarray(end, at), widen(changed, encoding));
      end = runEnd;
    }
    at = runEnd;
  }
  return end === 0 ? data : Buffer.concat([...parts, data.subarray(end)]);
}

/**
 * Returns the next position where a character of this encoding can begin. The first NUL byte
 * determines this position: the next character begins at this byte. When the NUL bytes of a
 * character come last, it begins one byte earlier.
 */
function findStart(data: Buffer, from: number, { before }: Encoding): number {
  const offset = before > 0 ? 0 : 1;
  const nul = data.indexOf(0, from + offset);
  return nul === -1 ? data.length : nul - offset;
}

/** Returns the end of the run of characters that begins at a position. */
function findEnd(data: Buffer, from: number, encoding: Encoding): number {
  const width = encoding.before + 1 + encoding.after;
  let end = from;
  while (isCharacter(data, end, encoding)) end += width;
  return end;
}

function isCharacter(data: Buffer, at: number, { before, after }: Encoding): boolean {
  const code = data[at + before] ?? 0;
  if (code === 0 || code > LAST_ASCII) return false;
  for (let index = 0; index < before; index++) {
    if (data[at + index] !== 0) return false;
  }
  for (let index = 1; index <= after; index++) {
    if (data[at + before + index] !== 0) return false;
  }
  return true;
}

function narrow(run: Buffer, { before, after }: Encoding): string {
  const width = before + 1 + after;
  const bytes = Buffer.alloc(run.length / width);
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = run[index * width + before] ?? 0;
  }
  return bytes.toString('latin1');
}

function widen(text: string, { before, after }: Encoding): Buffer {
  const width = before + 1 + after;
  const wide = Buffer.alloc(text.length * width);
  for (let index = 0; index < text.length; index++) {
    wide[index * width + before] = text.charCodeAt(index);
  }
  return wide;
}
