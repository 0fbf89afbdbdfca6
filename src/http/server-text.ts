// Sanitizes server text for error messages: makes it one line and limits its length before
// searching it.

/** How much of a text is searched for a title. */
const WINDOW_CHARACTERS = 64 * 1024;

/** A longer text from the service is cut, so that the error stays on one line. */
const LINE_LENGTH_CHARACTERS = 500;

/**
 * How much of the text is read to fill a line of that length. White space is squeezed, so this is
 * more than the line.
 */
const LOOSE_LENGTH_CHARACTERS = 8 * LINE_LENGTH_CHARACTERS;

/** Returns the beginning of a text. Omits half of a surrogate pair at the end. */
export function cutTo(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/**
 * Prepares text from another party for an error message: cuts it, and reduces white space so that
 * it fits on one line. Every text from the service, a proxy or a login page passes through this
 * function.
 */
export function foreignText(text: string, length = LINE_LENGTH_CHARACTERS): string {
  const loose = cutTo(text, LOOSE_LENGTH_CHARACTERS);
  const line = loose.replace(/\s+/g, ' ').trim();
  return line.length <= length && loose.length === text.length
    ? line
    : `${cutTo(line, length - 1)}…`;
}

/** Whether a text is an HTML page, by its type or its beginning. */
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

/** Describes an HTML page: `an HTML page "Service Unavailable"`. */
export function describeHtml(html: string): string {
  const title = htmlTitle(html);
  return title === undefined ? 'an HTML page' : `an HTML page "${title}"`;
}

const TITLE_LENGTH_CHARACTERS = 200;

/** The pattern matches a limited number of characters, so that matching takes linear time. */
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
