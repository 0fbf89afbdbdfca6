// Reading a sheet of an .xlsx workbook: cells, sheets, hidden rows and broken files.

import { describe, expect, test } from 'vitest';
import { readWorkbook, type WorkbookOptions } from '../../src/input/workbook.js';
import { type MadeWorkbook, makeWorkbook, workbookParts, zipParts } from '../support/workbook.js';

type Options = Omit<WorkbookOptions, 'signal'>;

function read(bytes: Uint8Array, options: Options = {}) {
  return readWorkbook(bytes, 'fleet.xlsx', { ...options, signal: new AbortController().signal });
}

async function cellsOf(rows: string, rest: Omit<MadeWorkbook, 'sheets'> = {}) {
  const sheet = await read(makeWorkbook(rows, rest));
  return sheet.rows.map(({ cells }) => cells);
}

async function cellOf(cell: string, rest: Omit<MadeWorkbook, 'sheets'> = {}) {
  const [cells = []] = await cellsOf(`<row>${cell}</row>`, rest);
  return cells[0];
}

/** Returns the message of the error and its hint. */
async function errorOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    expect(error).toMatchObject({ kind: 'usage' });
    const { message, hint } = error as { message: string; hint?: string };
    return `${message} | ${hint}`;
  }
  throw new Error('nothing was thrown');
}

describe('texts', () => {
  test.each([
    ['a shared text', '<si><t>Ada</t></si>', 'Ada'],
    ['runs of rich text', '<si><r><t>A</t></r><r><rPr><b/></rPr><t>da</t></r></si>', 'Ada'],
    [
      'a text with a phonetic hint',
      '<si><t>東京</t><rPh sb="0" eb="2"><t>とう</t></rPh></si>',
      '東京',
    ],
    ['CDATA and comments', '<si><t>a<!-- b -->c<![CDATA[<d>]]>e<?f g?>h</t></si>', 'ac<d>eh'],
    ['a character reference', '<si><t>&#x1F6B2;&#128690;&amp;&lt;</t></si>', '🚲🚲&<'],
    ['escaped control characters', '<si><t>a_x000D_\nb_x0009_</t></si>', 'a\r\nb\t'],
    ['an escaped underscore', '<si><t>_x005F_x0041__x0041_</t></si>', '_x0041_A'],
    ['preserved space', '<si><t xml:space="preserve"> a\tb </t></si>', ' a\tb '],
    ['space that is not preserved', '<si><t> a b\n</t></si>', 'a b'],
    ['another prefix', '<x:si xmlns:x="m"><x:t>Ada</x:t></x:si>', 'Ada'],
  ])('reads %s', async (_what, texts, text) => {
    expect(await cellOf('<c t="s"><v>0</v></c>', { texts })).toBe(text);
    const inline = texts.replace(/^<(x:)?si/, '<$1is').replace(/si>$/, 'is>');
    expect(await cellOf(`<c t="inlineStr">${inline}</c>`)).toBe(text);
  });

  test('keeps strings that look like numbers, booleans or dates', async () => {
    const words = ['null', '-1', '=1+1', '1e5', '00123', 'TRUE', '12345678901234567890'];
    const cells = words.map((word) => `<c t="inlineStr"><is><t>${word}</t></is></c>`);
    expect(await cellsOf(`<row>${cells.join('')}</row>`)).toEqual([words]);
  });

  test.each([
    ['an inline text in <v>', '<c t="inlineStr"><v>Ada</v></c>'],
    ['an inline text without a type', '<c><is><t>Ada</t></is></c>'],
    ['an inline text of another type', '<c t="str"><is><r><t>Ada</t></r></is></c>'],
    ['an inline text with an empty <v>', '<c t="s"><v></v><is><t>Ada</t></is></c>'],
  ])('reads %s', async (_what, cell) => {
    expect(await cellOf(cell, { texts: '<si><t>other</t></si>' })).toBe('Ada');
  });

  test.each([
    ['two values', '<c t="str"><v>Ada</v><is><t>Bob</t></is></c>', 'A1: it has two values'],
    ['a text outside of an element', '<c>Ada</c>', 'A1: it has a text in an unknown place'],
    ['a text in another element', '<c><t>Ada</t></c>', 'A1: it has a text in an unknown place'],
    ['a text outside of <t>', '<c t="inlineStr"><is>Ada</is></c>', 'A1: it has a text'],
  ])('refuses a cell with %s', async (_what, cell, message) => {
    expect(await errorOf(cellOf(cell))).toContain(message);
  });

  test('ignores white space and extensions in the XML of a cell', async () => {
    const cell = '<c>\n <f>1+1</f> <v>2</v>\n<extLst><ext>x</ext></extLst> </c>';
    expect(await cellOf(cell)).toBe('2');
    expect(await cellsOf('<row><c>\n <v/> </c></row>')).toEqual([]);
  });

  test('refuses a cell that refers to a missing shared string', async () => {
    const error = await errorOf(cellsOf('<row><c t="s"><v>1</v></c></row>', { texts: '<si/>' }));
    expect(error).toContain('cell A1 refers to a text that does not exist');
  });
});

