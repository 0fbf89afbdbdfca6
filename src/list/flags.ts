// The flags that all list commands have.

import type {
  CommandUnknownOpts as Command,
  OptionValues,
  Command as TypedCommand,
} from '@commander-js/extra-typings';
import { wholeUuid } from '../api/links.js';
import { NAMED } from '../api/named.js';
import { refuseOtherKind } from '../api/other-kind.js';
import type { Resource, Vocabulary } from '../api/resource.js';
import { createOption, type FlagsOf, type NoFlags } from '../cli/command.js';
import type { Offers } from '../cli/completions.js';
import {
  MODELS,
  ORGANIZATIONS,
  offerColumns,
  plain,
  withOffers,
  ZONES,
} from '../cli/completions.js';
import { pathOf } from '../cli/help.js';
import { notText, ordering, wholeNumber } from '../cli/options.js';
import { usageError } from '../errors.js';
import { OFFLINE, readTo, TO } from './mirror-flags.js';
import { type Condition, checkCondition, parseCondition, type ShowAnyOf } from './where.js';

/** An additional query parameter from `--param`. */
export type QueryParameter = readonly [name: string, value: string];

const NAMED_OFFERS = { organization: ORGANIZATIONS, zone: ZONES, model: MODELS };

/**
 * Returns a flag parser. The parser converts a UUID to lower case. It converts a link to this kind
 * of resource to the lower-case UUID of the resource. It returns any other value unchanged, as a
 * name to look up later.
 */
export function readNamed(kind: keyof typeof NAMED_OFFERS): (text: string) => string {
  const read = (text: string) => {
    if (text.trim() === '') throw usageError(`--${kind} needs a UUID or a name`);
    refuseOtherKind(NAMED[kind], text);
    return wholeUuid(text) ?? text;
  };
  return withOffers(read, NAMED_OFFERS[kind]);
}

/** The flag that filters by organization. */
export const ORGANIZATION_FLAG = [
  '--organization <uuid|name>',
  'filter by organization (default: from the settings)',
  readNamed('organization'),
] as const;

/**
 * Returns a parser for a repeatable flag with a condition on a field. `showAnyOf` returns the
 * command line that selects several values.
 */
export function readCondition(
  vocabulary: Vocabulary,
  showAnyOf?: ShowAnyOf,
): (text: string, before: Condition[] | undefined) => Condition[] {
  const read = (text: string, before: Condition[] = []) => {
    const condition = parseCondition(text, vocabulary);
    checkCondition(condition, vocabulary, showAnyOf);
    return [...before, condition];
  };
  return withOffers(read, ({ typed }) => offerConditions(typed, vocabulary));
}

/**
 * Returns completions for a condition. Before the `=` they are field names, as in `FIELD=`. After
 * the `=` they are the known values of the field.
 */
function offerConditions(
  typed: string,
  { fields, words }: Pick<Vocabulary, 'fields' | 'words'>,
): Offers {
  const [, field = '', operator] = /^([^=!<>~]+)(!?=)/.exec(typed) ?? [];
  if (operator === undefined)
    return { words: plain(fields.map((name) => `${name}=`)), isOpen: true };
  const known = Object.hasOwn(words, field) ? (words[field] ?? []) : [];
  return { words: plain(known.map((value) => `${field}${operator}${value}`)) };
}

/** Parses a repeatable flag with a query parameter `NAME=VALUE`. */
export function readParameter(
  text: string,
  before: readonly QueryParameter[] = [],
): QueryParameter[] {
  const equals = text.indexOf('=');
  if (equals < 1) throw usageError(`--param must be NAME=VALUE${notText(text)}`);
  return [...before, [text.slice(0, equals), text.slice(equals + 1)]];
}

const WHERE =
  'only what matches FIELD=VALUE; see "fleet help conditions" (repeatable: all must match)';

/** Adds the flags for the organization and for conditions. */
export function addConditionFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  vocabulary: Vocabulary,
) {
  const showAnyOf: ShowAnyOf = (field, values) => {
    const flag = field === 'alert_type' ? '--type' : `--${field}`;
    const isFlag = command.options.some(({ long }) => long === flag);
    return isFlag ? `${pathOf(command as Command)} ${flag} ${values.join(',')}` : undefined;
  };
  return command
    .option(...ORGANIZATION_FLAG)
    .option('--where <condition>', WHERE, readCondition(vocabulary, showAnyOf));
}

/** Adds the flags of every command that reads a list: organization, conditions and mirror. */
export function addScopeFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  vocabulary: Vocabulary,
) {
  return addConditionFlags(command, vocabulary)
    .option(...OFFLINE)
    .option(...TO, readTo);
}

/**
 * The maximum number of orderings in the help. Completion and error messages show all orderings.
 */
const MOST_ORDERINGS_SHOWN = 10;

/** Adds the flags of a list command. `byDefault` is the default order of the list. */
export function addListFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  resource: Resource,
  byDefault?: string,
) {
  const { fields, orderings } = resource;
  offerColumns(command, fields);
  return addScopeFlags(command, resource)
    .option(
      '--ordering <field,…>',
      `sort by these; -${orderings[0]} is descending: ${orderings.slice(0, MOST_ORDERINGS_SHOWN).join(', ')}${byDefault === undefined ? '' : ` (default: ${byDefault})`}`,
      ordering(resource),
    )
    .option('--page <n>', 'start at this page (default: 1)', wholeNumber('--page', 1))
    .option('--limit <n>', 'show at most this many, following the pages', wholeNumber('--limit', 1))
    .addOption(createOption('--all', 'show all, following the pages').conflicts('page'))
    .addOption(
      createOption('--count', 'print only the number of matches').conflicts(['limit', 'page']),
    )
    .option('--param <name=value>', 'send a further query parameter (repeatable)', readParameter);
}

/** The parsed flags of a list command. An item must meet all conditions in `where`. */
export type ListOptions = FlagsOf<typeof addListFlags<[], NoFlags>>;
