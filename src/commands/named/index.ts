// Declares `fleet organizations`, `fleet zones` and `fleet models`: lists of names and UUIDs.

import type { CommandUnknownOpts as Command } from '@commander-js/extra-typings';
import { NAMED, NAMED_FIELDS } from '../../api/named.js';
import { offerColumns } from '../../cli/completions.js';
import { addVerb } from '../../cli/examples.js';
import { wholeNumber } from '../../cli/options.js';
import type { Context, Run } from '../../context.js';
import { readCondition, readParameter } from '../../list/flags.js';
import type { NamedListOptions } from './list.js';

/** The kinds of resources, each with part of its help text. */
const LISTED = {
  organization: 'that the token may see',
  zone: 'for --zone; -o geojson has their outlines',
  model: 'of bicycles',
} as const;

/** Declares the command of one kind, such as `fleet zones`. */
export const addNamed = (kind: keyof typeof LISTED) => (program: Command, run: Run) => {
  const { many, one } = NAMED[kind];
  const what = LISTED[kind];
  const lines = [
    ['list them', `fleet ${many} list`],
    ['the names and UUIDs, as CSV', `fleet ${many} list --columns name,uuid -o csv`],
  ] as const;
  const noun = addVerb(
    program,
    [
      many,
      kind === 'organization' ? 'list organizations; also: zones, models' : `list ${many}`,
      `List the ${many} ${what}. Every flag that takes a UUID of one takes its name too.`,
    ],
    ...lines,
  );
  const description = `List the ${many} ${what}: name, UUID and what else the service says of each. Not every service has them.`;
  const list = addVerb(noun, ['list', `list ${many}`, description], ...lines, [
    `whether there is a ${one} of this name`,
    `fleet ${many} list --where 'name~Berlin' --count`,
  ])
    .option(
      '--where <condition>',
      `only the ${many} that match FIELD=VALUE (repeatable)`,
      readCondition(NAMED_FIELDS),
    )
    .option('--limit <n>', 'show at most this many', wholeNumber('--limit', 1))
    .option('--count', 'print only the number of matches')
    .option('--param <name=value>', 'send a further query parameter (repeatable)', readParameter)
    .action(
      run(async () => {
        const { listNamed } = await import('./list.js');
        return (context: Context, options: NamedListOptions) => listNamed(context, kind, options);
      }),
    );
  offerColumns(list, NAMED_FIELDS.fields);
};
