// Prepares server text for error messages: shortens it and puts it on one line.

/** The maximum number of characters that are searched for the title of an HTML page. */
const WINDOW_CHARACTERS = 64 * 1024;

/** The maximum length of a server's text in an error message. */
const LINE_LENGTH_CHARACTERS = 500;

/**
 * The maximum number of characters that are read to fill a line. More characters than fit on the
 * line are read, because white space is collapsed.
 */
const LOOSE_LENGTH_CHARACTERS = 8 * LINE_LENGTH_CHARACTERS;

/** Returns the first part of a string. Never splits a surrogate pair. */
export function cutTo(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/**
 * Shortens text from a server and puts it on one line, for an error message. All text from the
 * service, a proxy or a login page must pass through this function.
 */
export function foreignText(text: string, length = LINE_LENGTH_CHARACTERS): string {
  const loose = cutTo(text, LOOSE_LENGTH_CHARACTERS);
  const line = loose.replace(/\s+/g, ' ').trim();
  return line.length <= length && loose.length === text.length
    ? line
    : `${cutTo(line, length - 1)}…`;
}

/** Whether a string is an HTML page, judging by its content type or first characters. */
export function isHtml(text: string, contentType = ''): boolean {
  return (
    /\bhtml\b/i.test(contentType.slice(0, 200)) ||
    /^\s{0,100}<(?:!doctype|html|head|body)\b/i.test(text.slice(0, 200))
  );
}

/** Returns the title of an HTML page on one line, or undefined without a title. */
export function htmlTitle(html: string): string | undefined {
  const [, title = ''] = TITLE.exec(html.slice(0, WINDOW_CHARACTERS)) ?? [];
  const line = foreignText(decodeEntities(title), TITLE_LENGTH_CHARACTERS);
  return line === '' ? undefined : line;
}

/** Returns a description of an HTML page, such as `an HTML page "Service Unavailable"`. */
export function describeHtml(html: string): string {
  const title = htmlTitle(html);
  return title === undefined ? 'an HTML page' : `an HTML page "${title}"`;
}

const TITLE_LENGTH_CHARACTERS = 200;

/**
 * Matches the title of an HTML page. Each part has a maximum length, so that matching takes linear
 * time.
 */
const TITLE = /<title(?:\s[^>]{0,200})?>([^<]{0,1000})/i;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos|nbsp);/g, (_, name: string) => ENTITIES[name] ?? '');
}
