// Reads the first sheet of a workbook as CSV.

import { FleetError, usageError } from '../errors.js';

/** What a workbook may have, as it is and unpacked: it is a zip, a few megabytes of which are a hundred of text. */
const LIMIT_BYTES = 64 * 1024 * 1024;

/** How a zip begins. */
const SIGNATURE = [0x50, 0x4b, 0x03, 0x04];

/** The chunks as they come; those of a workbook are gathered, and become CSV. Throws a FleetError of kind `usage` for one that cannot be read. */
export async function* withoutWorkbook(
  chunks: AsyncIterable<Uint8Array>,
  source: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let workbook: Uint8Array[] | undefined;
  let size = 0;
  for await (const chunk of chunks) {
    if (size === 0 && SIGNATURE.every((byte, index) => chunk[index] === byte)) workbook = [];
    size += chunk.length;
    if (workbook === undefined) yield chunk;
    else if (size > LIMIT_BYTES) throw tooLarge(source);
    else workbook.push(chunk);
  }
  if (workbook !== undefined)
    yield Buffer.from(csvOf(await readSheet(Buffer.concat(workbook), source)));
}

function tooLarge(source: string): FleetError {
  return usageError(`${source} is a workbook of more than 64 MB`, 'save it as CSV');
}

/** The cells that its used corner may span: one stray cell in the last row makes 17 billion of them. */
const MOST_CELLS = 5_000_000;

/** Throws a FleetError of kind `usage` for a workbook that would not fit into memory. */
async function checkSize(bytes: Buffer, source: string): Promise<void> {
  const { unzipSync } = await import('fflate');
  let unpackedBytes = 0;
  // What a file is unpacked into has the size that the zip names, whatever comes.
  const sheets = unzipSync(bytes, {
    filter({ name, originalSize }) {
      unpackedBytes += originalSize;
      return unpackedBytes <= LIMIT_BYTES && name.startsWith('xl/worksheets/');
    },
  });
  if (unpackedBytes > LIMIT_BYTES) throw tooLarge(source);
  for (const sheet of Object.values(sheets)) {
    let rows = 0;
    let columns = 0;
    const text = Buffer.from(sheet).toString('latin1');
    for (const [, letters = '', row] of text.matchAll(/\br="([A-Z]{1,3})(\d{1,7})"/g)) {
      const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
      columns = Math.max(columns, column);
      rows = Math.max(rows, Number(row));
    }
    if (rows * columns > MOST_CELLS)
      throw usageError(
        `${source} is a workbook whose cells reach to row ${rows} and column ${columns}`,
        'delete the empty rows and columns behind the last one, or save it as CSV',
      );
  }
}

async function readSheet(bytes: Buffer, source: string): Promise<readonly (readonly unknown[])[]> {
  try {
    await checkSize(bytes, source);
    const { default: readXlsxFile } = await import('read-excel-file/universal');
    const [sheet] = await readXlsxFile(new Blob([new Uint8Array(bytes)]));
    return sheet?.data ?? [];
  } catch (error) {
    if (error instanceof FleetError || !(error instanceof Error)) throw error;
    throw usageError(
      `${source} is no workbook that can be read: ${error.message}`,
      'save it as .xlsx or as CSV',
    );
  }
}

function csvOf(rows: readonly (readonly unknown[])[]): string {
  const quote = (value: unknown) => {
    const text = value instanceof Date ? value.toISOString() : String(value ?? '');
    return /[",;\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(quote).join(',')}\n`).join('');
}
