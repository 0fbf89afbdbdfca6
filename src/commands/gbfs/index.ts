// Declares `fleet gbfs`: its flags and examples.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { createOption } from '../../cli/command.js';
import { addVerb } from '../../cli/examples.js';
import { oneOf, portNumber } from '../../cli/options.js';
import type { Run } from '../../context.js';
import { usageError } from '../../errors.js';
import { readDuration } from '../../follow/flags.js';
import { ORGANIZATION_FLAG } from '../../list/flags.js';
import { readMetres } from '../bicycles/area.js';
import { FEED_VERSIONS } from './system-fields.js';

const LEAST_EVERY_MS = 1000;

const DESCRIPTION = `Write the fleet as a GBFS feed, which cities and trip planners read: what can be rented or is reserved,
under IDs that change after every rental. The bicycles come from the mirror when it is current, else
from the list. A feed that cannot be read completely is not published: the old one stays.
"fleet help gbfs" explains fields, IDs and failures.`;

export function addGbfs(program: Command, run: Run): void {
  addVerb(
    program,
    ['gbfs', 'publish the fleet as a GBFS feed', DESCRIPTION],
    ['publish once, for cron', 'fleet gbfs --out /srv/gbfs --system system.json --quiet'],
    ['keep it current', 'fleet gbfs --out /srv/gbfs --system system.json --every 60s'],
    ['IDs that last until the next rental', 'fleet mirror run'],
    ['serve it to a proxy', 'fleet gbfs --serve 4040 --system system.json --range 60km'],
    ['is it current?', 'fleet gbfs --check --out /srv/gbfs'],
  )
    .option('--out <folder>', 'write the files there')
    .addOption(
      createOption('--version <version>', `version of GBFS: ${FEED_VERSIONS.join(', ')}`)
        .argParser(oneOf('version', FEED_VERSIONS))
        .default(FEED_VERSIONS[0]),
    )
    .option(
      '--every <duration>',
      'publish again and again until Ctrl-C: 60s',
      readDuration('--every', LEAST_EVERY_MS),
    )
    .option(
      '--serve <port>',
      'serve it on this machine, for a proxy in front',
      portNumber('--serve'),
    )
    .option(
      '--ttl <duration>',
      'how long readers may use the feed, its ttl (default: --every, else 60s)',
      readDuration('--ttl'),
    )
    .option(...ORGANIZATION_FLAG)
    .option(
      '--set <name=value>',
      'a fact of the system, such as name=CityBike (repeatable)',
      readSet,
    )
    .option('--system <file>', 'a JSON object of such facts')
    .option(
      '--range <metres>',
      'range of a full battery, such as 60km (default: no motor, unless a model has a range)',
      readMetres('--range'),
    )
    .option(
      '--max-age <duration>',
      'leave out bicycles silent for longer, such as 7d',
      readDuration('--max-age'),
    )
    .option('--disabled', 'include those in maintenance, as disabled')
    .option('--check', 'publish nothing: exit with 9 when the feed in --out is 10 s past its ttl')
    .action(run(async () => (await import('./gbfs.js')).publishGbfs));
}

/** A parser for commander: `NAME=VALUE`, repeatable. */
function readSet(text: string, before: { readonly [name: string]: string } = {}) {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw usageError(`--set must be NAME=VALUE, not "${text}"`);
  return { ...before, [name.replace(/^gbfs\./, '')]: value };
}
