// Reads the entries of a zip archive in memory. The central directory of the archive lists them.

import { setImmediate } from 'node:timers/promises';
import { crc32, createInflateRaw } from 'node:zlib';

const LOCAL_HEADER = 0x04034b50;
const DIRECTORY_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
const ZIP64_LOCATOR = 0x07064b50;
const ZIP64_END_OF_DIRECTORY = 0x06064b50;

const LOCAL_HEADER_BYTES = 30;
const DIRECTORY_HEADER_BYTES = 46;
const END_OF_DIRECTORY_BYTES = 22;
const ZIP64_LOCATOR_BYTES = 20;
const LONGEST_COMMENT_BYTES = 0xffff;
const ZIP64_EXTRA_FIELD = 1;
const IN_ZIP64_32_BITS = 0xffffffff;
const IN_ZIP64_16_BITS = 0xffff;

const ENCRYPTED_FLAG = 1;
const STORED = 0;
const DEFLATED = 8;

/**
 * The maximum number of entries. Workbooks have an entry for each sheet, picture and drawing.
 * Thousands of entries are rare.
 */
const MOST_ENTRIES = 20_000;
const CHUNK_BYTES = 64 * 1024;

/**
 * Thrown when an archive is damaged or uses an unsupported feature. The message follows "FILE is
 * not a readable .xlsx file: ".
 */
export class ZipError extends Error {}

export interface ZipEntry {
  /** The path of the entry in the archive, with forward slashes. */
  readonly name: string;
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly checksum: number;
  readonly packedBytes: number;
  readonly unpackedBytes: number;
  readonly headerOffset: number;
}

/**
 * The number of bytes that may still be unpacked from an archive. All entries share this number.
 */
export interface UnpackLimit {
  remainingBytes: number;
}

/** Thrown when all unpacked entries together exceed the limit. */
export class UnpackLimitError extends Error {}

/**
 * Returns the entries by name, in lower case because the names in a workbook are case-insensitive.
 * Throws a ZipError when the directory is damaged or two entries have the same name.
 */
export function readZipDirectory(bytes: Buffer): Map<string, ZipEntry> {
  const { entryCount, offset } = findDirectory(bytes);
  if (entryCount > MOST_ENTRIES) throw new ZipError(`it has more than ${MOST_ENTRIES} entries`);
  const entries = new Map<string, ZipEntry>();
  let position = offset;
  for (let index = 0; index < entryCount; index++) {
    checkRange(bytes, position, DIRECTORY_HEADER_BYTES);
    if (bytes.readUInt32LE(position) !== DIRECTORY_HEADER) throw damagedDirectory();
    const nameBytes = bytes.readUInt16LE(position + 28);
    const extraBytes = bytes.readUInt16LE(position + 30);
    const commentBytes = bytes.readUInt16LE(position + 32);
    const headerBytes = DIRECTORY_HEADER_BYTES + nameBytes + extraBytes + commentBytes;
    checkRange(bytes, position, headerBytes);
    const entry = readDirectoryEntry(bytes, position, nameBytes, extraBytes);
    const key = entry.name.toLowerCase();
    if (entries.has(key)) throw new ZipError(`it has two entries named ${entry.name}`);
    entries.set(key, entry);
    position += headerBytes;
  }
  return entries;
}

function damagedDirectory(): ZipError {
  return new ZipError('its zip directory is damaged or cut off');
}

function checkRange(bytes: Buffer, offset: number, length: number): void {
  if (offset < 0 || offset + length > bytes.length) throw damagedDirectory();
}

function findDirectory(bytes: Buffer): { entryCount: number; offset: number } {
  const lowest = Math.max(0, bytes.length - END_OF_DIRECTORY_BYTES - LONGEST_COMMENT_BYTES);
  for (let at = bytes.length - END_OF_DIRECTORY_BYTES; at >= lowest; at--) {
    if (bytes.readUInt32LE(at) !== END_OF_DIRECTORY) continue;
    const entryCount = bytes.readUInt16LE(at + 10);
    const offset = bytes.readUInt32LE(at + 16);
    const isZip64 = entryCount === IN_ZIP64_16_BITS || offset === IN_ZIP64_32_BITS;
    return isZip64 ? findZip64Directory(bytes, at) : { entryCount, offset };
  }
  throw new ZipError('it is cut off: the zip directory at its end is missing');
}

function findZip64Directory(
  bytes: Buffer,
  endOffset: number,
): { entryCount: number; offset: number } {
  const locator = endOffset - ZIP64_LOCATOR_BYTES;
  checkRange(bytes, locator, ZIP64_LOCATOR_BYTES);
  if (bytes.readUInt32LE(locator) !== ZIP64_LOCATOR) throw damagedDirectory();
  const end = Number(bytes.readBigUInt64LE(locator + 8));
  checkRange(bytes, end, 56);
  if (bytes.readUInt32LE(end) !== ZIP64_END_OF_DIRECTORY) throw damagedDirectory();
  return {
    entryCount: Number(bytes.readBigUInt64LE(end + 32)),
    offset: Number(bytes.readBigUInt64LE(end + 48)),
  };
}

