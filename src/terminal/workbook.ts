// A workbook that is handed in, as CSV: its first sheet, read as everything else that operators hand in.

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

async function readSheet(bytes: Buffer, source: string): Promise<readonly (readonly unknown[])[]> {
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
