// Writes the parts of an .xlsx workbook (ECMA-376) and zips them.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Zip, ZipInputFile } from 'fflate';
import { DAY_MS } from '../../system/time-units.js';
import { escapeMarkup } from '../markup.js';
import type { XlsxCell } from './xlsx-cell.js';
import { type ChartPlace, chartXml, drawingXml, type SheetChart } from './xlsx-chart.js';
import { columnLetters } from './xlsx-columns.js';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const CONTENT = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** The compression method of zip entries. */
const DEFLATED = 8;

/** The day that Excel's serial number 0 stands for. It is correct for dates from March 1900 on. */
const DAY_ZERO_MS = Date.UTC(1899, 11, 30);
const TEXT_FORMAT = 49;
const TIME_FORMAT = 164;
const TIME_CODE = 'yyyy\\-mm\\-dd\\ hh:mm:ss';
const LONGEST_SHEET_NAME = 31;

/** The index of each style in `cellXfs`. The list below contains the styles in this order. */
const STYLE = { header: 1, time: 2, text: 3, lines: 4, link: 5 } as const;
const CELL_STYLES = [
  '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
  '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>',
  `<xf numFmtId="${TIME_FORMAT}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`,
  `<xf numFmtId="${TEXT_FORMAT}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`,
  `<xf numFmtId="${TEXT_FORMAT}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1"><alignment wrapText="1"/></xf>`,
  '<xf numFmtId="0" fontId="2" fillId="0" borderId="0" xfId="0" applyFont="1"/>',
];

export interface SheetLayout {
  readonly name: string;
  /** The header cells; undefined for a sheet without a header. */
  readonly header: readonly string[] | undefined;
  /** The width of each column in characters. */
  readonly columnWidths: readonly number[];
  /** The number of rows, without the header. */
  readonly rowCount: number;
}

/**
 * The compressed XML of rows. The column widths must precede the rows in the file, but are known
 * only after the last row. The rows are therefore kept until then.
 */
export type PackedRows = Uint8Array;

/** Writes rows as XML. `firstRow` is the first row's number, counted from 1. */
export function packRows(rows: readonly (readonly XlsxCell[])[], firstRow: number): PackedRows {
  const xml = rows.map((cells, index) => rowXml(cells, firstRow + index)).join('');
  return deflateRawSync(xml, { level: 1 });
}

/** Creates a file with one sheet from the layout and the rows. */
export function writeXlsx(layout: SheetLayout, packedRows: readonly PackedRows[]): Promise<Buffer> {
  return writeXlsxSheets([{ layout, packedRows }]);
}

/** One sheet of a workbook. */
interface WorkbookSheet {
  readonly layout: SheetLayout;
  readonly packedRows: readonly PackedRows[];
  /** A chart to the right of the cells. */
  readonly chart?: SheetChart;
}

/** Creates a file with several sheets. Each sheet must have a unique name. */
export async function writeXlsxSheets(sheets: readonly WorkbookSheet[]): Promise<Buffer> {
  const { strToU8, Zip, ZipDeflate } = await import('fflate');
  const file: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error;
    file.push(chunk);
  });
  for (const [name, xml] of Object.entries(fixedParts(sheets))) {
    const entry = new ZipDeflate(name);
    zip.add(entry);
    entry.push(strToU8(DECLARATION + xml), true);
  }
  for (const [index, sheet] of sheets.entries()) {
    const pieces = sheetPieces(sheet, index === 0);
    await addPacked(zip, `xl/worksheets/sheet${index + 1}.xml`, pieces);
  }
  zip.end();
  return Buffer.concat(file);
}

/**
 * Adds an entry that zlib compresses. zlib is several times as fast as fflate. The difference
 * matters for the sheet, because a sheet can be large.
 */
async function addPacked(zip: Zip, filename: string, pieces: Iterable<Uint8Array>): Promise<void> {
  const entry: ZipInputFile = { filename, size: 0, crc: 0, compression: DEFLATED };
  zip.add(entry);
  const count = (piece: Uint8Array) => {
    entry.size += piece.length;
    entry.crc = crc32(piece, entry.crc);
    return piece;
  };
  function* countedPieces() {
    for (const piece of pieces) yield count(piece);
  }
  await pipeline(
    Readable.from(countedPieces()),
    createDeflateRaw(),
    async (packed: AsyncIterable<Buffer>) => {
      for await (const chunk of packed) entry.ondata?.(null, new Uint8Array(chunk), false);
    },
  );
  entry.ondata?.(null, new Uint8Array(), true);
}

