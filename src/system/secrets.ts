// Hides secrets in text from other parties, even when they are encoded as base64, hex, or nested
// escapes of URLs, JSON and HTML.

/** What replaces a secret. */
export const HIDDEN = '[hidden]';

/**
 * The secrets of one run. Code that gets a token adds it, and code that handles foreign text hides
 * the secrets in it.
 */
export interface Secrets {
  /**
   * A secret of fewer than 8 characters is hidden only when it is a password of at least 4
   * characters.
   */
  add(secret: string, isPassword?: boolean): void;
  /**
   * Returns the text with each secret replaced by `[hidden]`. Call it before the text is cut,
   * escaped or quoted.
   */
  hide(text: string): string;
}

/** Hiding shorter secrets would garble common words. */
const SHORTEST_TOKEN = 8;
const SHORTEST_PASSWORD = 4;
/**
 * A watch of several weeks renews its token a thousand times. The oldest tokens have expired and
 * are removed.
 */
const MOST_SECRETS = 20;
/** How many nested escapes are decoded, for example a URL in JSON in an HTML page. */
const MOST_ROUNDS = 3;

/** Whether a word is a JWT: three parts separated by dots, with a base64 object first. */
const isJwt = (word: string): boolean => word.includes('eyJ') && word.split('.').length > 2;

/** Hides the words that look like a JWT, because a token may not have been added. */
export function hideJwts(text: string): string {
  return text.includes('eyJ')
    ? text.replace(/[\w.-]+/g, (word) => (isJwt(word) ? HIDDEN : word))
    : text;
}

/**
 * Whether a text that was typed in the wrong place may be a token: a JWT, or 32 consecutive letters
 * and digits.
 */
export function looksLikeToken(text: string): boolean {
  return isJwt(text) || /(?:[a-z0-9]{32})/i.test(text);
}

export function openSecrets(): Secrets {
  const known = new Set<string>();
  /** Longest first, because a secret may be part of another. */
  let spellings: readonly string[] = [];

  function add(secret: string, isPassword = false): void {
    if (secret.length < (isPassword ? SHORTEST_PASSWORD : SHORTEST_TOKEN)) return;
    known.add(secret);
    const [oldest] = known;
    if (known.size > MOST_SECRETS && oldest !== undefined) known.delete(oldest);
    const all = new Set([...known].flatMap(spellingsOf));
    spellings = [...all].sort((one, other) => other.length - one.length);
  }

  function hide(text: string): string {
    if (spellings.length === 0) return text;
    const hidden = spellings.reduce((rest, spelling) => rest.replaceAll(spelling, HIDDEN), text);
    return hideEscaped(hidden, spellings);
  }

  return { add, hide };
}

/** Returns the spellings of a secret without escapes. */
function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  return [
    secret,
    // Names of headers arrive in lower case.
    secret.toLowerCase(),
    // Form data writes a space as a plus sign.
    secret.replaceAll(' ', '+'),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    ...base64Of(bytes),
    hex,
    hex.toUpperCase(),
  ];
}

const BYTES_A_GROUP = 3;
const BITS_A_CHARACTER = 6;

/**
 * Returns the base64 of a secret at each place in a longer text, such as `JWT <token>`: the
 * characters that depend on the text before or after it are left out.
 */
function base64Of(secret: Buffer): string[] {
  // The base64 of a short secret inside a text is too short to be distinguished from a word.
  const offsets = secret.length < SHORTEST_TOKEN ? [0] : [0, 1, 2];
  return offsets.flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset % BYTES_A_GROUP), secret]);
    const from = Math.ceil((offset * 8) / BITS_A_CHARACTER);
    const to = Math.floor((bytes.length * 8) / BITS_A_CHARACTER);
    return (['base64', 'base64url'] as const).map((name) => bytes.toString(name).slice(from, to));
  });
}

/** A decoded text, with the position of each character in the original text. */
interface Decoded {
  text: string;
  /** Has one more entry than characters: the end of the original text. */
  starts: readonly number[];
}

/** Hides secrets that appear after decoding the text once or several times. */
function hideEscaped(text: string, spellings: readonly string[]): string {
  let hidden = text;
  let decoded = decodeOnce({ text, starts: startsOf(text) });
  for (let round = 1; decoded !== undefined && round <= MOST_ROUNDS; round++) {
    const ranges = findAll(decoded, spellings, hidden);
    if (ranges.length > 0) {
      // The positions of the other characters have changed, so decoding starts again.
      hidden = replaceRanges(hidden, ranges);
      decoded = { text: hidden, starts: startsOf(hidden) };
      round = 0;
    }
    decoded = decodeOnce(decoded);
  }
  return hidden;
}

