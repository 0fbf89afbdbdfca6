// JSON as one array or one object, and JSON lines: the service's own text, never read and written again.

import { isAscii } from 'node:buffer';
import { indent, squeeze } from '../../json/text.js';
import { escapeJson } from '../clean.js';
import type { Renderer, RendererTools, Row, Shape } from './renderer.js';

/**
 * One array for a list, whatever its length, or one object for a single result. For programs each item is on a line of its own
 * exactly as it came; for people it is indented.
 */
export function openJson<T>(shape: Shape<T>, { terminal, paint }: RendererTools): Renderer<T> {
  const isList = shape.single !== true;
  const margin = isList && terminal ? '  ' : '';
  let count = 0;
  const show = ({ json }: Row<T>) =>
    margin + (terminal ? indent(escapeJson(json), margin, paint.cyan) : escapeJson(squeeze(json)));
  return {
    begin: () => (isList ? '[' : ''),
    rows(rows) {
      if (rows.length === 0) return '';
      const separator = count > 0 ? ',\n' : isList ? '\n' : '';
      count += rows.length;
      return separator + rows.map(show).join(',\n');
    },
    end: () => (isList ? (count > 0 ? '\n]\n' : ']\n') : count > 0 ? '\n' : ''),
  };
}

/** One object a line, exactly as it came but for line breaks between its tokens. */
export function openJsonLines<T>(): Renderer<T> {
  return {
    rows(rows) {
      const lines = asLines(rows);
      if (lines !== undefined) return lines;
      let text = '';
      for (const { json } of rows) text += `${escapeJson(squeeze(json))}\n`;
      return text;
    },
  };
}

const COMMA = 0x2c;
const NEWLINE = 0x0a;

/**
 * Rows that stand one behind the other in the same bytes, with a comma between each, as lines: the bytes themselves, with line breaks put
 * in the place of what stood behind each row. Undefined where they do not, or where a character may have to be escaped.
 */
function asLines(rows: readonly Row<unknown>[]): Buffer | undefined {
  const first = rows[0]?.raw;
  const last = rows.at(-1)?.raw;
  if (first === undefined || last?.bytes !== first.bytes || last.end === first.bytes.length) return undefined;
  const { bytes } = first;
  let at = first.start;
  for (const { raw } of rows) {
    if (raw?.bytes !== bytes || raw.start !== at) return undefined;
    if (raw !== last && bytes[raw.end] !== COMMA) return undefined;
    at = raw.end + 1;
  }
  if (!isAscii(bytes.subarray(first.start, last.end))) return undefined;
  for (const { raw } of rows) if (raw !== undefined) bytes[raw.end] = NEWLINE;
  return bytes.subarray(first.start, last.end + 1);
}
