// `fleet map`: reads the fleet and draws it as text, as a picture or as an HTML page.

import { extname } from 'node:path';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { openTarget } from '../../list/output-file.js';
import type { MapOptions } from './flags.js';
import { isArchivePath } from './flags.js';
import type { HtmlOptions } from './html.js';
import { type MapFilters, readFacts, readFleet } from './read.js';

/** The output formats of the map. */
type Form = 'text' | 'svg' | 'html';

/**
 * The maximum number of characters in a text drawing. With 10,000 columns and 10,000 rows, a
 * drawing would need 8 GB of memory.
 */
const MOST_CELLS = 1_000_000;

const FORMS_BY_ENDING: Readonly<Record<string, Form>> = {
  '.svg': 'svg',
  '.html': 'html',
  '.htm': 'html',
  '.txt': 'text',
};

/**
 * Draws the fleet. Throws the same errors as reading a list. When the list is incomplete, draws the
 * received bicycles and then throws an error of kind `partial`.
 */
export async function showMap(context: Context, options: MapOptions): Promise<void> {
  const { file } = context.flags;
  const { size, live, serve, role, tiles, attribution, offline: _offline, ...filters } = options;
  const form = chooseForm(context, options);
  if (serve !== undefined) {
    const { servePage } = await import('./serve.js');
    const archive = await archiveOf(tiles, attribution);
    return servePage(context, { filters, role, port: serve, tiles, attribution, archive });
  }
  if (live === true) {
    const { followMap } = await import('./live.js');
    return followMap(context, filters, role);
  }
  if (form === 'html') return writeMapPage(context, filters, { tiles, attribution });
  const picture = await readFleet(context, filters);
  const target = await openTarget(context);
  const { drawPicture, drawText } = await import('./draw.js');
  const text = () => drawText(context, picture, { size, isFile: file !== undefined });
  await target.write(form === 'svg' ? drawPicture(picture, size) : await text());
  await target.end();
  if (picture.incomplete !== undefined) throw picture.incomplete;
}

/** Writes the fleet as an HTML page. Throws the same errors as `showMap`. */
async function writeMapPage(
  context: Context,
  filters: MapFilters,
  { tiles, attribution }: HtmlOptions,
): Promise<void> {
  const archive = await archiveOf(tiles, attribution);
  const { openPacker } = await import('../../views/map/pack.js');
  const { writePage } = await import('./html.js');
  const { readZones } = await import('./zones.js');
  const packer = openPacker();
  const facts = await readFacts(context, filters, packer.add);
  const target = await openTarget(context);
  const zones = await readZones(context, facts.organization);
  await writePage(facts, packer.end(), { tiles, attribution, zones, archive }, target.write);
  await archive?.close();
  await target.end();
  if (facts.incomplete !== undefined) throw facts.incomplete;
}

/**
 * Opens the archive of `--tiles`. Call this before any request is sent, because the file may be
 * invalid. Returns undefined when there is no archive, as with a tile server.
 */
export async function archiveOf(tiles: string | undefined, attribution: string | undefined) {
  if (tiles === undefined || !isArchivePath(tiles)) return undefined;
  const { openArchive } = await import('./archive.js');
  return openArchive(tiles, attribution);
}

/** Chooses the output format from the flags. Throws a usage error for mutually exclusive flags. */
function chooseForm({ flags, io }: Context, options: MapOptions): Form {
  const { file, picture, columns, json, jq, output = 'table' } = flags;
  const { live, offline, serve, role, tiles, attribution, size } = options;
  const ending = file === undefined ? undefined : FORMS_BY_ENDING[extname(file).toLowerCase()];
  const drawn = picture === 'svg' || picture === 'html' ? picture : undefined;
  const form = drawn ?? ending ?? 'text';
  const isPage = form === 'html' || serve !== undefined;
  const follower = live === true ? '--live' : serve === undefined ? undefined : '--serve';
  if (columns !== undefined || json === true || jq !== undefined || output !== 'table')
    throw usageError(
      'a map is text, -o svg or -o html; other formats, --json, --jq and --columns cannot be used',
      LISTS,
    );
  if (file !== undefined && picture === undefined && ending === undefined)
    throw usageError(
      `--file "${file}" has no extension that selects a format`,
      'use the extension .svg, .html or .txt, or pass -o',
    );
  const others: Readonly<Record<string, boolean>> = {
    '--file': file !== undefined,
    '--size': size !== undefined,
    [`-o ${picture}`]: picture !== undefined && !(live !== true && picture === 'html'),
    '--serve': serve !== undefined && live === true,
    '--offline': offline === true,
  };
  const other = Object.keys(others).find((flag) => others[flag]);
  if (follower !== undefined && other !== undefined)
    throw usageError(`${follower} and ${other} cannot be used together`, 'remove one of them');
  if (live === true && !io.stdout.isTerminal)
    throw usageError(
      '--live needs a terminal, but stdout is not a terminal',
      'to show the map in a browser, pass --serve',
    );
  if (role !== undefined && follower === undefined)
    throw usageError('--role needs --live or --serve');
  if (tiles !== undefined && !isPage) throw usageError('--tiles needs -o html or --serve');
  if (attribution !== undefined && tiles === undefined)
    throw usageError('--attribution needs --tiles');
  if (size !== undefined && isPage)
    throw usageError(
      '--size works only on the terminal and with -o svg; a page always fits its window',
    );
  if (form === 'text' && size !== undefined && size.width * size.height > MOST_CELLS)
    throw usageError(
      '--size is too large: for a text map, it is the number of columns and rows',
      'pass -o svg, or a size such as 300,100',
    );
  if (form !== 'text' && serve === undefined && file === undefined && io.stdout.isTerminal)
    throw usageError(
      `-o ${form} output cannot be printed to a terminal`,
      `pass --file fleet.${form}, or redirect the output`,
    );
  return form;
}

const LISTS =
  '"fleet bicycles list --all" has the bicycles and "fleet bicycles stats" the numbers, in every format';
