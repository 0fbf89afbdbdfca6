// Splits a decoded text into lines.

import { usageError } from '../errors.js';

/** Longer than any line with a bicycle in it. */
const LONGEST_LINE_CHARACTERS = 1024 * 1024;

/** DOS programs end a text file with this character. */
const DOS_END_OF_FILE = '\x1A';

/**
 * Yields the lines of a text without their LF. The CR of a CRLF stays, because it can be part of a
 * quoted cell. The final DOS end-of-file mark is left out. Throws a FleetError of kind `usage` for
 * a line of more than a megabyte. `source` names the file in the error.
 */
export async function* splitLines(
  pieces: AsyncIterable<string>,
  source: string,
): AsyncGenerator<string, void, undefined> {
  let open = '';
  for await (const piece of pieces) {
    const lines = (open + piece).split('\n');
    if (lines.some(({ length }) => length > LONGEST_LINE_CHARACTERS))
      throw usageError(`a line of ${source} is longer than a megabyte; nothing was sent`);
    open = lines.pop() ?? '';
    yield* lines;
  }
  if (open.endsWith(DOS_END_OF_FILE)) open = open.slice(0, -1);
  if (open !== '') yield open;
}