function* sheetPieces(
  { layout, packedRows, chart }: WorkbookSheet,
  isSelected: boolean,
): Generator<Uint8Array, void, undefined> {
  const { header } = layout;
  yield Buffer.from(`${DECLARATION}${sheetStart(layout, isSelected)}`);
  if (header !== undefined) yield Buffer.from(headerXml(header));
  for (const rows of packedRows) yield inflateRawSync(rows);
  yield Buffer.from(sheetEnd(layout, chart !== undefined));
}

function sheetStart({ header, columnWidths }: SheetLayout, isSelected: boolean): string {
  const selected = isSelected ? ' tabSelected="1"' : '';
  const pane =
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/><selection pane="bottomLeft"/>';
  const columns = columnWidths.map(
    (width, index) =>
      `<col min="${index + 1}" max="${index + 1}" width="${width}" customWidth="1"/>`,
  );
  const cols = columns.length === 0 ? '' : `<cols>${columns.join('')}</cols>`;
  return `<worksheet xmlns="${MAIN}"><sheetViews><sheetView${selected} workbookViewId="0">${header === undefined ? '' : pane}</sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/>${cols}<sheetData>`;
}

/** Without `ignoredErrors` Excel offers to turn strings such as `00123` into numbers. */
function sheetEnd(layout: SheetLayout, hasChart: boolean): string {
  const range = filterRange(layout, (part) => part);
  const filter = range === undefined ? '' : `<autoFilter ref="${range}"/>`;
  const columnCount = layout.columnWidths.length;
  const ignored =
    columnCount === 0
      ? ''
      : `<ignoredErrors><ignoredError sqref="A1:${columnLetters(columnCount)}${layout.rowCount + 1}" numberStoredAsText="1"/></ignoredErrors>`;
  const drawing = hasChart ? `<drawing xmlns:r="${OFFICE}" r:id="rId1"/>` : '';
  return `</sheetData>${filter}${ignored}${drawing}</worksheet>`;
}

/** The cell range of the header's filter, such as `A1:D31`; undefined without a header. */
function filterRange(
  { header, rowCount }: SheetLayout,
  fix: (part: string) => string,
): string | undefined {
  if (header === undefined || header.length === 0) return undefined;
  const last = `${fix(columnLetters(header.length))}${fix(String(rowCount + 1))}`;
  return `${fix('A')}${fix('1')}:${last}`;
}

function headerXml(header: readonly string[]): string {
  const cells = header.map((name, index) =>
    textXml(`${columnLetters(index + 1)}1`, name, STYLE.header),
  );
  return `<row r="1">${cells.join('')}</row>`;
}

function rowXml(cells: readonly XlsxCell[], row: number): string {
  const xml = cells.map((cell, index) => cellXml(cell, `${columnLetters(index + 1)}${row}`));
  return `<row r="${row}">${xml.join('')}</row>`;
}

function cellXml(cell: XlsxCell, reference: string): string {
  switch (cell.kind) {
    case 'empty':
      return '';
    case 'number':
      return `<c r="${reference}"><v>${cell.value}</v></c>`;
    case 'boolean':
      return `<c r="${reference}" t="b"><v>${cell.value ? 1 : 0}</v></c>`;
    case 'time':
      return `<c r="${reference}" s="${STYLE.time}"><v>${(cell.localMs - DAY_ZERO_MS) / DAY_MS}</v></c>`;
    case 'link':
      return linkXml(reference, cell);
    case 'text':
      return textXml(reference, cell.text, cell.text.includes('\n') ? STYLE.lines : STYLE.text);
  }
}

/** The link is a formula, because Excel allows only 65,530 real hyperlinks in a sheet. */
function linkXml(reference: string, { url, text }: XlsxCell & { kind: 'link' }): string {
  const formula = `HYPERLINK(${formulaText(url)},${formulaText(text)})`;
  return `<c r="${reference}" s="${STYLE.link}" t="str"><f>${escapeMarkup(formula)}</f><v>${escapeMarkup(text)}</v></c>`;
}

