// The flags that every list takes, and how each is read at the door.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { isUuid, uuidOfLink } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import { wholeNumber } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import { type Condition, checkCondition, parseCondition, type Vocabulary } from './where.js';

/** What the common list flags became. */
export interface ListOptions {
  organization?: string;
  ordering?: string;
  page?: number;
  limit?: number;
  all?: boolean;
  count?: boolean;
  /** All must hold. */
  where?: Condition[];
  /** Further query parameters, in their order. */
  param?: (readonly [name: string, value: string])[];
}

/** A parser for commander: a UUID in canonical form, or a link that ends in one; gives the UUID in lower case. */
export function readUuid(what: string): (text: string) => string {
  return (text) => {
    const uuid = isUuid(text) ? text : uuidOfLink(text);
    if (uuid !== undefined) return uuid.toLowerCase();
    throw usageError(`${what} takes a UUID such as 6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11, not "${text}"`);
  };
}

function readOrdering(fields: readonly string[]): (text: string) => string {
  return (text) => {
    if (fields.includes(text.replace(/^-/, ''))) return text;
    throw unknownWord('field', text.replace(/^-/, ''), fields);
  };
}

/** A parser for commander: a condition on a noun's fields, repeatable. */
export function readCondition(vocabulary: Vocabulary): (text: string, before: Condition[] | undefined) => Condition[] {
  return (text, before = []) => {
    const condition = parseCondition(text);
    checkCondition(condition, vocabulary);
    return [...before, condition];
  };
}

/** A parser for commander: a query parameter `NAME=VALUE`, repeatable. */
function readParameter(text: string, before: ListOptions['param'] = []): NonNullable<ListOptions['param']> {
  const equals = text.indexOf('=');
  if (equals < 1) throw usageError(`--param takes NAME=VALUE, not "${text}"`);
  return [...before, [text.slice(0, equals), text.slice(equals + 1)]];
}

/** Adds the flags that lists share. `ordering` is the field that the help shows as an example. */
export function addListFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
  vocabulary: Vocabulary,
  ordering: string,
) {
  return command
    .option('--organization <uuid>', 'of this organization (default: from the settings)', readUuid('--organization'))
    .option('--ordering <field>', `sort by a field; -${ordering} is descending`, readOrdering(vocabulary.fields))
    .option('--page <n>', 'start at this page (default: 1)', wholeNumber('--page', 1))
    .option('--limit <n>', 'follow the pages until there are this many', wholeNumber('--limit', 1))
    .option('--all', 'follow the pages to the last')
    .option(
      '--where <condition>',
      'of what comes, only what matches FIELD=VALUE; see "fleet help conditions" (repeatable)',
      readCondition(vocabulary),
    )
    .option('--count', 'only how many there are; with a filter of this side how many match')
    .option('--param <name=value>', 'send a further query parameter (repeatable)', readParameter);
}
