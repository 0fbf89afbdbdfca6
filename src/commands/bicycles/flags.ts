// The flags of the `fleet bicycles` verbs.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { BICYCLE, BICYCLE_FIELDS } from '../../api/bicycle.js';
import { addBulkFlags, addYesFlag } from '../../bulk/flags.js';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { anyText, MODELS, ORGANIZATIONS, offerColumns, plain } from '../../cli/completions.js';
import { collect, oneOf, someOf } from '../../cli/options.js';
import { addInputFlags } from '../../input/flags.js';
import { addListFlags } from '../../list/flags.js';
import { readTo, TO } from '../../list/mirror-flags.js';
import { TIME_PARTS } from '../report/parts.js';
import { addFilters, addFleetFilters } from './list-flags.js';
import { EDIT_METHODS, EMPTY_CELL_CHOICES, STATS_GROUPS } from './methods-and-groups.js';

/** Adds the flags of `list`. */
export function addBicycleListFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const flagged = addListFlags(addFilters(command), BICYCLE);
  offerColumns(flagged, [...BICYCLE_FIELDS, 'map']);
  return flagged;
}

export type ListBicyclesOptions = FlagsOf<typeof addBicycleListFlags<[], NoFlags>>;

/** Adds the flags of `history`. */
export function addHistoryFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
    .option('--since <time>', 'only since this time: 7d, monday, "2026-11-23 08:00"')
    .option(
      '--field <name,…>',
      `only changes of these fields, such as state (repeatable)`,
      someOf('field', BICYCLE_FIELDS),
    )
    .option(...TO, readTo);
}

export type HistoryOptions = FlagsOf<typeof addHistoryFlags<[], NoFlags>>;

/** Adds the flags of `stats`. */
export function addStatsFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const flagged = command
    .option(
      '--by <group>',
      `count by ${STATS_GROUPS.join(', ')} or any field, such as extra.tags; hour, day and week count rentals, returns, changes and alerts over time, from the mirror`,
      anyText(() => ({
        words: plain([...new Set([...STATS_GROUPS, ...TIME_PARTS, ...BICYCLE_FIELDS])]),
      })),
    )
    .option(
      '--since <time>',
      'start of --by hour, day or week: 7d, monday (default: 24h, 7d or 8w before the end)',
    )
    .option('--until <time>', 'end of --by hour, day or week, like --since (default: now)');
  return addFleetFilters(flagged);
}

export type StatsOptions = FlagsOf<typeof addStatsFlags<[], NoFlags>>;

/** Adds the flags with the fields of a bicycle. */
function addFieldFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  byDefault = '',
) {
  return command
    .option('--name <name>', 'visible name')
    .option(
      '--organization <url|uuid|name>',
      `owning organization${byDefault}`,
      anyText(ORGANIZATIONS),
    )
    .option('--model <url|uuid|name>', 'bicycle model', anyText(MODELS))
    .option('--lock <url|uuid|name>', 'lock attached to the bicycle')
    .option('--serial-number <text>', 'frame serial number')
    .option('--description <text>', 'free-text description');
}

/** The parsed flags with the fields of a bicycle. */
export type FieldFlags = FlagsOf<typeof addFieldFlags<[], NoFlags>>;

/** Adds the flags of `edit`. */
export function addEditFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const flagged = addFieldFlags(command)
    .option('--note <text>', 'note of the operators')
    .option(
      '--field <name=value>',
      `any further field; numbers, true, false and null keep their type; a text field, or NAME='"5"', stays text (repeatable)`,
      collect,
    )
    .option(
      '--method <method>',
      `${EDIT_METHODS.join(' or ')} (default: the one that the service supports)`,
      oneOf('method', EDIT_METHODS),
    )
    .option('-y, --yes', 'do not ask')
    .option(
      '--empty <choice>',
      'what an empty cell of a file does: keep the value, or clear it (default: keep)',
      oneOf('choice', EMPTY_CELL_CHOICES),
    );
  return addBulkFlags(addInputFlags(flagged, 'rows'));
}

export type EditOptions = FlagsOf<typeof addEditFlags<[], NoFlags>>;

/** Adds the flags of `create`. */
export function addCreateFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  const byDefault = ' (default: from the settings, else the only one that the token names)';
  const flagged = addYesFlag(
    addFieldFlags(command, byDefault),
    'do not ask before creating several',
  );
  return addBulkFlags(addInputFlags(flagged, 'bicycles'));
}

export type CreateOptions = FlagsOf<typeof addCreateFlags<[], NoFlags>>;
