// Finds the parts of a workbook: its sheets, shared strings and formats. The workbook's
// relationship files list these parts.

import type { DateSystem } from './cell-value.js';
import { readXml, type XmlElement } from './xml.js';

/**
 * Thrown when a zip archive is not an .xlsx workbook. Also thrown for a workbook that refers to
 * missing parts.
 */
export class PackageError extends Error {}

export interface SheetPart {
  readonly name: string;
  readonly isVisible: boolean;
  /** Whether the sheet has cells. False for a chart sheet or a dialog sheet. */
  readonly isWorksheet: boolean;
  /** The name of the sheet's entry in the zip archive. */
  readonly part: string;
}

export interface WorkbookParts {
  readonly sheets: readonly SheetPart[];
  readonly sharedStrings: string | undefined;
  readonly styles: string | undefined;
  readonly dates: DateSystem;
}

/** Returns the unpacked bytes of an entry, or undefined when the entry does not exist. */
export type OpenPart = (name: string) => AsyncIterable<Uint8Array> | undefined;

interface Relationship {
  readonly type: string;
  readonly target: string;
}

/** The maximum number of sheets. A workbook with more sheets is not a list of bicycles. */
const MOST_SHEETS = 10_000;
/** The maximum length of a sheet's name. Excel allows 31 characters. */
const LONGEST_SHEET_NAME = 255;
const MOST_RELATIONSHIPS = 20_000;

export async function findWorkbookParts(
  open: OpenPart,
  has: (name: string) => boolean,
): Promise<WorkbookParts> {
  const packageRelationships = await readRelationships(open, '');
  const workbook = partOfType([...packageRelationships.values()], 'officeDocument');
  if (workbook === undefined) throw new PackageError(describePackage(has));
  if (workbook.toLowerCase().endsWith('.bin'))
    throw new PackageError('it is an .xlsb file (binary workbook)');
  const relationships = await readRelationships(open, workbook);
  const { sheets, dates } = await readWorkbookPart(open, workbook);
  return {
    sheets: sheets.map(({ name, state, relationship }) => {
      const found = relationships.get(relationship);
      if (found === undefined) throw new PackageError(`its sheet "${name}" is missing`);
      return {
        name,
        isVisible: state === undefined || state === 'visible',
        isWorksheet: found.type === 'worksheet',
        part: found.target,
      };
    }),
    sharedStrings: partOfType([...relationships.values()], 'sharedStrings'),
    styles: partOfType([...relationships.values()], 'styles'),
    dates,
  };
}

function describePackage(has: (name: string) => boolean): string {
  if (has('content.xml') && has('mimetype')) return 'it is an .ods file (OpenDocument)';
  if (has('index/document.iwa')) return 'it is a .numbers file';
  return 'it is a zip archive without a workbook';
}

function partOfType(relationships: readonly Relationship[], type: string): string | undefined {
  return relationships.find((relationship) => relationship.type === type)?.target;
}

/**
 * Returns the relationships of a part by their identifiers. An empty `part` means the whole
 * package.
 */
async function readRelationships(open: OpenPart, part: string): Promise<Map<string, Relationship>> {
  const slash = part.lastIndexOf('/') + 1;
  const folder = part.slice(0, slash);
  const chunks = open(`${folder}_rels/${part.slice(slash)}.rels`);
  const relationships = new Map<string, Relationship>();
  if (chunks === undefined) return relationships;
  await readXml(chunks, {
    open({ name, attributes }) {
      const { Id, Type, Target, TargetMode } = attributes;
      if (name !== 'Relationship' || TargetMode === 'External') return;
      if (Id === undefined || Type === undefined || Target === undefined) return;
      if (relationships.size >= MOST_RELATIONSHIPS)
        throw new PackageError('it has too many relationships');
      // Workbooks in the strict format use different URLs for relationship types, but the part
      // after the last slash is the same.
      const type = Type.slice(Type.lastIndexOf('/') + 1);
      relationships.set(Id, { type, target: resolveTarget(folder, Target) });
    },
    text() {},
    close() {},
  });
  return relationships;
}

/**
 * Returns the entry name of a relationship's target. The target is absolute (`/xl/styles.xml`) or
 * relative to `folder` (`styles.xml`, `../styles.xml`).
 */
function resolveTarget(folder: string, target: string): string {
  const path = target.startsWith('/') ? target : `${folder}${target}`;
  const names: string[] = [];
  for (const name of path.replaceAll('\\', '/').split('/')) {
    if (name === '..') names.pop();
    else if (name !== '.' && name !== '') names.push(name);
  }
  return names.join('/');
}

interface SheetElement {
  readonly name: string;
  readonly state: string | undefined;
  readonly relationship: string;
}

async function readWorkbookPart(
  open: OpenPart,
  part: string,
): Promise<{ sheets: SheetElement[]; dates: DateSystem }> {
  const chunks = open(part);
  if (chunks === undefined) throw new PackageError(`its part ${part} is missing`);
  const sheets: SheetElement[] = [];
  let dates: DateSystem = 1900;
  await readXml(chunks, {
    open(element, path) {
      if (path.length === 0 && element.name !== 'workbook')
        throw new PackageError('it is an Office file, but not a workbook');
      if (path.length === 1 && element.name === 'workbookPr') dates = dateSystemOf(element);
      if (path.length !== 2 || path[1]?.name !== 'sheets' || element.name !== 'sheet') return;
      if (sheets.length >= MOST_SHEETS) throw new PackageError('it has too many sheets');
      sheets.push(sheetOf(element));
    },
    text() {},
    close() {},
  });
  return { sheets, dates };
}

function dateSystemOf({ attributes }: XmlElement): DateSystem {
  return isTrueAttribute(attributes['date1904']) ? 1904 : 1900;
}

function sheetOf({ attributes }: XmlElement): SheetElement {
  const { name, state } = attributes;
  const relationship = attributeOfRelationship(attributes);
  if (name === undefined || relationship === undefined)
    throw new PackageError('the name of a sheet is missing');
  if (name.length > LONGEST_SHEET_NAME) throw new PackageError('the name of a sheet is too long');
  return { name, state, relationship };
}

/** Returns the attribute `r:id`. Other programs may use a prefix other than `r`. */
function attributeOfRelationship(attributes: Readonly<Record<string, string>>): string | undefined {
  const key = Object.keys(attributes).find((name) => name.endsWith(':id'));
  return key === undefined ? undefined : attributes[key];
}

/** Whether an attribute of the XML Schema type `boolean` is true. */
export function isTrueAttribute(value: string | undefined): boolean {
  return value === '1' || value === 'true' || value === 'on';
}
