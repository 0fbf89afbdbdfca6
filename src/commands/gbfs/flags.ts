// The flags of `fleet gbfs`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { createOption, type FlagsOf, type NoFlags } from '../../cli/command.js';
import { notText, oneOf, portNumber } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import { readDuration } from '../../follow/flags.js';
import { ORGANIZATION_FLAG } from '../../list/flags.js';
import { readMetres } from '../bicycles/area.js';
import { FEED_VERSIONS } from './system-fields.js';

const LEAST_EVERY_MS = 1000;

/** Adds the flags of `fleet gbfs`. Times are in milliseconds, and ranges in metres. */
export function addGbfsFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
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
    .option('--check', 'publish nothing: exit with 9 when the feed in --out is 10 s past its ttl');
}

export type GbfsOptions = FlagsOf<typeof addGbfsFlags<[], NoFlags>>;

/** Parses a value of `NAME=VALUE` for commander. The flag can be repeated. */
function readSet(text: string, before: { readonly [name: string]: string } = {}) {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw usageError(`--set must be NAME=VALUE${notText(text)}`);
  return { ...before, [name.replace(/^gbfs\./, '')]: value };
}