/** Returns a string in the form that it must have inside a formula. */
function formulaText(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function textXml(reference: string, text: string, style: number): string {
  const space = /^\s|\s$/.test(text) ? ' xml:space="preserve"' : '';
  return `<c r="${reference}" s="${style}" t="inlineStr"><is><t${space}>${escapeCell(text)}</t></is></c>`;
}

/**
 * Excel reads `_x0041_` as the letter A (ECMA-376, ST_Xstring). An underscore that begins such a
 * sequence in the text is therefore escaped. XML readers turn a carriage return into a line feed,
 * so it is written as `_x000D_`. The first underscore of `_x000D_` can become the last character of
 * another such sequence.
 */
function escapeCell(text: string): string {
  const escaped = text.replace(/_(?=x[0-9a-f]{4}[_\r])/gi, '_x005F_');
  return escapeMarkup(escaped.replaceAll('\r', '_x000D_'));
}

/** Returns the parts of the charts by their names. */
function chartParts(sheets: readonly WorkbookSheet[]): Record<string, string> {
  const parts: Record<string, string> = {};
  for (const [index, { layout, chart }] of sheets.entries()) {
    if (chart === undefined) continue;
    const id = index + 1;
    const place: ChartPlace = {
      sheetName: sheetName(layout.name),
      columnCount: layout.columnWidths.length,
      rowCount: layout.rowCount,
    };
    const relation = (type: string, target: string) =>
      `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/${type}" Target="${target}"/></Relationships>`;
    parts[`xl/worksheets/_rels/sheet${id}.xml.rels`] = relation(
      'drawing',
      `../drawings/drawing${id}.xml`,
    );
    parts[`xl/drawings/drawing${id}.xml`] = drawingXml(place);
    parts[`xl/drawings/_rels/drawing${id}.xml.rels`] = relation(
      'chart',
      `../charts/chart${id}.xml`,
    );
    parts[`xl/charts/chart${id}.xml`] = chartXml(chart, place);
  }
  return parts;
}

/** Returns the XML that declares the content types of the chart parts. */
function chartOverrides(names: readonly string[]): string[] {
  const types: { readonly [folder: string]: string } = {
    drawings: 'drawing',
    charts: 'drawingml.chart',
  };
  return names.flatMap((name) => {
    const type = types[/^xl\/(\w+)\/\w+\.xml$/.exec(name)?.[1] ?? ''];
    if (type === undefined) return [];
    return [
      `<Override PartName="/${name}" ContentType="application/vnd.openxmlformats-officedocument.${type}+xml"/>`,
    ];
  });
}

function fixedParts(workbookSheets: readonly WorkbookSheet[]): Record<string, string> {
  const sheets = workbookSheets.map(({ layout }, index) => ({ layout, index, id: index + 1 }));
  const charts = chartParts(workbookSheets);
  const overrides = sheets.map(
    ({ id }) =>
      `<Override PartName="/xl/worksheets/sheet${id}.xml" ContentType="${CONTENT}.worksheet+xml"/>`,
  );
  const entries = sheets.map(
    ({ layout, id }) =>
      `<sheet name="${escapeMarkup(sheetName(layout.name))}" sheetId="${id}" r:id="rId${id}"/>`,
  );
  const filters = sheets.map(({ layout, index }) => filterName(layout, index)).join('');
  // Excel and LibreOffice need a hidden defined name to find the filter of a sheet.
  const names = filters === '' ? '' : `<definedNames>${filters}</definedNames>`;
  const relations = sheets.map(
    ({ id }) =>
      `<Relationship Id="rId${id}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${id}.xml"/>`,
  );
  const stylesId = sheets.length + 1;
  return {
    ...charts,
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${CONTENT}.sheet.main+xml"/>${[...overrides, ...chartOverrides(Object.keys(charts))].join('')}<Override PartName="/xl/styles.xml" ContentType="${CONTENT}.styles+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><bookViews><workbookView/></bookViews><sheets>${entries.join('')}</sheets>${names}</workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}/relationships">${relations.join('')}<Relationship Id="rId${stylesId}" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts count="1"><numFmt numFmtId="${TIME_FORMAT}" formatCode="${TIME_CODE}"/></numFmts><fonts count="3"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font><font><u/><sz val="11"/><color rgb="FF0563C1"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="${CELL_STYLES.length}">${CELL_STYLES.join('')}</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`,
  };
}

/** Returns the hidden name of a sheet's filter; empty without a filter. */
function filterName(layout: SheetLayout, index: number): string {
  const range = filterRange(layout, (part) => `$${part}`);
  if (range === undefined) return '';
  const name = escapeMarkup(sheetName(layout.name).replaceAll("'", "''"));
  return `<definedName name="_xlnm._FilterDatabase" localSheetId="${index}" hidden="1">'${name}'!${range}</definedName>`;
}

/** Excel refuses sheet names that contain certain characters or more than 31 characters. */
function sheetName(name: string): string {
  const allowed = name.replace(/[[\]:*?/\\]/g, ' ').replace(/^'+|'+$/g, '');
  return allowed.slice(0, LONGEST_SHEET_NAME).trim() || 'Sheet1';
}
