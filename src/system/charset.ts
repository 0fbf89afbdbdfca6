// Decodes bytes into text, given the name of their character set. Invalid bytes are an error or are
// replaced.

import { isAscii, isUtf8 } from 'node:buffer';

const UTF8 = 'utf-8';
const ASCII_NAMES = ['us-ascii', 'ascii', 'ansi_x3.4-1968', 'iso646-us'];

/**
 * The characters of windows-1252 for the bytes 0x80 to 0x9f. Its other bytes equal Unicode code
 * points.
 */
const WINDOWS_1252_80_TO_9F =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f' +
  '\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';

/**
 * Byte order marks. As in browsers, a byte order mark has priority over a declared character set.
 */
export const BYTE_ORDER_MARKS: readonly {
  readonly charset: string;
  readonly bytes: readonly number[];
}[] = [
  { charset: UTF8, bytes: [0xef, 0xbb, 0xbf] },
  { charset: 'utf-16le', bytes: [0xff, 0xfe] },
  { charset: 'utf-16be', bytes: [0xfe, 0xff] },
];

/** The decoded text, or the reason why the bytes cannot be decoded. */
export type Decoded =
  | { text: string; charset: string; problem?: undefined }
  | { charset: string; problem: 'unknown-charset' | 'invalid-bytes' };

/**
 * Decodes bytes. Reports invalid bytes as a problem instead of replacing them. A byte order mark
 * determines the character set and is removed. `charset` is any label of the WHATWG Encoding
 * Standard.
 */
export function decodeBytes(bytes: Buffer, charset = UTF8): Decoded {
  const mark = BYTE_ORDER_MARKS.find((each) =>
    each.bytes.every((byte, index) => bytes[index] === byte),
  );
  const name = mark?.charset ?? charset.trim().toLowerCase();
  const content = bytes.subarray(mark?.bytes.length ?? 0);
  if (ASCII_NAMES.includes(name)) return decodeAscii(content, name);
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(name, { fatal: true, ignoreBOM: true });
  } catch {
    return { charset: name, problem: 'unknown-charset' };
  }
  // UTF-8 is decoded with Buffer, which is several times faster than TextDecoder.
  if (decoder.encoding === UTF8) {
    if (!isUtf8(content)) return { charset: UTF8, problem: 'invalid-bytes' };
    return { charset: UTF8, text: content.toString('utf8') };
  }
  // Node 20 and 22 decode 0x80 to 0x9f of windows-1252 as control characters.
  if (decoder.encoding === 'windows-1252')
    return { charset: name, text: decodeWindows1252(content) };
  try {
    return { charset: name, text: decoder.decode(content) };
  } catch {
    return { charset: name, problem: 'invalid-bytes' };
  }
}

/**
 * Decodes any bytes for a message. Bytes that are invalid in the character set and in UTF-8 are
 * decoded as windows-1252, the former default of HTTP.
 */
export function decodeForMessage(bytes: Buffer, charset?: string): string {
  const decoded = decodeBytes(bytes, charset);
  if (decoded.problem === undefined) return decoded.text;
  const fallback = decodeBytes(bytes);
  return fallback.problem === undefined ? fallback.text : decodeWindows1252(bytes);
}

function decodeAscii(bytes: Buffer, charset: string): Decoded {
  if (!isAscii(bytes)) return { charset, problem: 'invalid-bytes' };
  return { charset, text: bytes.toString('latin1') };
}

/** Decodes windows-1252, which has one byte for each character. */
export function decodeWindows1252(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(
      /[\x80-\x9f]/g,
      (character) => WINDOWS_1252_80_TO_9F[character.charCodeAt(0) - 0x80] ?? '',
    );
}
