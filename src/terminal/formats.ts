// The formats a result can have, one small renderer each behind one interface (cli.md section 2).

import { usageError } from '../errors.js';
import { loadPaint } from './colour.js';
import type { Renderer, RendererOptions, Shape } from './formats/renderer.js';

export type { ListedItem, Renderer, RendererOptions, Shape } from './formats/renderer.js';

export const FORMATS = ['table', 'json', 'jsonl', 'csv', 'tsv', 'yaml', 'geojson', 'uuid', 'xlsx'] as const;
export type Format = (typeof FORMATS)[number];

/** What `-o` of a command that draws can be besides. */
export const PICTURES = ['svg', 'html'] as const;
export type PictureFormat = (typeof PICTURES)[number];

/** The formats that have columns to choose from. */
const FORMATS_WITH_COLUMNS: readonly Format[] = ['table', 'csv', 'tsv', 'xlsx'];

/**
 * Makes the renderer of a format. Refuses, as a usage error, columns for a format that has none and GeoJSON for what has no
 * position; a column that does not exist is refused at the first batch, when it is known what the service sends.
 */
export async function openRenderer<T>(format: Format, shape: Shape<T>, options: RendererOptions): Promise<Renderer<T>> {
  const flag = options.columns !== undefined ? '--columns' : options.hasHeader === false ? '--no-headers' : undefined;
  if (flag !== undefined && !FORMATS_WITH_COLUMNS.includes(format))
    throw usageError(`${flag} goes with ${FORMATS_WITH_COLUMNS.join(', ')}, not with ${format}`);
  const tools = {
    ...options,
    paint: await loadPaint(format === 'table' || format === 'json' ? options.colorLevel : 0),
  };
  switch (format) {
    case 'table':
      return (await import('./formats/table.js')).openTable(shape, tools);
    case 'json':
      return (await import('./formats/json.js')).openJson(shape, tools);
    case 'jsonl':
      return (await import('./formats/json.js')).openJsonLines();
    case 'csv':
    case 'tsv':
      return (await import('./formats/csv.js')).openCsv(
        shape,
        tools,
        format === 'tsv' ? '\t' : (options.excel?.separator ?? ','),
      );
    case 'yaml':
      return (await import('./formats/yaml.js')).openYaml(shape);
    case 'geojson':
      return (await import('./formats/geojson.js')).openGeojson(shape);
    case 'xlsx':
      return (await import('./formats/xlsx.js')).openXlsx(shape, tools);
    case 'uuid':
      return (await import('./formats/uuid.js')).openUuids(shape);
  }
}
