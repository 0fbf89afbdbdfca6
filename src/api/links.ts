// Links between resources: the interface refers to them "by absolute URL, not by bare identifier"
// (section 2).

import { articleOf, NAMED } from './named.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the string is a UUID in its canonical 8-4-4-4-12 form, in either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * Encodes a string as a single path segment. Only letters, digits and `- . _ ~` stay unencoded (RFC
 * 3986). encodeURIComponent would also leave other characters unencoded. A lone surrogate becomes
 * U+FFFD, because UTF-8 cannot encode it.
 */
export function pathSegment(text: string): string {
  const encode = (sign: string) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '\ufffd')).replace(
    /[!'()*]/g,
    encode,
  );
}

/**
 * The fields of a bicycle that link to another resource. The paths are assumed, because the
 * interface description does not show them.
 */
export const LINK_FIELDS = ['organization', 'model', 'lock'] as const;

export type LinkField = (typeof LINK_FIELDS)[number];

export function isLinkField(field: string): field is LinkField {
  return LINK_FIELDS.some((known) => known === field);
}

/**
 * Converts a UUID to the absolute URL of a resource. Returns any other string unchanged (cli.md,
 * bicycles create).
 */
export function resourceLink(baseUrl: URL, field: LinkField, text: string): string {
  if (!isUuid(text)) return text;
  return `${baseUrl.href.replace(/\/$/, '')}${NAMED[field].path}${text.toLowerCase()}/`;
}

const UUID_AT_END = new RegExp(`(?:^|/)(${UUID.source.slice(1, -1)})/?$`, 'i');

/** The path segments of collections, each with the noun for a single item. */
const COLLECTIONS: ReadonlyMap<string, string> = new Map([
  ['bicycles', 'a bicycle'],
  ['alerts', 'an alert'],
  ...Object.values(NAMED).map(({ path, one }): [string, string] => [
    path.replaceAll('/', ''),
    articleOf(one),
  ]),
]);

/**
 * Returns the kind of resource that a link points to, such as `an alert` for `…/alerts/UUID/`.
 * Returns undefined for a UUID, for a link to the expected kind, and for a link to an unknown kind.
 */
export function otherResource(text: string, wanted: string): string | undefined {
  const collection = text.split('/').filter(Boolean).at(-2)?.toLowerCase() ?? '';
  return collection === wanted ? undefined : COLLECTIONS.get(collection);
}

/**
 * Returns the UUID in lower case from a UUID or from a resource link, which ends with a UUID.
 * Returns undefined for any other string.
 */
export function wholeUuid(text: string): string | undefined {
  return UUID_AT_END.exec(text)?.[1]?.toLowerCase();
}
