// Opens an input file, or stdin for `-`, and yields its rows. The input is text in any supported
// format, or a workbook.

import { usageError } from '../errors.js';
import { type InputOptions, inputChunks, readAll } from '../terminal/stdin.js';
import { splitLines } from './lines.js';
import { peek } from './peek.js';
import type { InputRow } from './row.js';
import { type RowOptions, readRows, readSheetRows } from './rows.js';
import { decodeText } from './text-decoding.js';
import { isOldExcel, isZip, readWorkbook } from './workbook.js';

/** The input to read, and the options for reading it. */
export interface InputSource {
  /** A path, or `-` for stdin. */
  path: string;
  /** The encoding of a text file without a byte order mark; UTF-8 by default. */
  encoding?: string | undefined;
  /** The sheet of a workbook; the first visible sheet by default. */
  sheet?: string | undefined;
  /** Whether a workbook's hidden rows are read or skipped. By default, hidden rows are an error. */
  hiddenRows?: 'take' | 'skip' | undefined;
  /** Maps the headings from `--map`, in lower case, to fields. */
  headings?: ReadonlyMap<string, string> | undefined;
}

/** The context of a command that reads an input. */
export interface InputContext extends InputOptions {
  notice(text: string): Promise<void>;
}

/**
 * The maximum size of a workbook file. A workbook is compressed, so its contents can be much larger
 * than the file.
 */
const WORKBOOK_LIMIT_BYTES = 64 * 1024 * 1024;

/** Returns the name of an input for messages. */
export function nameOfInput(path: string): string {
  return path === '-' ? 'stdin' : path;
}

/**
 * Yields the rows of an input. Throws UnreadableInput with the row number, or a FleetError of kind
 * `usage` for a file that cannot be opened or decoded. Throws the signal's reason when the signal
 * is aborted.
 */
export async function* readInputRows(
  context: InputContext,
  source: InputSource,
  options: Pick<RowOptions, 'isHeader' | 'hasComments'>,
): AsyncGenerator<InputRow, void, undefined> {
  const name = nameOfInput(source.path);
  const { first, rest } = await peek(inputChunks(context, source.path), SIGNATURE_BYTES);
  const rowOptions = { ...options, headings: source.headings };
  if (isOldExcel(first) || isZip(first)) {
    const bytes = await readAll(
      rest(),
      WORKBOOK_LIMIT_BYTES,
      `${name} is a workbook of more than 64 MB; save it as CSV`,
    );
    const { signal } = context;
    const { sheet, hiddenRows } = source;
    const read = await readWorkbook(bytes, name, {
      signal,
      ...(sheet === undefined ? {} : { sheet }),
      ...(hiddenRows === undefined ? {} : { hiddenRows }),
    });
    if (!read.isOnlyVisible || sheet !== undefined)
      await context.notice(`reading sheet "${read.name}" of ${name}`);
    yield* readSheetRows(read.rows, rowOptions, read.mergedRanges);
    return;
  }
  refuseWorkbookFlags(source, name);
  const { pieces, hasByteOrderMark } = await decodeText(rest(), name, source.encoding);
  // Text files from Excel have a byte order mark, or they use the encoding of the system. Files in
  // the system's encoding need `--encoding`.
  const isFromExcel = hasByteOrderMark || source.encoding !== undefined;
  yield* readRows(splitLines(pieces, name), { ...rowOptions, isFromExcel });
}

function refuseWorkbookFlags({ sheet, hiddenRows }: InputSource, name: string): void {
  const flag = sheet !== undefined ? '--sheet' : hiddenRows !== undefined ? '--hidden-rows' : '';
  if (flag === '') return;
  throw usageError(
    `${flag} works only with .xlsx files, but ${name} is a text file`,
    `remove ${flag}`,
  );
}

/** The number of bytes that are needed to detect an input's format. */
const SIGNATURE_BYTES = 8;
