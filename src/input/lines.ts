// Splits decoded text into lines.

import { usageError } from '../errors.js';

/** The maximum length of a line. The data of a bicycle is always shorter. */
const LONGEST_LINE_CHARACTERS = 1024 * 1024;

/**
 * Matches DOS end-of-file characters at the end of the text. DOS programs may write several of
 * them.
 */
const DOS_END_OF_FILE = /\x1A+$/;

/**
 * A DOS end-of-file character is treated as ordinary text when at least this many lines follow it.
 */
const MOST_HELD_LINES = 1000;

/** One line of a text. */
export interface TextLine {
  /** The line without its line ending. */
  text: string;
  /** The line ending: `\n`, `\r\n`, `\r` (old Mac programs), or '' at the end of the file. */
  end: string;
}

/** Yields the lines of the text. Removes DOS end-of-file characters at its end. */
export async function* splitLines(
  pieces: AsyncIterable<string>,
  source: string,
): AsyncGenerator<TextLine, void, undefined> {
  // The lines that may be the end of the file. They are a line that ends with a DOS end-of-file
  // character, and the empty lines after it.
  let held: TextLine[] = [];
  for await (const line of splitText(pieces, source)) {
    const isHolding = held.length > 0 && held.length < MOST_HELD_LINES;
    if (isHolding && withoutMark(line.text).trim() === '') {
      held.push(line);
      continue;
    }
    if (held.length > 0) yield* held;
    held = [];
    if (line.text.endsWith('\x1A')) held.push(line);
    else yield line;
  }
  for (const { text, end } of held) {
    const rest = withoutMark(text);
    if (rest !== '') yield { text: rest, end };
  }
}

function withoutMark(text: string): string {
  return text.replace(DOS_END_OF_FILE, '');
}

/**
 * Yields the lines of the text with their line endings, because a quoted CSV cell can contain line
 * endings. Throws a FleetError of kind `usage` for a line of more than a megabyte. `source` names
 * the file in the error.
 */
async function* splitText(
  pieces: AsyncIterable<string>,
  source: string,
): AsyncGenerator<TextLine, void, undefined> {
  let open = '';
  for await (const piece of pieces) {
    const { lines, rest } = splitPiece(open + piece);
    if ([...lines.map(({ text }) => text), rest].some(isTooLong))
      throw usageError(`a line of ${source} is longer than a megabyte; nothing was sent`);
    open = rest;
    yield* lines;
  }
  if (open === '') return;
  const isEndedByReturn = open.endsWith('\r');
  yield isEndedByReturn ? { text: open.slice(0, -1), end: '\r' } : { text: open, end: '' };
}

function isTooLong({ length }: string): boolean {
  return length > LONGEST_LINE_CHARACTERS;
}

/** Splits text into complete lines and the start of the next line. */
function splitPiece(text: string): { lines: TextLine[]; rest: string } {
  const parts = text.split('\n');
  const last = parts.pop() ?? '';
  const lines = parts.flatMap(splitFinishedPart);
  // A CR at the end of the text may be the first half of a CRLF whose LF has not arrived yet.
  const isHeldBack = last.endsWith('\r');
  const returns = (isHeldBack ? last.slice(0, -1) : last).split('\r');
  const rest = `${returns.pop() ?? ''}${isHeldBack ? '\r' : ''}`;
  for (const line of returns) lines.push({ text: line, end: '\r' });
  return { lines, rest };
}

/** Splits the text before an LF. A CR inside this text also ends a line. */
function splitFinishedPart(part: string): TextLine[] {
  if (!part.includes('\r')) return [{ text: part, end: '\n' }];
  const isCrLf = part.endsWith('\r');
  const texts = (isCrLf ? part.slice(0, -1) : part).split('\r');
  const finalEnd = isCrLf ? '\r\n' : '\n';
  return texts.map((text, index) => ({
    text,
    end: index === texts.length - 1 ? finalEnd : '\r',
  }));
}