describe('numbers', () => {
  test.each([
    ['General', '67.2', '67.2'],
    ['General', '0.28999999999999998', '0.29'],
    ['General', '13.404953999999998', '13.404953999999998'],
    ['General', '-1E-6', '-0.000001'],
    ['General', '357000000000000', '357000000000000'],
    ['General', '100.0', '100'],
    ['0', '42.4', '42.4'],
    ['#,##0.00', '1234.5', '1234.5'],
    ['_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', '-5', '-5'],
    ['#,##0;[Red]#,##0', '-5', '-5'],
    ['0.00E+00', '12345', '12345'],
    ['0%', '0.25', '0.25'],
    ['# ?/?', '0.5', '0.5'],
    ['0" kg"', '7', '7'],
    ['#\\ ##0', '1234', '1234'],
    ["#'##0", '1234', '1234'],
    ['0_);(0)', '-5', '-5'],
    ['[Red][<10]0;0', '5', '5'],
    ['00\\ 00\\ 00', '10203', '01 02 03'],
    ['00000;-00000', '-123', '-00123'],
    ['0"."0', '12', '1.2'],
    ['[$€-407]\\ 0.00', '7.5', '7.5'],
    ['_ "CHF"\\ * #,##0.00_ ', '7.5', '7.5'],
    ['"SFr."\\ #,##0.00;\\-"SFr."\\ #,##0.00', '-7.5', '-7.5'],
    ['"US$"#,##0', '1234', '1234'],
    ['"EUR "0.00', '7.5', '7.5'],
    ['000.00', '123.5', '123.5'],
    ['0,000', '1234', '1234'],
    ['0,000.00', '-1234.5', '-1234.5'],
    ['00%', '0.25', '0.25'],
    ['##0.0E+0', '12345', '12345'],
    ["#'##0.00", '1234.5', '1234.5'],
    ['#\\ ##0.000\\ 000', '1234.5', '1234.5'],
    ['# ??/100', '0.5', '0.5'],
    ['0.0" kg"', '1.5', '1.5'],
    ['@', '7', '7'],
    ['00000', '123', '00123'],
    ['00000', '-123', '-00123'],
    ['00000', '1234567', '1234567'],
    ['"AB-"0000', '42', 'AB-0042'],
    ['000\\-00\\-0000', '12345678', '012-34-5678'],
  ])('reads a number in the format %s: %s', async (code, stored, text) => {
    expect(await cellOf(`<c s="1"><v>${stored}</v></c>`, { formats: [code] })).toBe(text);
  });

  test.each([
    ['General', '12345678901234567890', 'more than 15 digits'],
    ['0', '1E+21', 'more than 15 digits'],
    ['General', '0.12345678901234567890', 'more digits than Excel keeps'],
    ['00000', '1.5', 'its number format shows an integer'],
    ['0.0,', '1500', 'its number format shows another text'],
    ['#,##0,,', '1500000', 'its number format shows another text'],
    [';;;', '5', 'its number format hides the value'],
    ['0;-0;;@', '0', 'its number format hides the value'],
    ['"yes";"no"', '1', 'its number format shows another text'],
    ['"AB-"0', '42', 'its number format shows another text'],
    ['[>=1000]0.0,"k";0', '5', 'its number format shows another text'],
    ['(###) ###-####', '5551234567', 'its number format shows another text'],
    ...[
      ['000.00', '5.5'],
      ['0#', '5'],
      ['000.00', '99.999'],
      ['00.0;-00.0', '-5.5'],
      ['0,000', '5'],
      ['#,#00', '5'],
      ['0,000.0', '-999.5'],
      ['00%', '0.05'],
      ['"V"0.0', '1.5'],
      ['\\V0.0', '1.5'],
      ['"A-"#,##0', '1234'],
      ['"A-"0%', '0.5'],
      ['"V"# ?/?', '0.5'],
      ['000E+00', '12345'],
      ['00.0E+00', '12345'],
      ['0"-"0.0', '12.5'],
      ['0.0"x"0', '1.25'],
      ['0.0"-1"', '1.5'],
      ['[>5]"V"0.0;0.0', '1.5'],
    ].map(([code = '', stored = '']) => [
      code,
      stored,
      `its number format shows another text than the stored number: ${code})`,
    ]),
  ])('refuses a number in the format %s: %s', async (code, stored, reason) => {
    const promise = cellOf(`<c s="1"><v>${stored}</v></c>`, { formats: [code] });
    expect(await errorOf(promise)).toContain(`cannot be read exactly: A1: ${stored} (${reason}`);
  });

  test('reads boolean cells as true and false', async () => {
    const row = '<row><c t="b"><v>1</v></c><c t="b"><f>1=2</f><v>0</v></c></row>';
    expect(await cellsOf(row)).toEqual([['true', 'false']]);
  });

  test('refuses text cells whose number format changes or hides the text', async () => {
    const cell = '<c t="inlineStr" s="1"><is><t>42</t></is></c>';
    for (const code of ['"AB-"@', ';;;'])
      expect(await errorOf(cellOf(cell, { formats: [code] }))).toContain('A1: "42" (its number');
    for (const code of ['_-@_-', '0.00;-0.00;0;@', 'General', '@'])
      expect(await cellOf(cell, { formats: [code] })).toBe('42');
  });
});

