// The flags that select a part of the fleet, for commands that list, count or draw bicycles.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { BICYCLE, BICYCLE_STATES } from '../../api/bicycle.js';
import { createOption } from '../../cli/command.js';
import { someOf } from '../../cli/options.js';
import { addScopeFlags, readNamed } from '../../list/flags.js';
import { parseBbox, parseNear, parseRadius } from './area.js';

/** Adds the flags that filter bicycles by state, name, place and model. */
export function addFilters<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return addOtherFilters(
    command.option(
      '--state <state,…>',
      `filter by state: ${BICYCLE_STATES.join(', ')} (repeatable)`,
      someOf('state', BICYCLE_STATES),
    ),
  );
}

/**
 * Adds the filters for names, places and models. For commands whose `--state` has another meaning,
 * such as the state of an alert.
 */
export function addOtherFilters<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
    .option('--name <text>', 'filter by text in the name, ignoring case')
    .option(
      '--bbox <ne_lon,ne_lat,sw_lon,sw_lat>',
      'only inside the box with these north-east and south-west corners; it may cross the date line',
      parseBbox,
    )
    .addOption(
      createOption(
        '--near <lat,lon>',
        'only around this point, in lists nearest first; needs --radius',
      )
        .argParser(parseNear)
        .conflicts(['bbox', 'page']),
    )
    .option('--radius <metres>', 'distance from --near: 800, 1.5km', parseRadius)
    .option('--model <uuid|name>', 'filter by bicycle model', readNamed('model'))
    .option('--zone <uuid|name>', 'only inside this geographic zone', readNamed('zone'));
}

/**
 * Adds all filters of `bicycles list`, for commands that read every page of the list, such as
 * `stats`.
 */
export function addFleetFilters<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return addScopeFlags(addFilters(command), BICYCLE);
}
