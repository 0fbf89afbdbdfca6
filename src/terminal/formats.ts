// The output formats. Each has a small renderer behind a common interface (cli.md section 2).

import { usageError } from '../errors.js';
import { loadPaint } from './colour.js';
import type { Renderer, RendererOptions, RendererTools, Shape } from './formats/renderer.js';

export type { ListedItem, Renderer, RendererOptions, Shape } from './formats/renderer.js';

export const FORMATS = [
  'table',
  'json',
  'jsonl',
  'csv',
  'tsv',
  'yaml',
  'geojson',
  'uuid',
  'xlsx',
] as const;
export type Format = (typeof FORMATS)[number];

/**
 * The formats of fleet's own results. The other formats are only for bicycles and other resources
 * of the service.
 */
export const REPORT_FORMATS = ['table', 'json', 'jsonl', 'csv', 'tsv', 'yaml', 'xlsx'] as const;

/**
 * The formats for fixed facts about the service, such as its limits and the forms of its requests.
 */
export const FACT_FORMATS = ['table', 'json', 'jsonl'] as const;

/**
 * Returns the chosen format when the command supports it. Throws a FleetError of kind `usage` for
 * any other format from a flag. A format from a profile or a variable is meant for lists, so a
 * command that does not support it prints a table.
 */
export function chooseFormat<Supported extends Format>(
  { value, origin }: { value: Format; origin: string },
  supported: readonly Supported[],
): Supported | 'table' {
  const format = supported.find((each) => each === value);
  if (format !== undefined) return format;
  if (origin !== 'flag') return 'table';
  throw usageError(
    `--output ${value} is not supported by this command`,
    `formats: ${supported.join(', ')}`,
  );
}

/** The formats that drawing commands accept for `-o`, in addition to the usual ones. */
export const PICTURES = ['svg', 'html', 'gpx'] as const;
export type PictureFormat = (typeof PICTURES)[number];

/** Additional values of `-o` for `fleet report`. */
export const DOCUMENTS = ['md', 'html'] as const;
export type DocumentFormat = (typeof DOCUMENTS)[number];

type OpenFormat = <T>(shape: Shape<T>, tools: RendererTools) => Renderer<T> | Promise<Renderer<T>>;

/** The formats whose columns the user can choose. */
const FORMATS_WITH_COLUMNS: readonly Format[] = ['table', 'csv', 'tsv', 'xlsx'];

/**
 * Creates the renderer of a format. Throws a usage error when the user chose columns for a format
 * without columns, or GeoJSON for a resource without a position. A column that does not exist is
 * refused when the first batch arrives, because only then are the service's fields known.
 */
export async function openRenderer<T>(
  format: Format,
  shape: Shape<T>,
  options: RendererOptions,
): Promise<Renderer<T>> {
  const flag =
    options.columns !== undefined
      ? '--columns'
      : options.hasHeader === false
        ? '--no-headers'
        : undefined;
  if (flag !== undefined && !FORMATS_WITH_COLUMNS.includes(format))
    throw usageError(
      `${flag} works only with ${FORMATS_WITH_COLUMNS.join(', ')}, not with ${format}`,
    );
  if (options.headingOf !== undefined) checkHeadings(format, options);
  const tools = {
    ...options,
    paint: await loadPaint(format === 'table' || format === 'json' ? options.colorLevel : 0),
  };
  return (await OPENERS[format]())(shape, tools);
}

/** The formats whose headings `--headings` changes. */
const FILES_WITH_HEADINGS: readonly Format[] = ['csv', 'tsv', 'xlsx'];

/** Throws a usage error when `--headings` would have no effect. */
function checkHeadings(format: Format, { hasHeader }: RendererOptions): void {
  if (!FILES_WITH_HEADINGS.includes(format))
    throw usageError(
      `--headings works only with ${FILES_WITH_HEADINGS.join(', ')}, not with ${format}`,
      'add --file fleet.xlsx or -o csv',
    );
  if (hasHeader === false)
    throw usageError('--headings cannot be used with --no-headers', 'remove one of them');
}

const OPENERS: { readonly [name in Format]: () => Promise<OpenFormat> } = {
  table: async () => (await import('./formats/table.js')).openTable,
  json: async () => (await import('./formats/json.js')).openJson,
  jsonl: async () => (await import('./formats/json.js')).openJsonLines,
  csv: async () => (await import('./formats/csv.js')).openCsv,
  tsv: async () => (await import('./formats/csv.js')).openTsv,
  yaml: async () => (await import('./formats/yaml.js')).openYaml,
  geojson: async () => (await import('./formats/geojson.js')).openGeojson,
  xlsx: async () => (await import('./formats/xlsx.js')).openXlsx,
  uuid: async () => (await import('./formats/uuid.js')).openUuids,
};