describe('dates', () => {
  test.each([
    ['yyyy-mm-dd', '46082', '2026-03-01'],
    ['dd.mm.yyyy', '46082', '2026-03-01'],
    ['[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy', '46082', '2026-03-01'],
    ['mmm\\-yy', '46082', '2026-03-01'],
    ['yyyy-mm-dd hh:mm:ss', '46082.354166666664', '2026-03-01T08:30:00'],
    ['yyyy-mm-dd hh:mm:ss', '46082', '2026-03-01T00:00:00'],
    ['yyyy-mm-dd', '46082.354166666664', '2026-03-01T08:30:00'],
    ['m/d/yy h:mm AM/PM', '46082.354166666701', '2026-03-01T08:30:00'],
    ['yyyy-mm-dd hh:mm:ss.000', '46082.354167824072', '2026-03-01T08:30:00.100'],
    ['yyyy-mm-dd', '59', '1900-02-28'],
    ['yyyy-mm-dd', '61', '1900-03-01'],
  ])('reads a date in the format %s: %s', async (code, stored, text) => {
    expect(await cellOf(`<c s="1"><v>${stored}</v></c>`, { formats: [code] })).toBe(text);
  });

  test('calculates dates from 1904 when the workbook uses that epoch', async () => {
    const options = { formats: ['yyyy-mm-dd'], isFrom1904: true };
    expect(await cellOf('<c s="1"><v>44620</v></c>', options)).toBe('2026-03-01');
  });

  test('reads dates that are stored as text', async () => {
    const formats = ['yyyy-mm-dd', 'yyyy-mm-dd hh:mm'];
    const row = `<row><c t="d" s="1"><v>2026-03-01</v></c><c t="d" s="2"><v>2026-03-01T08:30:00</v></c></row>`;
    expect(await cellsOf(row, { formats })).toEqual([['2026-03-01', '2026-03-01T08:30:00']]);
  });

  test.each(['2026-02-30', '2026-13-01', '2026-03-01T25:00:00', '2026-03-01T24:00:00'])(
    'refuses %s, which is not a date',
    async (stored) => {
      const error = await errorOf(cellOf(`<c t="d"><v>${stored}</v></c>`));
      expect(error).toContain(`A1: "${stored}" is not a date`);
    },
  );

  test.each([
    ['h:mm', '0.35416666666666669', 'a time of day or duration without a date'],
    ['[h]:mm:ss', '1.5', 'a time of day or duration without a date'],
    ['mm:ss', '46082.5', 'a time of day or duration without a date'],
    ['yyyy-mm-dd hh:mm', '0.5', 'a time of day without a date'],
    ['yyyy-mm-dd', '60', 'a date that does not exist'],
    ['yyyy-mm-dd', '-1', 'a date that does not exist'],
    ['yyyy-mm-dd', '2958466', 'a date that does not exist'],
  ])('refuses a date in the format %s: %s', async (code, stored, reason) => {
    const promise = cellOf(`<c s="1"><v>${stored}</v></c>`, { formats: [code] });
    expect(await errorOf(promise)).toContain(`A1: ${reason} (stored as ${stored})`);
  });
});

