// Reading zip archives: zip64, entries without compression, and damaged archives.

import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { readZipDirectory, unpackEntry, ZipError } from '../../src/input/zip.js';

async function unpack(bytes: Buffer, name: string): Promise<string> {
  const entry = readZipDirectory(bytes).get(name);
  if (entry === undefined) throw new Error(`no entry ${name}`);
  const chunks: Uint8Array[] = [];
  const { signal } = new AbortController();
  for await (const chunk of unpackEntry(bytes, entry, { remainingBytes: 1e6 }, signal))
    chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

interface ZipShape {
  method?: number;
  flags?: number;
}

/** Makes an archive with one stored entry. All sizes and offsets are in zip64 fields. */
function makeZip64(name: string, text: string, { method = 0, flags = 0 }: ZipShape = {}): Buffer {
  const data = Buffer.from(text);
  const nameBytes = Buffer.from(name);
  const extra = Buffer.alloc(4 + 24);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(24, 2);
  extra.writeBigUInt64LE(BigInt(data.length), 4);
  extra.writeBigUInt64LE(BigInt(data.length), 12);
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(nameBytes.length, 26);
  const directory = Buffer.alloc(46);
  directory.writeUInt32LE(0x02014b50, 0);
  directory.writeUInt16LE(flags, 8);
  directory.writeUInt16LE(method, 10);
  directory.writeUInt32LE(crc32(data), 16);
  directory.writeUInt32LE(0xffffffff, 20);
  directory.writeUInt32LE(0xffffffff, 24);
  directory.writeUInt16LE(nameBytes.length, 28);
  directory.writeUInt16LE(extra.length, 30);
  directory.writeUInt32LE(0xffffffff, 42);
  const directoryStart = local.length + nameBytes.length + data.length;
  const end64Start = directoryStart + directory.length + nameBytes.length + extra.length;
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(1n, 32);
  end64.writeBigUInt64LE(BigInt(directoryStart), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(end64Start), 8);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(0xffff, 10);
  end.writeUInt32LE(0xffffffff, 16);
  return Buffer.concat([local, nameBytes, data, directory, nameBytes, extra, end64, locator, end]);
}

test('reads an entry of a zip64 archive', async () => {
  expect(await unpack(makeZip64('a.txt', 'hello'), 'a.txt')).toBe('hello');
});

test('reads an archive that ends with a comment', async () => {
  const bytes = makeZip64('a.txt', 'hello');
  bytes.writeUInt16LE(7, bytes.length - 2);
  expect(await unpack(Buffer.concat([bytes, Buffer.from('comment')]), 'a.txt')).toBe('hello');
});

test.each<[string, Buffer, string]>([
  ['an encrypted entry', makeZip64('a', 'x', { flags: 1 }), 'a is encrypted'],
  ['another compression', makeZip64('a', 'x', { method: 14 }), 'compression method 14'],
  ['damaged compressed data', makeZip64('a', 'xxxx', { method: 8 }), 'a is damaged'],
  ['an archive without its end', makeZip64('a', 'x').subarray(0, -10), 'it is cut off'],
  ['an archive without its beginning', makeZip64('a', 'x').subarray(40), 'damaged or cut off'],
])('refuses %s', async (_what, bytes, message) => {
  const promise = unpack(bytes, 'a');
  await expect(promise).rejects.toThrow(ZipError);
  await expect(promise).rejects.toThrow(message);
});

test('does not crash when an archive contains a damaged byte', async () => {
  const bytes = makeZip64('a', 'hello');
  for (let at = 0; at < bytes.length; at++) {
    for (const value of [0x00, 0x7f, 0xff]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = value;
      const outcome = await unpack(damaged, 'a').catch((error: Error) => error);
      const isRefused = outcome instanceof ZipError || (outcome as Error).message === 'no entry a';
      expect({ at, value, isFine: outcome === 'hello' || isRefused }).toEqual({
        at,
        value,
        isFine: true,
      });
    }
  }
});
