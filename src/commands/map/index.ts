// Declares `fleet map`: its flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addMapFlags, DEFAULT_PORT } from './flags.js';

const DESCRIPTION = `Draw the whole fleet, or what the filters match, on a map: on the terminal, as a picture
(-o svg) or as a page for the browser (-o html). Every bicycle is drawn or counted:
those that would overlap are one number, and those without a position or outside the map are listed.`;

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
  addMapFlags(map).action(({ serve, ...others }, command) => {
    const port = serve === true ? DEFAULT_PORT : serve;
    const options = port === undefined ? others : { ...others, serve: port };
    return run(async () => (await import('./map.js')).showMap)(options, command);
  });
}