describe('formulas and errors', () => {
  test('reads the stored results of formulas', async () => {
    const row = `<row><c><f>1+1</f><v>2</v></c><c t="str"><f>"a"&amp;"b"</f><v>ab</v></c><c t="str"><f>""</f><v></v></c><c><f t="shared" si="0"/><v>3</v></c></row>`;
    expect(await cellsOf(row)).toEqual([['2', 'ab', null, '3']]);
  });

  test('one error lists error cells and formulas without stored results', async () => {
    const cell = (reference: string, type: string, inner: string) =>
      `<c r="${reference}"${type}>${inner}</c>`;
    const rows = `<row r="7">${cell('B7', ' t="e"', '<v>#N/A</v>')}${cell('D7', '', '<f>1+1</f><v></v>')}${cell('E7', '', '<f>1+1</f>')}</row>`;
    const error = await errorOf(cellsOf(rows));
    expect(error).toContain(
      'the sheet "Sheet1" of fleet.xlsx has 3 cells that cannot be read exactly: B7: #N/A, D7: a formula without a stored value, E7: a formula',
    );
  });

  test('refuses a text cell whose formula has no stored result', async () => {
    for (const type of ['inlineStr', 'str', 's', 'b'])
      expect(await errorOf(cellOf(`<c t="${type}"><f>A2</f></c>`))).toContain(
        'A1: a formula without a stored value',
      );
  });

  test('an error lists ten cells and counts the rest', async () => {
    const cells = '<c t="e"><v>#REF!</v></c>'.repeat(13);
    const error = await errorOf(cellsOf(`<row>${cells}</row>`));
    expect(error).toContain('J1: #REF! and 3 more');
    expect(error).not.toContain('K1');
  });
});

describe('rows and cells', () => {
  test('reads rows and cells without an explicit position', async () => {
    const sheet = await read(
      makeWorkbook(`<row/><row><c><v>1</v></c><c/><c r="D2"><v>4</v></c><c><v>5</v></c></row>`),
    );
    expect(sheet.rows).toEqual([{ row: 2, cells: ['1', null, null, '4', '5'] }]);
  });

  test('reads cell positions with single quotes or XML character references', async () => {
    const sheet = await read(makeWorkbook(`<row r='3'><c r='&#66;3'><v>1</v></c></row>`));
    expect(sheet.rows).toEqual([{ row: 3, cells: [null, '1'] }]);
  });

  test('reads a sheet whose XML uses a different namespace prefix', async () => {
    const xml = `<x:worksheet xmlns:x="m"><x:sheetData><x:row r="1"><x:c r="A1"><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>`;
    const sheet = await read(zipParts(workbookParts({ sheets: [{ xml }] })));
    expect(sheet.rows).toEqual([{ row: 1, cells: ['1'] }]);
  });

  test.each([
    ['a row twice', '<row r="2"/><row r="2"/>', 'row 2 follows row 2'],
    ['a cell of another row', '<row r="2"><c r="A3"><v>1</v></c></row>', 'row 2 has a cell "A3"'],
    ['a cell twice', '<row><c r="B1"/><c r="B1"/></row>', 'cell B1 is not in order'],
    ['row 0', '<row r="0"/>', 'row 0 follows row 0'],
    ['a row that is not a number', '<row r="1e2x"/>', 'row 1e2x follows row 0'],
    ['a column beyond XFD', '<row><c r="XFE1"/></row>', 'more than 16384 columns'],
    ['a row beyond the last', '<row r="1048577"/>', 'more than 1048576 rows'],
  ])('refuses %s', async (_what, rows, reason) => {
    expect(await errorOf(cellsOf(rows))).toContain(reason);
  });
});

