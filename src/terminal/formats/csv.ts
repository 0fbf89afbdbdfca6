// Values separated by commas or tabs, quoted as RFC 4180 says, for spreadsheets, databases and awk.

import { exactValue } from '../../json/exact.js';
import { clean } from '../clean.js';
import { type CellContext, type Column, cellOf } from '../table.js';
import { MISSING, readPath, textOf } from '../values.js';
import { fieldsOfFile, fileColumns, isField } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

/**
 * A header of field names, then a line a resource: every documented field, or those of `--columns`. Null and missing are empty,
 * objects compact JSON text, numbers as they were sent, times ISO 8601. Text is cleaned as in tables, so that no cell holds a line
 * break or, in tsv, a tab. Lines end in LF: RFC 4180 has CRLF, but its readers take LF, and `cut`, `awk` and `sort` do not take CR.
 * A text such as `=1+1` is left as it is, although a spreadsheet may calculate it: data comes out equal.
 */
export function openCsv<T>(shape: Shape<T>, tools: RendererTools, delimiter: string): Renderer<T> {
  const { excel } = tools;
  const columnsOf = fileColumns(shape, tools.columns, (values) => fieldsOfFile(shape, values));
  const at: CellContext = { now: tools.now, terminal: false };
  const { hasHeader = true } = tools;
  /** What each column shows of a value, once the columns are known. */
  let readers: ((value: T) => string)[] | undefined;

  // An empty line is no record: a single empty cell needs its quotes. Line breaks need none, for cleaned text has none.
  const quote = (text: string) =>
    text.includes('"') || text.includes(delimiter) || (text === '' && readers?.length === 1)
      ? `"${text.replace(/"/g, '""')}"`
      : text;
  const write = (lines: string[][]) => lines.map((cells) => `${cells.map(quote).join(delimiter)}\n`).join('');

  /** A spreadsheet calculates what begins like a formula, and reads numbers as its locale writes them. */
  const guard = (text: string) => (excel !== undefined && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  function showField(inner: unknown): string {
    const text = clean(textOf(inner) ?? '');
    if (excel === undefined || typeof inner === 'string') return guard(text);
    return excel.separator === ';' && typeof inner === 'number' ? text.replace('.', ',') : text;
  }

  function readerOf(column: Column<T>): (value: T) => string {
    if (isField(column, shape)) return (value) => showField(readPath(value, column.field));
    return (value) => {
      const { text } = cellOf(column, value, at);
      return text === MISSING ? '' : guard(text);
    };
  }

  function begin(values: readonly T[]) {
    const columns = columnsOf(values);
    const header = hasHeader && columns.length > 0 ? write([columns.map(({ field }) => clean(field))]) : '';
    readers = columns.map(readerOf);
    return { header, readers };
  }

  return {
    begin: () => (excel === undefined ? '' : '\uFEFF'),
    rows(rows) {
      if (rows.length === 0) return '';
      const values = rows.map(exactValue);
      const { header, readers: read } = readers === undefined ? begin(values) : { header: '', readers };
      return header + write(values.map((value) => read.map((cell) => cell(value))));
    },
    end: () => (readers === undefined ? begin([]).header : ''),
  };
}
