// Sanitizes server text for error messages: one line, bounded before it is searched.

/** So much of a text is looked at; more than this no error shows. */
const WINDOW_CHARACTERS = 64 * 1024;

/** Longer than this, a text from the service is cut: one line of error stays one line. */
const LINE_LENGTH_CHARACTERS = 500;

/** White space inside the text may take so much room before a line of that length is cut from it. */
const LOOSE_LENGTH_CHARACTERS = 8 * LINE_LENGTH_CHARACTERS;

/** The beginning of a text, no longer than that; half a surrogate pair is left out. */
export function cutTo(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/**
 * A foreign text as part of an error's line: secrets hidden, then cut, then white space squeezed. Every text that the service, a
 * proxy or a login page sent goes into a message through here.
 */
export function foreignText(text: string, length = LINE_LENGTH_CHARACTERS): string {
  const loose = cutTo(text, LOOSE_LENGTH_CHARACTERS);
  const line = loose.replace(/\s+/g, ' ').trim();
  return line.length <= length && loose.length === text.length
    ? line
    : `${cutTo(line, length - 1)}…`;
}

/** Whether a text is a page for people: its type says so, or its beginning does. */
export function isHtml(text: string, contentType = ''): boolean {
  return (
    /\bhtml\b/i.test(contentType.slice(0, 200)) ||
    /^\s{0,100}<(?:!doctype|html|head|body)\b/i.test(text.slice(0, 200))
  );
}

/** What an HTML page calls itself, in one line; undefined when it has no title. */
export function htmlTitle(html: string): string | undefined {
  const [, title = ''] = TITLE.exec(html.slice(0, WINDOW_CHARACTERS)) ?? [];
  const line = foreignText(decodeEntities(title), TITLE_LENGTH_CHARACTERS);
  return line === '' ? undefined : line;
}

/** `an HTML page "Service Unavailable"`. */
export function describeHtml(html: string): string {
  const title = htmlTitle(html);
  return title === undefined ? 'an HTML page' : `an HTML page "${title}"`;
}

const TITLE_LENGTH_CHARACTERS = 200;

/** Bounded, so that it takes linear time. */
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
