// Declares `fleet rounds`: its flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { BICYCLE } from '../../api/bicycle.js';
import { readPlanPath } from '../../bulk/flags.js';
import { addVerb } from '../../cli/examples.js';
import { wholeNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { addConditionFlags } from '../../list/flags.js';
import { OFFLINE } from '../../list/mirror-flags.js';
import { addFilters } from '../bicycles/list-flags.js';
import {
  MOST_VANS,
  readClock,
  readHours,
  readMinutes,
  readPlace,
  readSearchSeconds,
  readServer,
  readVanSpeed,
} from './flags.js';

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
  addConditionFlags(addFilters(rounds.argument('[-]', 'read the bicycles from stdin')), BICYCLE)
    .option(...OFFLINE)
    .option('--from <lat,lon>', 'where the vans start (needed)', readPlace('--from'))
    .option('--to <lat,lon>', 'where the tours end (default: --from)', readPlace('--to'))
    .option('--vans <n>', 'number of vans (default: 1)', wholeNumber('--vans', 1, MOST_VANS))
    .option('--capacity <n>', 'bicycles that fit into a van', wholeNumber('--capacity', 1))
    .option('--hours <h>', 'longest duration of a tour, such as 6 or 7.5', readHours)
    .option('--stop <minutes>', 'time at each bicycle (default: 4)', readMinutes)
    .option('--speed <kmh>', 'mean speed of a van (default: 18)', readVanSpeed)
    .option('--balance', 'shorten the longest tour instead of the distance')
    .option('--start <hh:mm>', 'departure today, for local times of arrival', readClock)
    .option('--router <url>', 'OSRM server for distances and times', readServer('--router'))
    .option('--solver <url>', 'VROOM server that orders the stops', readServer('--solver'))
    .option(
      '--seconds <n>',
      'search for this time; results may then differ (default: a fixed number of steps)',
      readSearchSeconds,
    )
    .option(
      '--plan <file>',
      'also write a plan for "fleet apply" that puts the bicycles of the tours into maintenance',
      readPlanPath,
    )
    .option('-y, --yes', 'accept a start that is far from every bicycle')
    .action(run(async () => (await import('./rounds.js')).planRounds));
}
