// What a GBFS feed says of the system and nobody can read from the service: the fields of system_information.json, and how each is checked.

/** A parsed value, or why the text was refused. */
type Checked = { readonly value: string } | { readonly reason: string; readonly hint?: string };

interface SystemField {
  readonly summary: string;
  /** The versions of GBFS that demand it. */
  readonly neededBy: readonly FeedVersion[];
  parse(text: string): Checked;
}

/** The versions of GBFS that are written. */
export const FEED_VERSIONS = ['3.0', '2.3'] as const;
export type FeedVersion = (typeof FEED_VERSIONS)[number];

const LONGEST_CHARACTERS = 1000;
const LONGEST_SHOWN = 80;
const ALWAYS = FEED_VERSIONS;

function field(
  summary: string,
  parse: (text: string) => string | undefined,
  { neededBy = [], example }: { neededBy?: readonly FeedVersion[]; example: string },
): SystemField {
  return {
    summary,
    neededBy,
    parse(text) {
      const value =
        text === '' || text.length > LONGEST_CHARACTERS || /[\x00-\x1f\x7f]/.test(text) ? undefined : parse(text);
      return value === undefined
        ? { reason: `"${text.slice(0, LONGEST_SHOWN)}" does not fit`, hint: `write it like ${example}` }
        : { value };
    },
  };
}

const matching = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : undefined);
const anything = (text: string) => text;

/** The characters of RFC 3986, which every reader of the feed accepts. */
const URL_CHARACTERS =
  /^https?:\/\/(?:[\w.~:/?@!$&'()*+,;=-]|%[\da-f]{2})+(?:#(?:[\w.~:/?@!$&'()*+,;=-]|%[\da-f]{2})*)?$/i;

function parseUrl(text: string): string | undefined {
  const href = URL.canParse(text) ? new URL(text).href : '';
  return URL_CHARACTERS.test(href) ? href : undefined;
}

/** One to which the name of a file can be added. */
function parseFolderUrl(text: string): string | undefined {
  return /[?#@]/.test(text) ? undefined : parseUrl(text);
}

/** A name of the IANA database in its own spelling. */
function parseTimezone(text: string): string | undefined {
  if (!/^[a-z][\w+-]*(?:\/[\w+-]+)*$/i.test(text)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    // An older name of the same zone is one as well.
    return timeZone.toLowerCase() === text.toLowerCase() || !/^[A-Z]/.test(text) ? timeZone : text;
  } catch {
    return undefined;
  }
}

function parseDate(text: string): string | undefined {
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
  return isDate && new Date(text).toISOString().startsWith(text) ? text : undefined;
}

const parseEmail = matching(/^[\w+-]+(?:\.[\w+-]+)*@[a-z\d]+(?:[.-][a-z\d]+)*\.[a-z]{2,}$/i);

/** Some days, hours or seasons: what a reader of opening hours can parse has at least one of these. */
const OPENING_HOURS = /24\/7|\d\d:\d\d|\b(?:Mo|Tu|We|Th|Fr|Sa|Su|PH|sunrise|dawn)\b/;

/** Each by its name in the feed; `feed_url` is ours: where the files will be read. */
export const SYSTEM_FIELDS = {
  system_id: field('id of the system, which never changes', anything, { neededBy: ALWAYS, example: 'citybike_berlin' }),
  name: field('name of the system, as customers know it', anything, { neededBy: ALWAYS, example: 'City Bike Berlin' }),
  language: field('language of all texts', matching(/^[a-z]{2,3}(?:-[A-Z]{2})?$/), {
    neededBy: ALWAYS,
    example: 'en or de-CH',
  }),
  timezone: field('time zone of the system', parseTimezone, { neededBy: ALWAYS, example: 'Europe/Berlin' }),
  opening_hours: field('when bicycles can be rented, as OpenStreetMap writes it', matching(OPENING_HOURS), {
    neededBy: ['3.0'],
    example: '24/7',
  }),
  feed_contact_email: field("address for the feed's readers", parseEmail, {
    neededBy: ['3.0'],
    example: 'feed@example.com',
  }),
  feed_url: field("public address of the feed's folder", parseFolderUrl, {
    neededBy: ALWAYS,
    example: 'https://example.com/gbfs/',
  }),
  operator: field('name of the operator', anything, { example: 'City Bike Ltd' }),
  url: field('website of the system', parseUrl, { example: 'https://example.com' }),
  purchase_url: field('where customers sign up', parseUrl, { example: 'https://example.com/join' }),
  license_url: field('licence of the feed', parseUrl, { example: 'https://example.com/licence' }),
  email: field('customer service', parseEmail, { example: 'help@example.com' }),
  phone_number: field('customer service', matching(/^\+[1-9]\d{1,14}$/), { example: '+493012345678' }),
  start_date: field('when the system began', parseDate, { example: '2026-03-01' }),
} as const;

export type SystemName = keyof typeof SYSTEM_FIELDS;

export const SYSTEM_NAMES = Object.keys(SYSTEM_FIELDS) as SystemName[];

/** What is known of the system. */
export type System = { readonly [Name in SystemName]?: string };
