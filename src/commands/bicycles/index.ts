// The words of `fleet bicycles`: its verbs, their flags and examples.

import type { Command } from 'commander';
import { BICYCLE_FIELDS } from '../../api/bicycle.js';
import { addListFlags, readUuid } from '../list-words.js';
import type { Run } from '../words.js';
import { examples } from '../words.js';
import { parseBbox } from './area.js';

export function addBicycles(program: Command, run: Run): void {
  const bicycles = program
    .command('bicycles')
    .aliases(['bicycle', 'bikes', 'bike'])
    .summary('list, create and act on bicycles')
    .description('List, create and act on bicycles.');

  const list = bicycles
    .command('list')
    .summary('list bicycles')
    .description('List bicycles: one page, or as many as --limit or --all say.')
    .option('--bbox <ne_lon,ne_lat,sw_lon,sw_lat>', 'inside the box of these two corners', parseBbox)
    .option('--zone <uuid>', 'inside the geographic zone', readUuid('--zone'));
  addListFlags(list, BICYCLE_FIELDS, 'state_of_charge').action((options, command) =>
    run(command, async (context) => (await import('./list.js')).listBicycles(context, options)),
  );
  examples(
    list,
    ['the twenty with the lowest charge', 'fleet bicycles list --ordering state_of_charge'],
    ['the middle of Berlin, whole, as JSON', 'fleet bicycles list --bbox 13.45,52.54,13.35,52.50 --all --json'],
    ['how many there are', 'fleet bicycles list --count'],
  );

  const create = bicycles
    .command('create')
    .summary('create a bicycle')
    .description('Create a bicycle. Linked resources take a URL, sent as it is, or a UUID.')
    .requiredOption('--name <name>', 'visible name of the bicycle')
    .option('--organization <url|uuid>', 'owning organization (default: from the settings)')
    .option('--model <url|uuid>', 'bicycle model')
    .option('--lock <url|uuid>', 'lock that is already attached')
    .option('--serial-number <text>', 'frame serial number')
    .option('--description <text>', 'free-text description')
    .action((options, command) =>
      run(command, async (context) => (await import('./create.js')).createBicycle(context, options)),
    );
  examples(
    create,
    ['a bicycle of the organization in the settings', 'fleet bicycles create --name "Ada 0042"'],
    [
      'with its serial number, the new UUID alone on stdout',
      'fleet bicycles create --name "Ada 0043" --serial-number WTU-0043 -o uuid',
    ],
  );

  const act = bicycles
    .command('act')
    .summary('run a transition on a bicycle')
    .description('Run a state-machine transition on a bicycle, such as rent, take_over or retire.')
    .argument('<uuid>', 'the bicycle')
    .argument('<transition>', 'name of the transition')
    .option('-y, --yes', 'do not ask before retire and declare_unrecoverable')
    .option('--allow-unknown', 'send a transition that the interface does not name')
    .action((uuid, transition, options, command) =>
      run(command, async (context) => (await import('./act.js')).actOnBicycle(context, uuid, transition, options)),
    );
  examples(
    act,
    ['rent a bicycle', 'fleet bicycles act 6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11 rent'],
    ['retire one without being asked', 'fleet bicycles act 6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11 retire --yes'],
  );
}
