// The fields of system_information.json that the service does not provide, with their parsers.

import { canonicalTimeZone } from '../../system/time-zone.js';

/** The supported versions of GBFS. */
export const FEED_VERSIONS = ['3.0', '3.1', '2.3'] as const;
export type FeedVersion = (typeof FEED_VERSIONS)[number];

/**
 * A field with an example and a parser. The parser returns the value as it appears in the feed, or
 * undefined when the value is invalid.
 */
type SystemField = readonly [example: string, parse: (text: string) => string | undefined];

const matching = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : undefined);
const anything = (text: string) => text;

/**
 * Accepts a URL with only the characters of RFC 3986, because every reader of the feed accepts
 * these characters.
 */
function parseUrl(text: string): string | undefined {
  return URL.canParse(text)
    ? matching(/^https?:\/\/[\w.~:/?#@!$&'()*+,;=%-]+$/i)(new URL(text).href)
    : undefined;
}

/**
 * Accepts a URL to which a file name can be appended. The address of a file such as gbfs.json is
 * refused.
 */
function parseFolderUrl(text: string): string | undefined {
  return /[?#@]|\.json\/*$/i.test(text) ? undefined : parseUrl(text);
}

/** Returns the standard spelling of an IANA time zone. */
function parseTimezone(text: string): string | undefined {
  return /^[a-z][\w+-]*(?:\/[\w+-]+)*$/i.test(text) ? canonicalTimeZone(text) : undefined;
}

function parseDate(text: string): string | undefined {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text) && text.length === 10
    ? text
    : undefined;
}

const parseEmail = matching(/^[\w+-]+(?:\.[\w+-]+)*@[a-z\d]+(?:[.-][a-z\d]+)*\.[a-z]{2,}$/i);

/**
 * Matches text that contains days, hours or seasons. Text without any of these cannot be valid
 * opening hours.
 */
const OPENING_HOURS = /24\/7|\d\d:\d\d|\b(?:Mo|Tu|We|Th|Fr|Sa|Su|PH|sunrise|dawn)\b/;

/**
 * All fields by their name in the feed. Only `feed_url` is not a GBFS field: it is the public
 * address of the files.
 */
export const SYSTEM_FIELDS = {
  system_id: ['citybike_berlin', matching(/^\S+$/)],
  name: ['City Bike Berlin', anything],
  language: ['en or de-CH', matching(/^[a-z]{2,3}(?:-[A-Z]{2})?$/)],
  timezone: ['Europe/Berlin', parseTimezone],
  opening_hours: ['24/7', matching(OPENING_HOURS)],
  feed_contact_email: ['feed@example.com', parseEmail],
  feed_url: ['https://example.com/gbfs/', parseFolderUrl],
  operator: ['City Bike Ltd', anything],
  url: ['https://example.com', parseUrl],
  purchase_url: ['https://example.com/join', parseUrl],
  license_url: ['https://example.com/licence', parseUrl],
  email: ['help@example.com', parseEmail],
  phone_number: ['+493012345678', matching(/^\+[1-9]\d{1,14}$/)],
  start_date: ['2026-03-01', parseDate],
} as const satisfies { readonly [name: string]: SystemField };

export type SystemName = keyof typeof SYSTEM_FIELDS;

export const SYSTEM_NAMES = Object.keys(SYSTEM_FIELDS) as SystemName[];

const ALWAYS_NEEDED = ['system_id', 'name', 'language', 'timezone', 'feed_url'] as const;
/** The required fields of each version of GBFS. */
export const NEEDED_FIELDS: { readonly [Version in FeedVersion]: readonly SystemName[] } = {
  '3.0': [...ALWAYS_NEEDED, 'opening_hours', 'feed_contact_email'],
  '3.1': [...ALWAYS_NEEDED, 'opening_hours', 'feed_contact_email'],
  '2.3': ALWAYS_NEEDED,
};

/** The known facts about the rental system. */
export type System = { readonly [Name in SystemName]?: string | undefined };