function startsOf(text: string): number[] {
  return Array.from({ length: text.length + 1 }, (_, index) => index);
}

/** Percent-encoding in runs, escapes of JSON and JavaScript, and HTML entities. */
const ESCAPE =
  /(?:%[0-9a-f]{2})+|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\["\\/]|&#x0{0,6}[0-9a-f]{1,6};|&#0{0,6}\d{1,7};|&(?:amp|lt|gt|quot|apos|nbsp|plus|equals|period|sol|colon|lowbar|hyphen);/gi;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  plus: '+',
  equals: '=',
  period: '.',
  sol: '/',
  colon: ':',
  lowbar: '_',
  hyphen: '-',
};

/** Decodes each escape of a text once. Returns undefined when the text does not contain escapes. */
function decodeOnce({ text, starts }: Decoded): Decoded | undefined {
  let decoded = '';
  const places: number[] = [];
  let end = 0;
  const takePlain = (to: number) => {
    for (let index = end; index < to; index++) places.push(starts[index] ?? 0);
    decoded += text.slice(end, to);
  };
  for (const match of text.matchAll(ESCAPE)) {
    takePlain(match.index);
    for (const { character, offset } of decodeEscape(match[0])) {
      for (let unit = 0; unit < character.length; unit++)
        places.push(starts[match.index + offset] ?? 0);
      decoded += character;
    }
    end = match.index + match[0].length;
  }
  if (end === 0) return undefined;
  takePlain(text.length);
  places.push(starts[text.length] ?? 0);
  return { text: decoded, starts: places };
}

/** Returns the characters of an escape with their positions in it. */
function decodeEscape(escaped: string): { character: string; offset: number }[] {
  if (escaped.startsWith('%')) return decodePercent(escaped);
  if (/^\\[ux]/i.test(escaped))
    return [{ character: String.fromCharCode(Number.parseInt(escaped.slice(2), 16)), offset: 0 }];
  if (escaped.startsWith('\\')) return [{ character: escaped.slice(1), offset: 0 }];
  if (!escaped.startsWith('&#'))
    return [{ character: ENTITIES[escaped.slice(1, -1).toLowerCase()] ?? escaped, offset: 0 }];
  const isHex = /^&#x/i.test(escaped);
  const code = Number.parseInt(escaped.slice(isHex ? 3 : 2), isHex ? 16 : 10);
  return [
    { character: code <= LAST_CODE_POINT ? String.fromCodePoint(code) : '\uFFFD', offset: 0 },
  ];
}

const LAST_CODE_POINT = 0x10ffff;
/** Characters of one percent-encoded byte. */
const PERCENT_CHARACTERS = 3;

/** Decodes a percent-encoded run as UTF-8, or as Latin-1 when it is not valid UTF-8. */
function decodePercent(run: string): { character: string; offset: number }[] {
  let text: string;
  let sizeOf = (character: string) => Buffer.byteLength(character);
  try {
    text = decodeURIComponent(run);
  } catch {
    text = Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1');
    sizeOf = () => 1;
  }
  let offset = 0;
  return [...text].map((character) => {
    const place = offset;
    offset += sizeOf(character) * PERCENT_CHARACTERS;
    return { character, offset: place };
  });
}

type Range = readonly [from: number, to: number];

/** Returns the ranges of the original text that contain a secret only after decoding. */
function findAll(
  { text, starts }: Decoded,
  spellings: readonly string[],
  original: string,
): Range[] {
  const ranges: Range[] = [];
  for (const spelling of spellings)
    for (let at = text.indexOf(spelling); at !== -1; at = text.indexOf(spelling, at + 1)) {
      const from = starts[at] ?? 0;
      const to = starts[at + spelling.length] ?? 0;
      // The word in HIDDEN may itself be a password.
      if (original.slice(from, to) !== spelling) ranges.push([from, to]);
    }
  return ranges.sort(([one], [other]) => one - other);
}

function replaceRanges(text: string, ranges: readonly Range[]): string {
  let replaced = '';
  let end = 0;
  for (const [from, to] of ranges) {
    if (to <= end) continue;
    // Overlapping ranges are replaced once.
    if (from >= end) replaced += text.slice(end, from) + HIDDEN;
    end = to;
  }
  return replaced + text.slice(end);
}