function readDirectoryEntry(
  bytes: Buffer,
  position: number,
  nameBytes: number,
  extraBytes: number,
): ZipEntry {
  const nameStart = position + DIRECTORY_HEADER_BYTES;
  const extraStart = nameStart + nameBytes;
  const [unpackedBytes, packedBytes, headerOffset] = readZip64Sizes(
    bytes.subarray(extraStart, extraStart + extraBytes),
    [
      bytes.readUInt32LE(position + 24),
      bytes.readUInt32LE(position + 20),
      bytes.readUInt32LE(position + 42),
    ],
  );
  return {
    name: bytes.toString('utf8', nameStart, extraStart).replaceAll('\\', '/'),
    method: bytes.readUInt16LE(position + 10),
    isEncrypted: (bytes.readUInt16LE(position + 8) & ENCRYPTED_FLAG) !== 0,
    checksum: bytes.readUInt32LE(position + 16),
    packedBytes,
    unpackedBytes,
    headerOffset,
  };
}

type Sizes = [unpackedBytes: number, packedBytes: number, headerOffset: number];

/**
 * Replaces each size that is 0xFFFFFFFF. Its real value is the next 64-bit number in the zip64
 * extra field.
 */
function readZip64Sizes(extra: Buffer, sizes: Sizes): Sizes {
  if (!sizes.includes(IN_ZIP64_32_BITS)) return sizes;
  let fieldStart = 0;
  while (fieldStart + 4 <= extra.length) {
    const fieldBytes = extra.readUInt16LE(fieldStart + 2);
    if (extra.readUInt16LE(fieldStart) === ZIP64_EXTRA_FIELD)
      return replaceWithZip64(extra.subarray(fieldStart + 4, fieldStart + 4 + fieldBytes), sizes);
    fieldStart += 4 + fieldBytes;
  }
  throw damagedDirectory();
}

function replaceWithZip64(field: Buffer, sizes: Sizes): Sizes {
  let at = 0;
  const replace = (size: number) => {
    if (size !== IN_ZIP64_32_BITS) return size;
    checkRange(field, at, 8);
    at += 8;
    return Number(field.readBigUInt64LE(at - 8));
  };
  const [unpackedBytes, packedBytes, headerOffset] = sizes;
  return [replace(unpackedBytes), replace(packedBytes), replace(headerOffset)];
}

/**
 * Yields the unpacked bytes of an entry in chunks of at most 64 KB, so that other work can run
 * between the chunks. Throws a ZipError for a damaged entry, an UnpackLimitError above the size
 * limit, and the signal's reason when the signal is aborted.
 */
export async function* unpackEntry(
  bytes: Buffer,
  entry: ZipEntry,
  limit: UnpackLimit,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let checksum = 0;
  let unpackedBytes = 0;
  try {
    for await (const chunk of openEntry(bytes, entry)) {
      signal.throwIfAborted();
      unpackedBytes += chunk.length;
      limit.remainingBytes -= chunk.length;
      if (limit.remainingBytes < 0) throw new UnpackLimitError();
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } catch (error) {
    // zlib errors have codes such as Z_DATA_ERROR. Other errors are rethrown, such as an
    // UnpackLimitError or an error from the code that reads the chunks.
    if (!isZlibError(error)) throw error;
    throw new ZipError(`${entry.name} is damaged (${error.message})`);
  }
  if (unpackedBytes !== entry.unpackedBytes || checksum !== entry.checksum)
    throw new ZipError(`${entry.name} is damaged (its size or checksum is wrong)`);
}

function isZlibError(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return typeof error.code === 'string' && error.code.startsWith('Z_');
}

function openEntry(bytes: Buffer, entry: ZipEntry): AsyncIterable<Buffer> {
  if (entry.isEncrypted) throw new ZipError(`${entry.name} is encrypted`);
  const packed = packedDataOf(bytes, entry);
  if (entry.method === STORED) return inChunks(packed);
  if (entry.method !== DEFLATED)
    throw new ZipError(`${entry.name} uses the unsupported compression method ${entry.method}`);
  const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES });
  inflate.end(packed);
  return inflate;
}

function packedDataOf(bytes: Buffer, entry: ZipEntry): Buffer {
  checkRange(bytes, entry.headerOffset, LOCAL_HEADER_BYTES);
  if (bytes.readUInt32LE(entry.headerOffset) !== LOCAL_HEADER) throw damagedDirectory();
  const nameBytes = bytes.readUInt16LE(entry.headerOffset + 26);
  const extraBytes = bytes.readUInt16LE(entry.headerOffset + 28);
  const start = entry.headerOffset + LOCAL_HEADER_BYTES + nameBytes + extraBytes;
  checkRange(bytes, start, entry.packedBytes);
  return bytes.subarray(start, start + entry.packedBytes);
}

async function* inChunks(data: Buffer): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < data.length; at += CHUNK_BYTES) {
    yield data.subarray(at, at + CHUNK_BYTES);
    await setImmediate();
  }
}
