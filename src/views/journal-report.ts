// The report of a journal for readers who do not know fleet: a title, facts, counts, and a row for
// each bicycle. It is written as a workbook or as an HTML page.

import { widthOf } from '../terminal/cells.js';
import { cleanMultiline } from '../terminal/clean.js';
import { xlsxCellOf } from '../terminal/formats/xlsx-cell.js';
import { packRows, writeXlsx } from '../terminal/formats/xlsx-file.js';
import { escapeMarkup, startPage } from '../terminal/markup.js';

export interface JournalReport {
  title: string;
  facts: readonly (readonly [label: string, text: string])[];
  header: readonly string[];
  rows: readonly (readonly string[])[];
}

const NARROWEST_COLUMN = 10;
const WIDEST_COLUMN = 60;
/**
 * Only this many characters of a value are measured, because a value of this length already needs
 * the maximum column width.
 */
const MEASURED_CHARACTERS = 200;

/** Writes the report as a workbook with one sheet. */
export function drawReportWorkbook({ title, facts, header, rows }: JournalReport): Promise<Buffer> {
  const lines: (readonly string[])[] = [[title], [], ...facts, [], header, ...rows];
  const cells = lines.map((line) => line.map((text) => xlsxCellOf(text, '', 'UTC')));
  const columnWidths = header.map((name, column) => {
    // The title does not affect the width of the first column, because the title may extend over
    // the columns to its right.
    const texts = [name, ...facts.slice(0, column === 0 ? undefined : 0).map(([label]) => label)];
    for (const row of rows) texts.push(row[column] ?? '');
    const widest = texts.reduce(
      (width, text) => Math.max(width, widthOf(text.slice(0, MEASURED_CHARACTERS))),
      NARROWEST_COLUMN,
    );
    return Math.min(WIDEST_COLUMN, widest + 2);
  });
  const layout = { name: 'report', header: undefined, columnWidths, rowCount: lines.length };
  return writeXlsx(layout, [packRows(cells, 1)]);
}

const STYLE =
  'body{font:16px/1.4 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}' +
  'table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;' +
  'border-bottom:1px solid #ccc;white-space:pre-wrap}dt{font-weight:bold}dd{margin:0 0 .5rem}';

/** Writes the report as an HTML page that loads no other files and has no script. */
export function drawReportPage({ title, facts, header, rows }: JournalReport): string {
  const cellsOf = (tag: string, texts: readonly string[]) =>
    texts.map((text) => `<${tag}>${escapeText(text)}</${tag}>`).join('');
  return [
    ...startPage(escapeText(title), STYLE),
    `<h1>${escapeText(title)}</h1>`,
    '<dl>',
    ...facts.map(([label, text]) => `${cellsOf('dt', [label])}${cellsOf('dd', [text])}`),
    '</dl>',
    `<table><thead><tr>${cellsOf('th', header)}</tr></thead><tbody>`,
    ...rows.map((row) => `<tr>${cellsOf('td', row)}</tr>`),
    '</tbody></table></body></html>',
    '',
  ].join('\n');
}

function escapeText(text: string): string {
  return escapeMarkup(cleanMultiline(text));
}
