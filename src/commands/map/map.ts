// `fleet map`: reads the fleet, and draws it where the flags say: terminal, picture, page, file.

import { extname } from 'node:path';
import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { openTarget } from '../shared/list/target.js';
import { type MapFilters, readFleet } from './read.js';
import type { Size } from './size.js';

export interface MapOptions extends MapFilters {
  size?: Size;
  live?: boolean;
  role?: TopicRole;
  offline?: boolean;
  /** The port; 0 is any free one. */
  serve?: number;
  tiles?: string;
  /** Attribution of the tiles. */
  attribution?: string;
}

/** What is drawn: text, a picture or a page. */
type Form = 'text' | 'svg' | 'html';

/** A drawing of text with more cells is a slip, and would take gigabytes. */
const MOST_CELLS = 1_000_000;

const FORMS_BY_ENDING: ReadonlyMap<string, Form> = new Map([
  ['.svg', 'svg'],
  ['.html', 'html'],
  ['.htm', 'html'],
  ['.txt', 'text'],
]);

/** Draws the fleet. Throws what a list throws; a list that stayed short is drawn, and ends with `partial`. */
export async function showMap(context: Context, options: MapOptions): Promise<void> {
  const { file } = context.flags;
  const { size, live, serve, role, tiles, attribution, offline: _offline, ...filters } = options;
  const form = chooseForm(context, options);
  if (serve !== undefined) {
    const { servePage } = await import('./serve.js');
    return servePage(context, { filters, role, port: serve, tiles, attribution });
  }
  if (live === true) {
    const { followMap } = await import('./live.js');
    return followMap(context, filters, role);
  }
  const { picture, incomplete } = await readFleet(context, filters);
  const target = await openTarget(context, file);
  try {
    if (form === 'html') {
      const { writePage } = await import('./html.js');
      await writePage(picture, { tiles, attribution }, target.write);
    } else {
      const { drawPicture, drawText } = await import('./draw.js');
      const text = () => drawText(context, picture, { size, isFile: file !== undefined });
      await target.write(form === 'svg' ? drawPicture(picture, size) : await text());
    }
    await target.end();
  } catch (thrown) {
    await target.discard();
    throw thrown;
  }
  if (incomplete !== undefined) throw incomplete;
}

/** What the flags ask for together. Throws a usage error for what excludes each other. */
function chooseForm({ flags, io }: Context, options: MapOptions): Form {
  const { file } = flags;
  const { live, offline, serve, tiles, attribution, size } = options;
  const ending = file === undefined ? undefined : FORMS_BY_ENDING.get(extname(file).toLowerCase());
  const form = flags.picture ?? ending ?? 'text';
  const isPage = form === 'html' || serve !== undefined;
  const follower = live === true ? '--live' : serve === undefined ? undefined : '--serve';
  const excluded: readonly (readonly [isGiven: boolean, flag: string])[] = [
    [file !== undefined, '--file'],
    [size !== undefined, '--size'],
    [flags.picture !== undefined && !(follower === '--serve' && form === 'html'), `-o ${flags.picture}`],
    [serve !== undefined && live === true, '--serve'],
    [offline === true, '--offline'],
  ];
  const other = follower === undefined ? undefined : excluded.find(([isGiven]) => isGiven)?.[1];
  const refusals: readonly (readonly [isSo: boolean, reason: string, hint?: string])[] = [
    [flags.columns !== undefined, 'a map has no columns', LISTS],
    [flags.json === true || flags.jq !== undefined, 'a map has no JSON output: --json and --jq show nothing', LISTS],
    [(flags.output ?? 'table') !== 'table', `a map is -o svg or -o html, not ${flags.output}`, LISTS],
    [
      file !== undefined && flags.picture === undefined && ending === undefined,
      `--file "${file}" does not say what to draw`,
      'name it .svg, .html or .txt, or give -o',
    ],
    [other !== undefined, `${follower} and ${other} cannot be used together`, 'leave one of them out'],
    [
      live === true && !io.stdout.isTerminal,
      '--live draws on a terminal, and stdout is not one',
      'leave it out, or give --serve for a browser',
    ],
    [
      form === 'text' && size !== undefined && size.width * size.height > MOST_CELLS,
      '--size is in columns and rows here, and that is too large',
      'give -o svg for a picture in pixels, or a size such as 300,100',
    ],
    [options.role !== undefined && follower === undefined, '--role needs --live or --serve'],
    [tiles !== undefined && !isPage, '--tiles needs -o html or --serve'],
    [attribution !== undefined && tiles === undefined, '--attribution needs --tiles'],
    [size !== undefined && isPage, '--size is for the terminal and -o svg; a page fits its window'],
    [
      form !== 'text' && serve === undefined && file === undefined && io.stdout.isTerminal,
      `a ${form === 'svg' ? 'picture' : 'page'} is not printed on a terminal`,
      `give --file fleet.${form}, or redirect it`,
    ],
  ];
  const refusal = refusals.find(([isSo]) => isSo);
  if (refusal !== undefined) throw usageError(refusal[1], refusal[2]);
  return form;
}

const LISTS = '"fleet bicycles list --all" has the bicycles and "fleet bicycles stats" the numbers, in every format';
