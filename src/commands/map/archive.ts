// Reads a PMTiles archive, which contains the street map of a city in one file. Used by `fleet map
// --tiles FILE.pmtiles`.

import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { PMTiles, TileType } from 'pmtiles';
import { reasonOf, usageError } from '../../errors.js';
import type { Tiles } from '../../page/payload.js';

/**
 * The maximum size of an archive inside a page. A larger archive would need too much memory in the
 * browser.
 */
const LARGEST_EMBEDDED_BYTES = 64 * 1024 * 1024;
const LONGEST_ATTRIBUTION_CHARACTERS = 200;
const OPEN_STREET_MAP = '© OpenStreetMap contributors';

export type TileArchive = Awaited<ReturnType<typeof openArchive>>;

/**
 * Opens an archive. The caller must close it. Throws a FleetError of kind `usage` when the file
 * cannot be read or is not a PMTiles archive.
 */
export async function openArchive(path: string, attribution: string | undefined) {
  const file = await open(path).catch((error) => {
    throw usageError(`--tiles: ${path} cannot be read: ${reasonOf(error)}`);
  });
  try {
    const archive = new PMTiles({
      getKey: () => path,
      getBytes: async (offset, length) => ({ data: await readBytes(file, offset, length) }),
    });
    const { tileType, minZoom, maxZoom } = await archive.getHeader();
    const tiles: Tiles = {
      url: 'tiles/{z}/{x}/{y}',
      attribution: attribution ?? (await attributionOf(archive)),
      kind: tileType === TileType.Mvt ? 'vector' : 'raster',
      minZoom,
      maxZoom,
    };
    return {
      tiles,
      /** Returns an uncompressed tile, or undefined when the archive does not contain it. */
      async read(z: number, x: number, y: number): Promise<Buffer | undefined> {
        const tile = await archive.getZxy(z, x, y);
        return tile === undefined ? undefined : Buffer.from(tile.data);
      },
      /** Returns the whole archive in base64, to embed it in a page. */
      async embed(): Promise<string> {
        const { size } = await file.stat();
        if (size > LARGEST_EMBEDDED_BYTES)
          throw usageError(
            `--tiles: ${basename(path)} is ${Math.round(size / 1024 / 1024)} MB, but a page can include at most 64 MB of tiles`,
            'use --serve, or extract a smaller area',
          );
        return Buffer.from(await readBytes(file, 0, size)).toString('base64');
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw usageError(`--tiles: ${path} is not a PMTiles archive: ${reasonOf(error)}`);
  }
}

async function readBytes(file: FileHandle, offset: number, length: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, offset);
  return bytes.buffer.slice(0, bytesRead);
}

/** Returns the attribution in the archive as plain text. */
async function attributionOf(archive: PMTiles): Promise<string> {
  const metadata = (await archive.getMetadata()) as { attribution?: unknown } | undefined;
  const text = String(metadata?.attribution ?? '').replaceAll(/<[^>]*>/g, '');
  return text.trim().slice(0, LONGEST_ATTRIBUTION_CHARACTERS) || OPEN_STREET_MAP;
}
