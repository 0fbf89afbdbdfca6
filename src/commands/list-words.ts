// The flags that every list takes, and how each is read at the door.

import type { Command } from 'commander';
import { isUuid, uuidOfLink } from '../api/links.js';
import { usageError } from '../errors.js';
import { unknownWord } from '../terminal/nearest.js';
import { wholeNumber } from './words.js';

/** What the common list flags became. */
export interface ListOptions {
  organization?: string;
  ordering?: string;
  page?: number;
  limit?: number;
  all?: boolean;
  count?: boolean;
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

/** Adds the flags that lists share. `ordering` is the field that the help shows as an example. */
export function addListFlags(command: Command, fields: readonly string[], ordering: string): Command {
  return command
    .option('--organization <uuid>', 'of this organization (default: from the settings)', readUuid('--organization'))
    .option('--ordering <field>', `sort by a field; -${ordering} is descending`, readOrdering(fields))
    .option('--page <n>', 'start at this page (default: 1)', wholeNumber('--page', 1))
    .option('--limit <n>', 'follow the pages until there are this many', wholeNumber('--limit', 1))
    .option('--all', 'follow the pages to the last')
    .option('--count', "only the service's total");
}
