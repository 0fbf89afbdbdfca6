// Declares `fleet rounds`: its flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addRoundsFlags } from './flags.js';

const DESCRIPTION = `Order bicycles into one short tour per van, within capacity and hours. The bicycles are those that
match the filters, or those that stdin names (-). Bicycles that do not fit are listed with the reason; fleet then
exits with 9. -o is table (with a map on a terminal), json, csv, xlsx, gpx, geojson or html.
"fleet help rounds" explains the limits, the files and the servers.`;

export function addRounds(program: Command, run: Run): void {
  const rounds = addVerb(
    program,
    ['rounds', 'order bicycles into tours of vans', DESCRIPTION],
    [
      'the tour of one van, with times',
      'fleet rounds --from 52.52,13.405 --near 52.52,13.405 --radius 3km --start 07:30',
    ],
    [
      'three vans with 20 places and 6 hours each',
      'fleet rounds --from 52.52,13.405 --zone Berlin --vans 3 --capacity 20 --hours 6',
    ],
    [
      'bicycles of a list',
      'fleet bicycles list --near 52.52,13.405 --radius 3km -o uuid | fleet rounds - --from 52.52,13.405',
    ],
    [
      'a workbook with a sheet for each van',
      'fleet rounds --from 52.52,13.405 --zone Berlin --vans 2 --file rounds.xlsx',
    ],
    [
      'a page to print',
      'fleet rounds --from 52.52,13.405 --zone Berlin --vans 2 --file rounds.html',
    ],
  );
  addRoundsFlags(rounds.argument('[-]', 'read the bicycles from stdin')).action(
    run(async () => (await import('./rounds.js')).planRounds),
  );
}
