// Decodes the bytes of a text file from UTF-8, from UTF-16 with a byte order mark, or from the
// encoding of `--encoding`.

import { usageError } from '../errors.js';
import { BYTE_ORDER_MARKS, decodeWindows1252 } from '../system/charset.js';
import { peek } from './peek.js';

/** The length of the longest byte order mark. */
const LONGEST_MARK_BYTES = 3;

/** The text of a file, decoded while it is read. */
export interface DecodedText {
  /** The text in chunks of any length, without the byte order mark. */
  pieces: AsyncIterable<string>;
  /** Whether the file begins with a byte order mark, as text files from Excel do. */
  hasByteOrderMark: boolean;
}

/** Whether `TextDecoder` knows an encoding with this name. */
export function isEncoding(name: string): boolean {
  try {
    new TextDecoder(name);
    return true;
  } catch {
    return false;
  }
}

/**
 * Decodes a file. The byte order mark determines the encoding. Without one, `encoding` determines
 * it. The default is UTF-8. Throws a FleetError of kind `usage` for bytes that are invalid in the
 * encoding. `source` is the file's name in the error.
 */
export async function decodeText(
  chunks: AsyncIterable<Uint8Array>,
  source: string,
  encoding: string | undefined,
): Promise<DecodedText> {
  const { first: start, rest } = await peek(chunks, LONGEST_MARK_BYTES);
  const mark = BYTE_ORDER_MARKS.find(({ bytes }) =>
    bytes.every((byte, index) => start[index] === byte),
  );
  if (mark === undefined && encoding === undefined) refuseUtf16(start, source);
  const name = mark?.charset ?? encoding ?? 'utf-8';
  const body = rest(mark?.bytes.length ?? 0);
  const pieces = decodePieces(body, openDecoder(name), source, encoding);
  return { pieces, hasByteOrderMark: mark !== undefined };
}

/**
 * Throws for UTF-16 without a byte order mark. Such text is recognised by its NUL bytes: for common
 * letters, every second byte of UTF-16 is NUL.
 */
function refuseUtf16([first, second]: Uint8Array, source: string): void {
  const isLittleEndian = first !== 0 && second === 0;
  const isBigEndian = first === 0 && second !== 0 && second !== undefined;
  if (!isLittleEndian && !isBigEndian) return;
  throw usageError(
    `${source} is UTF-16 without a byte order mark; nothing was sent`,
    `add --encoding ${isLittleEndian ? 'utf-16le' : 'utf-16be'}, or save the file as UTF-8`,
  );
}

type Decode = (chunk?: Uint8Array) => string;

function openDecoder(name: string): Decode {
  const decoder = new TextDecoder(name, { fatal: true, ignoreBOM: true });
  const decode: Decode = (chunk) => decoder.decode(chunk, { stream: chunk !== undefined });
  // Fleet decodes windows-1252 itself, because Node 20 and 22 turn the bytes 80 to 9F into control
  // characters.
  if (decoder.encoding === 'windows-1252')
    return (chunk = new Uint8Array(0)) => decodeWindows1252(Buffer.from(chunk));
  return decode;
}

async function* decodePieces(
  chunks: AsyncIterable<Uint8Array>,
  decode: Decode,
  source: string,
  encoding: string | undefined,
): AsyncGenerator<string, void, undefined> {
  const attempt = (chunk?: Uint8Array) => {
    try {
      return decode(chunk);
    } catch {
      throw undecodable(source, encoding);
    }
  };
  for await (const chunk of chunks) yield attempt(chunk);
  yield attempt();
}

function undecodable(source: string, encoding: string | undefined) {
  if (encoding !== undefined)
    return usageError(
      `${source} is not valid ${encoding}; nothing was sent`,
      'check --encoding, or save the file as UTF-8',
    );
  return usageError(
    `${source} is not UTF-8; nothing was sent`,
    'for a CSV file that Excel saved, add --encoding windows-1252; otherwise save the file as UTF-8',
  );
}
