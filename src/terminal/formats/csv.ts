// Values separated by commas or tabs, quoted according to RFC 4180, for spreadsheets, databases and
// awk.

import { exactValue, writtenNumber } from '../../json/exact.js';
import { clean } from '../clean.js';
import { textOf } from '../values.js';
import { cellText, guardFormula } from './cell-text.js';
import { openFileCells } from './columns.js';
import type { Renderer, RendererTools, Shape } from './renderer.js';

/**
 * Writes a header with the names of the fields, and then one record for each resource. A record has
 * every documented field, or the fields of `--columns`. Null and missing values are empty, objects
 * are compact JSON, numbers are unchanged, and times are ISO 8601. In a file or a pipe, line breaks
 * and tabs are kept inside a quoted cell (RFC 4180). On a terminal, line breaks and tabs are
 * replaced. Records end in LF, because `cut`, `awk` and `sort` do not accept CR. Without `--excel`,
 * text such as `=1+1` is unchanged.
 */
export function openCsv<T>(
  shape: Shape<T>,
  tools: RendererTools,
  delimiter = tools.excel?.separator ?? ',',
): Renderer<T> {
  const { excel, hasHeader = true } = tools;
  const cellsOf = openFileCells(shape, tools);
  let isBegun = false;

  const mustBeQuoted = (text: string) => text.includes(delimiter) || /["\n\r\t]/.test(text);
  // An empty line is not a record, so a record with a single empty cell is quoted.
  const quote = (text: string, isOnly: boolean) =>
    mustBeQuoted(text) || (text === '' && isOnly) ? `"${text.replace(/"/g, '""')}"` : text;
  const write = (cells: readonly string[]) =>
    `${cells.map((text) => quote(text, cells.length === 1)).join(delimiter)}\n`;

  function showField(value: unknown): string {
    const text = tools.terminal ? clean(textOf(value) ?? '') : cellText(value);
    if (excel === undefined) return text;
    if (typeof value === 'number' || writtenNumber(value) !== undefined)
      return text.replace('.', excel.decimal);
    return guardFormula(text);
  }

  const begin = (headings: readonly string[]) =>
    isBegun || !hasHeader || headings.length === 0 ? '' : write(headings);

  return {
    begin: () => (excel === undefined ? '' : '\uFEFF'),
    rows(rows) {
      if (rows.length === 0) return '';
      const values = rows.map(exactValue);
      const { headings, read } = cellsOf(values);
      const header = begin(headings);
      isBegun = true;
      return header + values.map((value) => write(read(value).map(showField))).join('');
    },
    end: () => begin(cellsOf([]).headings),
  };
}

/** Writes the same records as csv, but separated by tabs. */
export function openTsv<T>(shape: Shape<T>, tools: RendererTools): Renderer<T> {
  return openCsv(shape, tools, '\t');
}