describe('workbooks written by other programs', () => {
  test('reads cells that refer to a built-in number format by ID', async () => {
    const ids = [1, 2, 4, 10, 11, 14, 22, 44, 49];
    const cells = ids.map((_id, index) => `<c s="${index}"><v>46082</v></c>`);
    const styles = ids.map((id) => `<xf numFmtId="${id}"/>`);
    const parts = {
      'xl/styles.xml': `<styleSheet><cellXfs>${styles.join('')}</cellXfs></styleSheet>`,
    };
    const day = '2026-03-01';
    const number = '46082';
    expect(await cellsOf(`<row>${cells.join('')}</row>`, { parts })).toEqual([
      [number, number, number, number, number, day, `${day}T00:00:00`, number, number],
    ]);
  });

  test('refuses a built-in number format that depends on the locale', async () => {
    const parts = {
      'xl/styles.xml': '<styleSheet><cellXfs><xf numFmtId="30"/></cellXfs></styleSheet>',
    };
    const error = await errorOf(cellOf('<c s="0"><v>46082</v></c>', { parts }));
    expect(error).toContain('A1: 46082 (its number format (30) depends on the language of Excel)');
  });

  test('reads the XML that LibreOffice writes', async () => {
    const row = `<row r="1" customFormat="false" ht="12.8" hidden="false" customHeight="false" outlineLevel="0" collapsed="false"><c r="A1" s="1" t="s"><v>0</v></c><c r="B1" s="1" t="str"><f aca="false">A1&amp;""</f><v>Ada</v></c><c r="C1" s="2" t="b"><v>1</v></c></row>`;
    const texts = '<si><t xml:space="preserve">Ada</t></si>';
    const formats = ['General', '"TRUE";"TRUE";"FALSE"'];
    expect(await cellsOf(row, { texts, formats })).toEqual([['Ada', 'Ada', 'true']]);
  });

  test('reads a strict OOXML workbook with unusual part names and UTF-16 encoding', async () => {
    const type = 'http://purl.oclc.org/ooxml/officeDocument/relationships';
    const sheet = `<?xml version="1.0" encoding="UTF-16"?><worksheet><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>`;
    const bytes = zipParts({
      '_rels/.rels': `<Relationships><Relationship Id="a" Type="${type}/officeDocument" Target="/book/main.xml"/></Relationships>`,
      'book/main.xml': `<w:workbook xmlns:w="m" xmlns:rel="${type}"><w:sheets><w:sheet name="A" sheetId="1" rel:id="s1"/></w:sheets></w:workbook>`,
      'book/_rels/main.xml.rels': `<Relationships><Relationship Id="s1" Type="${type}/worksheet" Target="../Data/Sheet.xml"/><Relationship Id="t" Type="${type}/sharedStrings" Target="texts.xml"/></Relationships>`,
      'data\\SHEET.xml': new Uint8Array(Buffer.from(`\uFEFF${sheet}`, 'utf16le')),
      'book/Texts.xml': '<sst><si><t>Ada</t></si></sst>',
    });
    const read = await readWorkbook(bytes, 'fleet.xlsx', { signal: new AbortController().signal });
    expect(read).toMatchObject({
      name: 'A',
      isOnlyVisible: true,
      rows: [{ row: 1, cells: ['Ada'] }],
    });
  });

  test('skips sheets that contain only a chart', async () => {
    const parts = workbookParts({
      sheets: [{ name: 'Chart' }, { rows: '<row><c><v>1</v></c></row>' }],
    });
    const rels = parts['xl/_rels/workbook.xml.rels'] ?? '';
    parts['xl/_rels/workbook.xml.rels'] = rels.replace('/worksheet"', '/chartsheet"');
    expect((await read(zipParts(parts))).name).toBe('Sheet2');
  });
});

