// The flags of `fleet api`.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { plain, withOffers } from '../../cli/completions.js';
import { collect, oneOf } from '../../cli/options.js';
import { METHODS } from '../../http/methods.js';

/** Adds the flags of `fleet api`. */
export function addApiFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return command
    .option(
      '-X, --method <method>',
      `${METHODS.join(', ')} (default: GET, or POST with fields)`,
      readMethod(),
    )
    .option(
      '-F, --field <name=value>',
      'a field: numbers, true, false, null, @file, else text (repeatable)',
      collect,
    )
    .option('-f, --raw-field <name=value>', 'a text field (repeatable)', collect)
    .option('--input <file>', 'send this file as the body; - for stdin')
    .option('-H, --header <name: value>', 'add a header (repeatable)', collect)
    .option('--paginate', 'read every page: one array of all items')
    .option('-i, --include', 'print status and headers before the body, secrets redacted')
    .option('-y, --yes', 'do not ask before a change with a protected profile');
}

export type ApiOptions = FlagsOf<typeof addApiFlags<[], NoFlags>>;

/** Parses an HTTP method in upper or lower case. */
function readMethod(): (text: string) => string {
  return withOffers(
    (text) => oneOf('method', METHODS)(text.toUpperCase()),
    () => ({ words: plain(METHODS) }),
  );
}
