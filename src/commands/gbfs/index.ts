// Declares `fleet gbfs`: its flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { addVerb } from '../../cli/examples.js';
import type { Run } from '../../context.js';
import { addGbfsFlags } from './flags.js';

const DESCRIPTION = `Write the fleet as a GBFS feed, which cities and trip planners read: what can be rented or is reserved,
under IDs that change after every rental. The bicycles come from the mirror when it is current, else
from the list. A feed that cannot be read completely is not published: the old one stays.
"fleet help gbfs" explains fields, IDs and failures.`;

export function addGbfs(program: Command, run: Run): void {
  const gbfs = addVerb(
    program,
    ['gbfs', 'publish the fleet as a GBFS feed', DESCRIPTION],
    ['publish once, for cron', 'fleet gbfs --out /srv/gbfs --system system.json --quiet'],
    ['keep it current', 'fleet gbfs --out /srv/gbfs --system system.json --every 60s'],
    ['IDs that last until the next rental', 'fleet mirror run'],
    ['serve it to a proxy', 'fleet gbfs --serve 4040 --system system.json --range 60km'],
    ['is it current?', 'fleet gbfs --check --out /srv/gbfs'],
  );
  addGbfsFlags(gbfs).action(run(async () => (await import('./gbfs.js')).publishGbfs));
}
