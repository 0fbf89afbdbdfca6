// Reads the first sheet of a workbook as CSV.

import { usageError } from '../errors.js';

/** A workbook is a zip: a few megabytes of it are a hundred of text. */
const LIMIT_BYTES = 16 * 1024 * 1024;

/** How a zip begins. */
const SIGNATURE = [0x50, 0x4b, 0x03, 0x04];

/** The chunks as they come; those of a workbook are gathered, and become CSV. Throws a FleetError of kind `usage` for one that cannot be read. */
export async function* withoutWorkbook(
  chunks: AsyncIterable<string | Uint8Array>,
  source: string,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  let gathered: Uint8Array[] | undefined;
  let isFirst = true;
  let size = 0;
  for await (const chunk of chunks) {
    const isZip = isFirst && typeof chunk !== 'string' && SIGNATURE.every((byte, index) => chunk[index] === byte);
    isFirst = false;
    if (isZip) gathered = [];
    if (gathered === undefined) {
      yield chunk;
      continue;
    }
    const bytes = Buffer.from(chunk as Uint8Array);
    gathered.push(bytes);
    size += bytes.length;
    if (size > LIMIT_BYTES) throw usageError(`${source} is a workbook larger than 16 MB`, 'save it as CSV');
  }
  if (gathered !== undefined) yield csvOf(await readSheet(Buffer.concat(gathered), source));
}

/** What a workbook may be unpacked, and the cells that its used corner may span: one stray cell in the last row makes 17 billion of them. */
const UNPACKED_LIMIT_BYTES = 64 * 1024 * 1024;
const MOST_CELLS = 5_000_000;

/** Throws a FleetError of kind `usage` for a workbook that would not fit into memory; what else is wrong with one the library says. */
async function checkSize(bytes: Buffer, source: string): Promise<void> {
  const { inflateRawSync } = await import('node:zlib');
  let leftBytes = UNPACKED_LIMIT_BYTES;
  for (const { name, isPacked, packed } of entriesOf(bytes)) {
    let text = packed;
    try {
      if (isPacked) text = inflateRawSync(packed, { maxOutputLength: Math.max(leftBytes, 1) });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') continue;
      throw usageError(`${source} is a workbook of more than 64 MB unpacked`, 'save it as CSV');
    }
    leftBytes -= text.length;
    if (!name.startsWith('xl/worksheets/')) continue;
    let rows = 0;
    let columns = 0;
    for (const [, letters = '', row] of text.toString('latin1').matchAll(/\br="([A-Z]{1,3})(\d{1,7})"/g)) {
      rows = Math.max(rows, Number(row));
      columns = Math.max(
        columns,
        [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0),
      );
    }
    if (rows * columns > MOST_CELLS)
      throw usageError(
        `${source} is a workbook whose cells reach to row ${rows} and column ${columns}`,
        'delete the empty rows and columns behind the last one, or save it as CSV',
      );
  }
}

/** The files in a zip, by its directory at the end (APPNOTE.TXT 4.3); none where it has none. */
function* entriesOf(bytes: Buffer): Generator<{ name: string; isPacked: boolean; packed: Buffer }, void, undefined> {
  const end = bytes.lastIndexOf('PK\u0005\u0006', undefined, 'latin1');
  if (end === -1 || end + 22 > bytes.length) return;
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0 && at + 46 <= bytes.length; left--) {
    const [nameLength, ...more] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    const start = bytes.readUInt32LE(at + 42);
    if (nameLength === undefined || start + 30 > bytes.length) return;
    const data = start + 30 + bytes.readUInt16LE(start + 26) + bytes.readUInt16LE(start + 28);
    yield {
      name: bytes.toString('latin1', at + 46, at + 46 + nameLength),
      isPacked: bytes.readUInt16LE(at + 10) === 8,
      packed: bytes.subarray(data, data + bytes.readUInt32LE(at + 20)),
    };
    at += 46 + nameLength + more.reduce((sum, length) => sum + length, 0);
  }
}

async function readSheet(bytes: Buffer, source: string): Promise<readonly (readonly unknown[])[]> {
  await checkSize(bytes, source);
  try {
    const { default: readXlsxFile } = await import('read-excel-file/universal');
    const [sheet] = await readXlsxFile(new Blob([new Uint8Array(bytes)]));
    return sheet?.data ?? [];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw usageError(`${source} is no workbook that can be read: ${error.message}`, 'save it as .xlsx or as CSV');
  }
}

function csvOf(rows: readonly (readonly unknown[])[]): string {
  const quote = (value: unknown) => {
    const text = value instanceof Date ? value.toISOString() : String(value ?? '');
    return /[",;\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(quote).join(',')}\n`).join('');
}