describe('merged cells', () => {
  const withMerges = (...references: string[]) => {
    const merges = references.map((reference) => `<mergeCell ref="${reference}"/>`);
    const xml = `<worksheet><sheetData/><mergeCells>${merges.join('')}</mergeCells></worksheet>`;
    return read(zipParts(workbookParts({ sheets: [{ xml }] })));
  };

  test('reads the ranges of merged cells', async () => {
    expect((await withMerges('C2:D31', 'A1', 'A1:A1')).mergedRanges).toEqual([
      { reference: 'C2:D31', firstRow: 2, lastRow: 31, firstColumn: 3, lastColumn: 4 },
    ]);
  });

  test.each(['C2:C1', 'D2:C2', '2:3', 'C:C', '', 'C2:Cx'])(
    'refuses the range "%s"',
    async (reference) => {
      expect(await errorOf(withMerges(reference))).toContain(`a merged range "${reference}"`);
    },
  );
});

describe('sheets', () => {
  const row = (value: number) => `<row><c><v>${value}</v></c></row>`;
  const sheets = [
    { name: 'Notes', state: 'hidden', rows: row(1) },
    { name: 'Fleet', rows: row(2) },
    { name: 'Old', state: 'veryHidden', rows: row(3) },
    { name: 'Berlin', rows: row(4) },
  ];
  const bytes = zipParts(workbookParts({ sheets }));

  test('reads the first visible sheet', async () => {
    const sheet = await read(bytes);
    expect(sheet).toEqual({
      name: 'Fleet',
      isOnlyVisible: false,
      mergedRanges: [],
      rows: [{ row: 1, cells: ['2'] }],
    });
    expect((await read(makeWorkbook(row(1)))).isOnlyVisible).toBe(true);
  });

  test.each([
    ['Berlin', '4'],
    ['berlin', '4'],
    ['Notes', '1'],
    ['OLD', '3'],
  ])('reads the sheet that --sheet %s selects', async (sheet, value) => {
    expect((await read(bytes, { sheet })).rows).toEqual([{ row: 1, cells: [value] }]);
  });

  test('suggests an existing sheet when the --sheet value is unknown', async () => {
    expect(await errorOf(read(bytes, { sheet: 'Berlinn' }))).toContain(
      'unknown sheet "Berlinn" | did you mean "Berlin"? sheets: Notes, Fleet, Old, Berlin',
    );
  });

  test('does not choose between two sheets whose names differ only in case', async () => {
    const two = ['Ab', 'aB'].map((name) => ({ name, rows: row(1) }));
    const ambiguous = zipParts(workbookParts({ sheets: two }));
    expect((await read(ambiguous, { sheet: 'aB' })).name).toBe('aB');
    expect(await errorOf(read(ambiguous, { sheet: 'AB' }))).toContain('unknown sheet "AB"');
  });

  test('refuses a workbook when all its sheets are hidden', async () => {
    const hidden = zipParts(workbookParts({ sheets: sheets.slice(0, 1) }));
    expect(await errorOf(read(hidden))).toContain('all sheets of fleet.xlsx are hidden');
    expect((await read(hidden, { sheet: 'Notes' })).rows).toHaveLength(1);
  });
});

