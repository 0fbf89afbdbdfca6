// Declares `fleet map`: its flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import { portNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { addRoleFlag } from '../../follow/flags.js';
import { addFleetFilters } from '../bicycles/list-flags.js';
import { readSize, readTiles } from './flags.js';

const DESCRIPTION = `Draw the whole fleet, or what the filters match, on a map: on the terminal, as a picture
(-o svg) or as a page for the browser (-o html). Every bicycle is drawn or counted:
those that would overlap are one number, and those without a position or outside the map are listed.`;

/** The port of --serve when no port is given. */
const DEFAULT_PORT = 4030;

export function addMap(program: Command, run: Run): void {
  const map = addVerb(
    program,
    ['map', 'draw the fleet on a map', DESCRIPTION],
    ['the fleet on the terminal', 'fleet map'],
    ['follow it on a full screen', 'fleet map --live'],
    ['a page that works from a disk, offline', 'fleet map -o html --file fleet.html'],
    ['the same page, moving as messages come', 'fleet map --serve'],
    [
      'one city, as a picture for a report',
      'fleet map --near 52.52,13.405 --radius 8km -o svg --file berlin.svg',
    ],
  );
  addRoleFlag(addFleetFilters(map))
    .option('--size <width,height>', 'columns and rows, or pixels of an SVG: 120,40', readSize)
    .option('--live', 'fill the terminal and follow updates')
    .option(
      '--serve [port]',
      `serve the page on this machine and follow updates (default: ${DEFAULT_PORT})`,
      portNumber('--serve'),
    )
    .option('--title <text>', "title of the map (default: the organization's name)")
    .option(
      '--tiles <url or file>',
      'street map of the page: https://…/{z}/{x}/{y}.png, or a file berlin.pmtiles',
      readTiles,
    )
    .option('--attribution <text>', 'credit for the tiles, shown on the page')
    .action(({ serve, ...others }, command) => {
      const port = serve === true ? DEFAULT_PORT : serve;
      const options = port === undefined ? others : { ...others, serve: port };
      return run(async () => (await import('./map.js')).showMap)(options, command);
    });
}
