// Makes workbooks from XML parts, in the shapes that different programs write.

import { strToU8, type Zippable, zipSync } from 'fflate';

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

export interface MadeSheet {
  name?: string;
  /** `hidden` or `veryHidden`. */
  state?: string;
  /** The elements below `<sheetData>`. */
  rows?: string;
  /** The whole part instead. */
  xml?: string;
}

export interface MadeWorkbook {
  sheets: readonly MadeSheet[];
  /** The elements below `<sst>`. */
  texts?: string;
  /** Format codes; the style N of a cell has the format N - 1, and the style 0 the format General. */
  formats?: readonly string[];
  isFrom1904?: boolean;
  /** Parts to add or replace. */
  parts?: Readonly<Record<string, string>>;
}

const FIRST_CUSTOM_FORMAT = 164;

export function workbookParts({
  sheets,
  texts,
  formats = [],
  isFrom1904 = false,
  parts = {},
}: MadeWorkbook): Record<string, string> {
  const sheetList = sheets.map(({ name, state }, index) => {
    const visibility = state === undefined ? '' : ` state="${state}"`;
    return `<sheet name="${name ?? `Sheet${index + 1}`}" sheetId="${index + 1}"${visibility} r:id="rId${index + 1}"/>`;
  });
  const relationships = sheets.map(
    (_sheet, index) =>
      `<Relationship Id="rId${index + 1}" Type="${OFFICE}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`,
  );
  const codes = formats.map(
    (code, index) =>
      `<numFmt numFmtId="${FIRST_CUSTOM_FORMAT + index}" formatCode="${escapeAttribute(code)}"/>`,
  );
  const styles = formats.map(
    (_code, index) => `<xf numFmtId="${FIRST_CUSTOM_FORMAT + index}" applyNumberFormat="1"/>`,
  );
  return {
    '_rels/.rels': `<Relationships xmlns="${PACKAGE}"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr${isFrom1904 ? ' date1904="1"' : ''}/><sheets>${sheetList.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}">${relationships.join('')}<Relationship Id="rIdT" Type="${OFFICE}/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="rIdS" Type="${OFFICE}/styles" Target="/xl/styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs></styleSheet>`,
    ...(texts === undefined
      ? {}
      : { 'xl/sharedStrings.xml': `<sst xmlns="${MAIN}">${texts}</sst>` }),
    ...Object.fromEntries(
      sheets.map(({ rows = '', xml }, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        xml ?? `<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
    ...parts,
  };
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}

export function zipParts(parts: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const files: Zippable = Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [
      name,
      typeof part === 'string' ? strToU8(part) : part,
    ]),
  );
  return Buffer.from(zipSync(files));
}

/** Makes a workbook with one sheet. */
export function makeWorkbook(rows: string, rest: Omit<MadeWorkbook, 'sheets'> = {}): Buffer {
  return zipParts(workbookParts({ sheets: [{ rows }], ...rest }));
}