describe('hidden rows', () => {
  const cell = '<c><v>1</v></c>';
  const rows = [
    `<row r="1">${cell}</row>`,
    `<row r="3" hidden="1">${cell}</row>`,
    `<row r="4" hidden="true">${cell}</row>`,
    `<row r="5" ht="0" customHeight="1">${cell}</row>`,
    '<row r="6" hidden="1"/>',
    `<row r="7">${cell}</row>`,
    `<row r="9" hidden="1"><c t="e"><v>#N/A</v></c></row>`,
  ].join('');

  test('refuses a sheet with hidden rows and prints their row numbers', async () => {
    const error = await errorOf(cellsOf(rows));
    expect(error).toContain('has hidden rows: rows 3-5, 9 |');
    expect(error).toContain('--hidden-rows take or --hidden-rows skip');
  });

  test('`--hidden-rows skip` ignores hidden rows', async () => {
    const sheet = await read(makeWorkbook(rows), { hiddenRows: 'skip' });
    expect(sheet.rows.map(({ row }) => row)).toEqual([1, 7]);
  });

  test('`--hidden-rows take` reads hidden rows', async () => {
    const error = await errorOf(read(makeWorkbook(rows), { hiddenRows: 'take' }));
    expect(error).toContain('a cell that cannot be read exactly: A9: #N/A');
    const fewer = makeWorkbook(rows.slice(0, rows.indexOf('<row r="9"')));
    const sheet = await read(fewer, { hiddenRows: 'take' });
    expect(sheet.rows.map(({ row }) => row)).toEqual([1, 3, 4, 5, 7]);
  });
});

describe('files that are not workbooks', () => {
  test.each([
    [
      'an undefined entity',
      '<row><c t="inlineStr"><is><t>&j;</t></is></c></row>',
      'undefined entity',
    ],
    ['an unclosed element', '<row><c>', 'unexpected close tag'],
    ['an invalid character reference', '<row><c t="inlineStr"><is><t>&#0;</t></is></c></row>', ''],
    ['two attributes of one name', '<row r="1" r="2"/>', 'duplicate attribute'],
  ])('refuses %s', async (_what, rows, reason) => {
    const error = await errorOf(cellsOf(rows));
    expect(error).toContain('fleet.xlsx is not a readable .xlsx file: the sheet "Sheet1": ');
    expect(error).toContain(reason);
  });

  test('refuses a workbook whose XML has a DOCTYPE', async () => {
    const xml = '<!DOCTYPE worksheet [<!ENTITY j "x">]><worksheet/>';
    const bytes = zipParts(workbookParts({ sheets: [{ xml }] }));
    expect(await errorOf(read(bytes))).toContain('it has a DOCTYPE');
  });

  test.each([
    [
      'Old .xls',
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      'an old .xls or a password-protected file',
    ],
    ['OpenDocument', zipParts({ mimetype: 'x', 'content.xml': '<x/>' }), '.ods'],
    ['a zip of other files', zipParts({ 'a.txt': 'x' }), 'a zip archive without a workbook'],
    ['a cut-off file', makeWorkbook('').subarray(0, 300), 'cut off'],
    [
      'a binary workbook',
      zipParts({
        '_rels/.rels':
          '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>',
      }),
      '.xlsb',
    ],
    [
      'a document',
      zipParts(workbookParts({ sheets: [], parts: { 'xl/workbook.xml': '<document/>' } })),
      'not a workbook',
    ],
  ])('refuses %s and describes the file type', async (_what, bytes, reason) => {
    const error = await errorOf(read(bytes));
    expect(error).toContain(reason);
    expect(error).toContain('save it as .xlsx');
  });

  test('refuses a workbook when one of its parts has an unknown encoding', async () => {
    const xml = '<?xml version="1.0" encoding="iso-8859-1"?><worksheet/>';
    const bytes = zipParts(workbookParts({ sheets: [{ xml }] }));
    expect(await errorOf(read(bytes))).toContain('encoding "iso-8859-1"');
  });

  test('refuses an archive with two entries of the same name', async () => {
    const bytes = makeWorkbook('', { parts: { 'XL/workbook.xml': '<workbook/>' } });
    expect(await errorOf(read(bytes))).toContain('two entries named');
  });

  test('does not read a workbook when the abort signal is already set', async () => {
    const signal = AbortSignal.abort(new Error('interrupted'));
    await expect(readWorkbook(makeWorkbook(''), 'fleet.xlsx', { signal })).rejects.toThrow(
      'interrupted',
    );
  });

  test('refuses a workbook when one of its parts has a wrong checksum', async () => {
    const bytes = makeWorkbook('<row><c><v>1</v></c></row>');
    const at = bytes.lastIndexOf(Buffer.from('PK\u0001\u0002'));
    bytes.writeUInt32LE(1, at + 16);
    expect(await errorOf(read(bytes))).toContain('its size or checksum is wrong');
  });
});
