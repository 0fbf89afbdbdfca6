// Organizations, zones, models and other resources with a name. The paths and fields are assumed
// from observation. Some services do not have them.

import type { Vocabulary } from './resource.js';

/** A list of named resources. */
export interface NamedKind {
  readonly one: string;
  readonly many: string;
  readonly path: string;
  /** The fields that people use as a name, most readable first. */
  readonly nameFields: readonly string[];
}

export const NAMED = {
  organization: {
    one: 'organization',
    many: 'organizations',
    path: '/organizations/',
    nameFields: ['name'],
  },
  zone: { one: 'zone', many: 'zones', path: '/zones/', nameFields: ['name'] },
  model: { one: 'model', many: 'models', path: '/bicycle_models/', nameFields: ['name'] },
  lock: {
    one: 'lock',
    many: 'locks',
    path: '/locks/',
    nameFields: ['serial_number', 'bleid', 'name'],
  },
  user: { one: 'user', many: 'users', path: '/users/', nameFields: ['username', 'email'] },
} as const satisfies { [kind: string]: NamedKind };

/** The observed fields of a named resource. */
export const NAMED_FIELDS = {
  fields: ['name', 'uuid', 'type', 'url', 'organization', 'parent', 'created', 'modified'],
  numbers: [],
  times: ['created', 'modified'],
  words: {},
} as const satisfies Vocabulary;

/** A named resource as the service sends it. */
export type Named = { uuid?: unknown; url?: unknown; [field: string]: unknown };

/** Returns the noun with its article: `an organization`, `a zone`, `a user`. */
export function articleOf(noun: string): string {
  return `${/^[aeo]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
