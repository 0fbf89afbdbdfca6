// Reads one sheet of an .xlsx workbook (ECMA-376) with fixed memory and time limits.

import { unknownWord } from '../cli/nearest.js';
import { FleetError, usageError } from '../errors.js';
import { readSharedStrings } from './shared-strings.js';
import { type MergedRange, readSheet } from './sheet.js';
import { readStyles } from './styles.js';
import { MemoryBudget, WorkbookLimitError } from './workbook-limits.js';
import { findWorkbookParts, PackageError, type SheetPart } from './workbook-parts.js';
import { XmlError } from './xml.js';
import {
  readZipDirectory,
  type UnpackLimit,
  UnpackLimitError,
  unpackEntry,
  ZipError,
} from './zip.js';

export interface WorkbookOptions {
  /** The name of the sheet; the first visible sheet by default. */
  sheet?: string | undefined;
  /** Whether hidden rows are read or skipped. When this is not set, a hidden row is an error. */
  hiddenRows?: 'take' | 'skip' | undefined;
  signal: AbortSignal;
}

export interface WorkbookRow {
  /** The row number that Excel shows, counted from 1. */
  readonly row: number;
  /** The text of each cell up to the last cell with a value; null for an empty cell. */
  readonly cells: readonly (string | null)[];
}

export interface WorkbookSheet {
  readonly name: string;
  readonly isOnlyVisible: boolean;
  /** The rows that have a value, in the order of the sheet. */
  readonly rows: readonly WorkbookRow[];
  readonly mergedRanges: readonly MergedRange[];
}

/** The maximum size of all parts that are read: the sheet, its strings and its formats. */
const UNPACKED_LIMIT_BYTES = 64 * 1024 * 1024;
/** An error lists at most this many sheets. */
const SHOWN_SHEETS = 50;
const UNREADABLE_HINT = 'open it in a spreadsheet program and save it as .xlsx or as CSV';

/** Whether the bytes begin with the signature of a zip archive, which every .xlsx file is. */
export function isZip(chunk: Uint8Array): boolean {
  return startsWith(chunk, [0x50, 0x4b, 0x03, 0x04]) || startsWith(chunk, [0x50, 0x4b, 0x05, 0x06]);
}

/**
 * Whether the bytes begin with the signature of an old .xls file. Password-protected .xlsx
 * workbooks begin with the same signature.
 */
export function isOldExcel(chunk: Uint8Array): boolean {
  return startsWith(chunk, [0xd0, 0xcf, 0x11, 0xe0]);
}

function startsWith(chunk: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, index) => chunk[index] === byte);
}

/**
 * Reads the chosen sheet of a workbook, or the first visible one. Throws a FleetError of kind
 * `usage` when the file is not a readable .xlsx workbook, exceeds a limit, or has hidden rows or
 * cells that cannot be read exactly. `source` names the file in errors. Throws the signal's reason
 * when the signal is aborted.
 */
export async function readWorkbook(
  bytes: Uint8Array,
  source: string,
  options: WorkbookOptions,
): Promise<WorkbookSheet> {
  options.signal.throwIfAborted();
  if (isOldExcel(bytes)) {
    throw usageError(
      `${source} is an old .xls or a password-protected file`,
      'save it as .xlsx without a password',
    );
  }
  try {
    return await readParts(toBuffer(bytes), source, options);
  } catch (error) {
    options.signal.throwIfAborted();
    throw describeError(error, source);
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function describeError(error: unknown, source: string): unknown {
  if (error instanceof FleetError) return error;
  if (error instanceof UnpackLimitError)
    return usageError(`${source} contains more than 64 MB of unpacked data`, 'save it as CSV');
  if (error instanceof WorkbookLimitError)
    return usageError(`${source} is too large: ${error.message}`, error.hint);
  if (error instanceof ZipError || error instanceof XmlError || error instanceof PackageError)
    return usageError(`${source} is not a readable .xlsx file: ${error.message}`, UNREADABLE_HINT);
  return error;
}

async function readParts(
  bytes: Buffer,
  source: string,
  { sheet: sheetName, hiddenRows, signal }: WorkbookOptions,
): Promise<WorkbookSheet> {
  const entries = readZipDirectory(bytes);
  const limit: UnpackLimit = { remainingBytes: UNPACKED_LIMIT_BYTES };
  const budget = new MemoryBudget();
  const open = (name: string) => {
    const entry = entries.get(name.toLowerCase());
    return entry === undefined ? undefined : unpackEntry(bytes, entry, limit, signal);
  };
  const parts = await findWorkbookParts(open, (name) => entries.has(name));
  const chosen = chooseSheet(parts.sheets, sheetName, source);
  const formats = await inPart('the formats', () => readStyles(open, parts.styles));
  const texts = await inPart('the shared texts', () =>
    readSharedStrings(open, parts.sharedStrings, budget),
  );
  const rows = await inPart(`the sheet "${chosen.name}"`, () =>
    readSheet(open, chosen.part, { formats, texts, dates: parts.dates, budget, hiddenRows }),
  );
  const place = `the sheet "${chosen.name}" of ${source}`;
  rows.refuseHiddenRows(place);
  rows.refuseProblems(place);
  return {
    name: chosen.name,
    isOnlyVisible: parts.sheets.filter((sheet) => isChoice(sheet)).length === 1,
    rows: rows.rows,
    mergedRanges: rows.mergedRanges,
  };
}

/** Runs `work`. If it throws an XML error, adds the name of the workbook's part. */
async function inPart<T>(part: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof XmlError) throw new XmlError(`${part}: ${error.message}`);
    throw error;
  }
}

function isChoice({ isVisible, isWorksheet }: SheetPart): boolean {
  return isVisible && isWorksheet;
}

function chooseSheet(
  sheets: readonly SheetPart[],
  name: string | undefined,
  source: string,
): SheetPart {
  const worksheets = sheets.filter(({ isWorksheet }) => isWorksheet);
  if (name !== undefined) return chooseByName(worksheets, name);
  const first = worksheets.find((sheet) => isChoice(sheet));
  if (first !== undefined) return first;
  if (worksheets.length === 0) throw new PackageError('it does not contain a worksheet');
  const names = worksheets.slice(0, SHOWN_SHEETS).map((sheet) => sheet.name);
  throw usageError(
    `all sheets of ${source} are hidden`,
    `choose a hidden sheet with --sheet NAME: ${names.join(', ')}`,
  );
}

function chooseByName(sheets: readonly SheetPart[], name: string): SheetPart {
  const exact = sheets.find((sheet) => sheet.name === name);
  if (exact !== undefined) return exact;
  const lower = name.toLowerCase();
  const [match, ...others] = sheets.filter((sheet) => sheet.name.toLowerCase() === lower);
  if (match !== undefined && others.length === 0) return match;
  throw unknownWord(
    'sheet',
    name,
    sheets.slice(0, SHOWN_SHEETS).map((sheet) => sheet.name),
  );
}
