// Limits the memory for the contents of a workbook.

/** Thrown when a workbook exceeds a limit. The message follows "FILE is too large: ". */
export class WorkbookLimitError extends Error {
  readonly hint: string;

  constructor(message: string, hint = 'split it into several files, or save it as CSV') {
    super(message);
    this.hint = hint;
  }
}

const MEMORY_LIMIT_BYTES = 128 * 1024 * 1024;
/**
 * Memory sizes in bytes, measured with Node 20: the array of a row, one element of this array, and
 * a string without its characters.
 */
export const ROW_BYTES = 96;
export const CELL_BYTES = 8;
export const TEXT_BYTES = 32;

/** Roughly estimates the memory that cells and strings use while a workbook is parsed. */
export class MemoryBudget {
  #usedBytes = 0;

  /** Adds bytes to the estimate. Throws a WorkbookLimitError above the limit. */
  use(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes > MEMORY_LIMIT_BYTES)
      throw new WorkbookLimitError('its cells and texts need more than 128 MB of memory');
  }
}
