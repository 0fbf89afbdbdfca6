// Values separated by commas or tabs, quoted as RFC 4180 says, for spreadsheets, databases and awk.

import { exactValue } from '../../json/exact.js';
import { clean } from '../clean.js';
import { textOf } from '../values.js';
import { openFileCells } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

/**
 * A header of field names, then a line a resource: every documented field, or those of `--columns`. Null and missing are empty,
 * objects compact JSON text, numbers as they were sent, times ISO 8601. Text is cleaned as in tables, so that no cell holds a line
 * break or, in tsv, a tab. Lines end in LF: RFC 4180 has CRLF, but its readers take LF, and `cut`, `awk` and `sort` do not take CR.
 * A text such as `=1+1` is left as it is, although a spreadsheet may calculate it: data comes out equal.
 */
export function openCsv<T>(
  shape: Shape<T>,
  tools: RendererTools,
  delimiter = tools.excel?.separator ?? ',',
): Renderer<T> {
  const { excel, hasHeader = true } = tools;
  const cellsOf = openFileCells(shape, tools);
  let isBegun = false;

  // An empty line is no record: a single empty cell needs its quotes. Line breaks need none, for cleaned text has none.
  const quote = (text: string, isAlone: boolean) =>
    text.includes('"') || text.includes(delimiter) || (text === '' && isAlone)
      ? `"${text.replace(/"/g, '""')}"`
      : text;
  const write = (cells: readonly string[]) =>
    `${cells.map((text) => quote(text, cells.length === 1)).join(delimiter)}\n`;

  /** A spreadsheet calculates what begins like a formula, and reads numbers as its locale writes them. */
  const guard = (text: string) =>
    excel !== undefined && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  function showField(inner: unknown): string {
    const text = clean(textOf(inner) ?? '');
    if (excel === undefined || typeof inner === 'string') return guard(text);
    return excel.separator === ';' && typeof inner === 'number' ? text.replace('.', ',') : text;
  }

  const begin = (names: readonly string[]) =>
    isBegun || !hasHeader || names.length === 0 ? '' : write(names);

  return {
    begin: () => (excel === undefined ? '' : '\uFEFF'),
    rows(rows) {
      if (rows.length === 0) return '';
      const values = rows.map(exactValue);
      const { names, read } = cellsOf(values);
      const header = begin(names);
      isBegun = true;
      return header + values.map((value) => write(read(value).map(showField))).join('');
    },
    end: () => begin(cellsOf([]).names),
  };
}

/** The same with tabs between. */
export function openTsv<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  return openCsv(shape, tools, '\t');
}
