// Links between resources: the interface refers to them "by absolute URL, not by bare identifier" (section 2).

import { NAMED } from './named.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID in its canonical 8-4-4-4-12 form, in either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * A text as one segment of a path: only letters, digits and `- . _ ~` stay as they are (RFC 3986), and encodeURIComponent leaves others. The
 * service may name things by any text; half a surrogate pair becomes U+FFFD, as UTF-8 has none.
 */
export function pathSegment(text: string): string {
  const encode = (sign: string) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '\ufffd')).replace(
    /[!'()*]/g,
    encode,
  );
}

/** The fields of a bicycle that link to another resource. Assumed: the interface does not show the paths of these. */
export const LINK_FIELDS = ['organization', 'model', 'lock'] as const;

export type LinkField = (typeof LINK_FIELDS)[number];

export function isLinkField(field: string): field is LinkField {
  return LINK_FIELDS.some((known) => known === field);
}

/** The absolute URL of a linked resource, from a UUID; any other text, such as a URL, is left as it is (cli.md, bicycles create). */
export function resourceLink(baseUrl: URL, field: LinkField, text: string): string {
  if (!isUuid(text)) return text;
  return `${baseUrl.href.replace(/\/$/, '')}${NAMED[field].path}${text.toLowerCase()}/`;
}

const UUID_AT_END = new RegExp(`(?:^|/)(${UUID.source.slice(1, -1)})/?$`, 'i');

/** The UUID that the text is, or in which it ends as the link of a resource does; in lower case. Undefined when it ends otherwise. */
export function wholeUuid(text: string): string | undefined {
  return UUID_AT_END.exec(text)?.[1]?.toLowerCase();
}
