// Limits the memory that the contents of a workbook take.

/** A workbook contains more than fleet reads. The message completes "… is too large: ". */
export class WorkbookLimitError extends Error {
  readonly hint: string;

  constructor(message: string, hint = 'split it into several files, or save it as CSV') {
    super(message);
    this.hint = hint;
  }
}

const MEMORY_LIMIT_BYTES = 128 * 1024 * 1024;
/**
 * Measured with Node 20: the size of an array for a row, of one of its elements, and of a text
 * without its characters.
 */
export const ROW_BYTES = 96;
export const CELL_BYTES = 8;
export const TEXT_BYTES = 32;

/** Counts the memory of texts and cells while a workbook is parsed, by a rough estimate. */
export class MemoryBudget {
  #usedBytes = 0;

  /** Throws a WorkbookLimitError when the workbook needs more than the limit. */
  use(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes > MEMORY_LIMIT_BYTES)
      throw new WorkbookLimitError('its cells and texts need more than 128 MB of memory');
  }
}
