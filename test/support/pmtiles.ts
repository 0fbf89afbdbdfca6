// Writes small PMTiles archives (version 3): vector tiles with land that covers the whole world.

import { gzipSync } from 'node:zlib';

const HEADER_BYTES = 127;

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left >= 0x80) {
    bytes.push((left % 0x80) + 0x80);
    left = Math.floor(left / 0x80);
  }
  return [...bytes, left];
}

/** A field of a protocol buffer with a length, such as a text or a message. */
function field(number: number, bytes: readonly number[]): number[] {
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
}

/** A vector tile with one layer, `earth`, and a polygon that fills the tile. */
function worldTile(): Buffer {
  const extent = 4096;
  const [forward, back] = [extent * 2, extent * 2 - 1];
  const geometry = [9, 0, 0, 26, forward, 0, 0, forward, back, 0, 15].flatMap(varint);
  const polygon = [...varint(3 * 8), 3, ...field(4, geometry)];
  const layer = [
    ...varint(15 * 8),
    2,
    ...field(1, [...Buffer.from('earth')]),
    ...field(2, polygon),
    ...varint(5 * 8),
    ...varint(extent),
  ];
  return gzipSync(Buffer.from(field(3, layer)));
}

/** Returns an archive with the tile of zoom 0. */
export function makeArchive(attribution: string): Buffer {
  const tile = worldTile();
  // One entry: tile id 0, run length 1, length, offset 0 (written as 1).
  const directory = Buffer.from([1, 0, 1, ...varint(tile.length), 1]);
  const metadata = Buffer.from(JSON.stringify({ attribution }));
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('PMTiles');
  header.writeUInt8(3, 7);
  const metadataAt = HEADER_BYTES + directory.length;
  const tilesAt = metadataAt + metadata.length;
  const numbers = [
    HEADER_BYTES,
    directory.length,
    metadataAt,
    metadata.length,
    tilesAt,
    0,
    tilesAt,
    tile.length,
    ...[1, 1, 1],
  ];
  for (const [index, number] of numbers.entries())
    header.writeBigUInt64LE(BigInt(number), 8 + index * 8);
  // Clustered, directories without compression, tiles with gzip, vector tiles, zooms 0 to 0.
  header.set([1, 1, 2, 1, 0, 0], 96);
  for (const [index, degrees] of [-180, -85, 180, 85].entries())
    header.writeInt32LE(degrees * 1e7, 102 + index * 4);
  return Buffer.concat([header, directory, metadata, tile]);
}
