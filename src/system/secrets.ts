// Hides secrets in text that comes from outside fleet. Also finds secrets that are encoded as
// base64 or hex, or with nested escapes of URLs, JSON and HTML. Also finds parts of long secrets,
// and secrets whose letters are separated by line breaks, markup or other characters.

import { hideInEscapedWords, mayHoldEscapes, toLowerCase } from './escaped-words.js';
import { findParts, literalPartsOf, partsOf, type SecretRange } from './token-parts.js';
import { decodeTextEscapes, type UnescapedText, undecoded } from './unescape.js';
import { changeWideText } from './wide-text.js';

/** What replaces a secret. */
export const HIDDEN = '[hidden]';

/**
 * The secrets of one run. Code that gets a token adds it to this store. Code that handles text from
 * outside fleet uses this store to hide the secrets in the text.
 */
export interface Secrets {
  /**
   * A secret of fewer than 8 characters is hidden only when it is a password of at least 4
   * characters.
   */
  add(secret: string, isPassword?: boolean): void;
  /**
   * Adds a token that will be renewed. Only the most recently added tokens are kept. A token that
   * is added again counts as recent.
   */
  addToken(token: string): void;
  /**
   * Returns the text with each secret replaced by `[hidden]`. Call it before the text is cut,
   * escaped or quoted.
   */
  hide(text: string): string;
  /**
   * Returns data of the service in which each whole token, and each signature of a JWT, is replaced
   * by `[hidden]`. Use it for data that goes to files, databases or other servers, and that can be
   * too large for `hide`. The other parts of a token are not replaced, because they may contain the
   * UUID of a user or an organization.
   */
  hideInData(data: string): string;
  /**
   * Hides tokens in the bytes of a body in the same way, also in UTF-16 and UTF-32. Returns the bytes
   * unchanged when they contain no token.
   */
  hideInBytes(data: Buffer): Buffer;
}

/** Hiding shorter secrets would make common words unreadable. */
const SHORTEST_TOKEN = 8;
const SHORTEST_PASSWORD = 4;
/**
 * `hide` caches its results for short strings, such as most headers. These constants limit the
 * number of cached strings and the length of each cached string.
 */
const MOST_REMEMBERED = 500;
const REMEMBERED_CHARACTERS = 200;
/** A shorter token is not hidden in data, because an ordinary word or number may equal it. */
const SHORTEST_IN_DATA = 20;
/**
 * A watch of several weeks renews its token a thousand times. The oldest tokens have expired and
 * are removed.
 */
const MOST_TOKENS = 20;
/**
 * The number of levels of escaping that are decoded. For example, a URL in JSON in an HTML page has
 * three levels.
 */
const MOST_ROUNDS = 6;
/**
 * The number of nested layers of base64 or hex that are decoded. In each layer, decoding starts at
 * several positions.
 */
const MOST_NESTED_RUNS = 3;

/** Whether a word is a JWT: three parts separated by dots, with a base64 object first. */
const isJwt = (word: string): boolean => word.includes('eyJ') && word.split('.').length > 2;

/**
 * Returns the signature of a JWT. Without the signature, the other parts of the token are useless.
 */
function signatureOf(secret: string): string | undefined {
  if (!isJwt(secret)) return undefined;
  const signature = secret.slice(secret.lastIndexOf('.') + 1);
  return signature.length >= SHORTEST_IN_DATA ? signature : undefined;
}

/** Hides the words that look like a JWT, because the token may not have been added as a secret. */
export function hideJwts(text: string): string {
  return replaceJwts(text, () => HIDDEN);
}

function replaceJwts(text: string, replace: (token: string) => string): string {
  return text.includes('eyJ')
    ? text.replace(/[\w.-]+/g, (word) => (isJwt(word) ? replace(word) : word))
    : text;
}

/**
 * Whether a value that was typed in the wrong place may be a token. This is possible when the value
 * is a JWT, or contains 32 consecutive letters and digits or 32 random characters of URL-safe
 * base64.
 */
export function looksLikeToken(text: string): boolean {
  return isJwt(text) || /(?:[a-z0-9]{32})/i.test(text) || holdsUrlSafeToken(text);
}

/** Matches a word in the alphabet of URL-safe base64. */
const URL_SAFE_WORD = /[\w-]{32,}/g;
/** Matches each border between an upper-case letter, a lower-case letter and a digit. */
const BORDER = /[a-z](?=[A-Z\d])|[A-Z](?=[a-z\d])|\d(?=[a-zA-Z])/g;
/**
 * Random base64 changes between upper-case letters, lower-case letters and digits 0.6 times per
 * character. A readable name, such as `Report-2026-11-29-Nordlicht-Bikes`, has fewer than 0.3
 * changes per character.
 */
const LEAST_BORDERS_A_CHARACTER = 0.4;

/**
 * Whether a word has lower-case letters, upper-case letters and digits. A UUID has no upper-case
 * letters.
 */
export function mixesKinds(word: string): boolean {
  return [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(word));
}

/** Whether a string contains a word that may be random bytes in URL-safe base64. */
function holdsUrlSafeToken(text: string): boolean {
  const words = text.match(URL_SAFE_WORD) ?? [];
  return words.some((word) => {
    const borders = word.match(BORDER)?.length ?? 0;
    return mixesKinds(word) && borders >= word.length * LEAST_BORDERS_A_CHARACTER;
  });
}

/**
 * Hides the words that look like a token, because a token may not have been added. In addresses and
 * paths, hides only a JWT, because addresses and paths often contain long numbers.
 */
export function hideLikelyTokens(text: string): string {
  return replaceLikelyTokens(text, () => HIDDEN);
}

/** Returns the words that `hideLikelyTokens` would hide. */
export function likelyTokensIn(text: string): string[] {
  const found: string[] = [];
  replaceLikelyTokens(text, (token) => {
    found.push(token);
    return HIDDEN;
  });
  return found;
}

function replaceLikelyTokens(text: string, replace: (token: string) => string): string {
  return replaceJwts(text, replace).replace(/[^\s"']+/g, (word) => {
    if (word.includes('://')) return word;
    return word.replace(/[^=:,;()]+/g, (part) => {
      const isToken = !part.includes('/') && /\d/.test(part) && looksLikeToken(part);
      return isToken ? replace(part) : part;
    });
  });
}

export function openSecrets(): Secrets {
  /** Passwords and other secrets that are valid for the whole run. */
  const lasting = new Set<string>();
  /** The access tokens, in the order of their last use. */
  const tokens = new Set<string>();
  /**
   * The search for all secrets. It is created on first use, because most runs do not print any text
   * from outside fleet.
   */
  let search: Search | undefined;
  /**
   * Caches the results of `hide` for short strings. When a list has a thousand pages, most response
   * headers are identical.
   */
  const hiddenTexts = new Map<string, string>();

  function add(secret: string, isPassword = false): void {
    if (secret.length < (isPassword ? SHORTEST_PASSWORD : SHORTEST_TOKEN)) return;
    if (lasting.has(secret)) return;
    lasting.add(secret);
    forgetResults();
  }

  function addToken(token: string): void {
    if (token.length < SHORTEST_TOKEN) return;
    const isKnown = tokens.delete(token);
    tokens.add(token);
    // Every request adds its token again, so a known token must not rebuild the search. Rebuilding
    // it takes longer than searching most bodies.
    if (isKnown) return;
    const [oldest] = tokens;
    if (tokens.size > MOST_TOKENS && oldest !== undefined) tokens.delete(oldest);
    forgetResults();
  }

  function forgetResults(): void {
    search = undefined;
    hiddenTexts.clear();
  }

  const openSearch = () => {
    search ??= searchFor(new Set([...lasting, ...tokens]));
    return search;
  };

  function hide(text: string): string {
    if (lasting.size + tokens.size === 0) return text;
    const earlier = hiddenTexts.get(text);
    if (earlier !== undefined) return earlier;
    const opened = openSearch();
    const { spellings } = opened;
    const hidden = hideEncoded(
      spellings.reduce((rest, spelling) => rest.replaceAll(spelling, HIDDEN), text),
      opened,
    );
    if (text.length <= REMEMBERED_CHARACTERS) {
      if (hiddenTexts.size >= MOST_REMEMBERED) hiddenTexts.clear();
      hiddenTexts.set(text, hidden);
    }
    return hidden;
  }

  function hideInData(data: string): string {
    const { inData, marksInData, escapedInData } = openSearch();
    let hidden = data;
    if (marksInData.some((mark) => data.includes(mark))) {
      for (const spelling of inData) {
        if (hidden.includes(spelling)) hidden = hidden.replaceAll(spelling, HIDDEN);
      }
    }
    return hideInEscapedWords(hidden, escapedInData, replaceRanges);
  }

  function hideInBytes(data: Buffer): Buffer {
    if (tokens.size + lasting.size === 0) return data;
    return changeWideText(hideInSingleBytes(data), SHORTEST_IN_DATA, hideInData);
  }

  /** Hides tokens in any encoding that contains ASCII, such as UTF-8. */
  function hideInSingleBytes(data: Buffer): Buffer {
    const { marksInData } = openSearch();
    const contains = (mark: string) => data.includes(mark, 0, 'latin1');
    if (!marksInData.some(contains) && !mayHoldEscapes(contains)) return data;
    const text = data.toString('latin1');
    const hidden = hideInData(text);
    return hidden === text ? data : Buffer.from(hidden, 'latin1');
  }

  return { add, addToken, hide, hideInData, hideInBytes };
}

/** The texts to look for. */
interface Search {
  /**
   * The longest secret is searched first, because a shorter secret may be a part of a longer one.
   */
  spellings: readonly string[];
  /**
   * Parts of long secrets that consist of letters and digits. The search matches them even when
   * other characters separate the letters.
   */
  parts: ReadonlySet<string>;
  /**
   * Parts of secrets that contain few letters and digits. The search matches them only when all
   * their characters occur unchanged.
   */
  literalParts: readonly string[];
  /** The strings to look for in data, longest first. */
  inData: readonly string[];
  /**
   * Strings that speed up the search. If none of these strings occurs in the data, no string of
   * `inData` can occur either.
   */
  marksInData: readonly string[];
  /**
   * Secrets and signatures that are searched in words with escapes. They are in lower case, longest
   * first.
   */
  escapedInData: readonly string[];
}

function searchFor(secrets: Iterable<string>): Search {
  const each = [...secrets];
  const all = new Set(each.flatMap(spellingsOf));
  const inData = each.filter(isFoundInData);
  // The search looks for the token's signature first. Data without the signature cannot contain the
  // whole token.
  const marks = inData.map((secret) => signatureOf(secret) ?? secret);
  return {
    spellings: longestFirst(all),
    literalParts: each.flatMap(literalPartsOf),
    parts: partsOf(all),
    inData: longestFirst(new Set([...inData, ...marks].flatMap(spellingsOf))),
    marksInData: [...new Set(marks.flatMap(spellingsOf))],
    escapedInData: longestFirst(new Set([...inData, ...marks].map(toLowerCase))),
  };
}

/** Whether a secret is long enough to be hidden in data, and cannot be a number in JSON. */
function isFoundInData(secret: string): boolean {
  return secret.length >= SHORTEST_IN_DATA && /[a-z]/i.test(secret);
}

export function longestFirst(spellings: Iterable<string>): string[] {
  return [...spellings].sort((one, other) => other.length - one.length);
}

/**
 * Returns the spellings in which a response may contain a secret, such as base64, hex or upper case.
 * Secrets with escapes, such as `\u0041`, are found separately.
 */
function spellingsOf(secret: string): string[] {
  const forms = ['NFC', 'NFD', 'NFKC'].map((form) => secret.normalize(form));
  // Another program may have read the UTF-8 bytes of the secret as Latin-1.
  const misread = Buffer.from(secret).toString('latin1');
  return [...new Set([secret, ...forms, misread])].flatMap(spellingsOfForm);
}

function spellingsOfForm(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  return [
    secret,
    // Some services repeat a secret in lower case (as a header name) or in upper case.
    secret.toLowerCase(),
    secret.toUpperCase(),
    // In form data, a space in a secret becomes a plus sign.
    secret.replaceAll(' ', '+'),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    // PHP escapes slashes in JSON.
    JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
    ...base64Of(bytes),
    hex,
    hex.toUpperCase(),
  ];
}

const BYTES_A_GROUP = 3;
const BITS_A_CHARACTER = 6;

/**
 * Returns the base64 of a secret for each position in a longer text, such as `JWT <token>`. The
 * characters that depend on the text before or after the secret are omitted.
 */
function base64Of(secret: Buffer): string[] {
  // Inside a longer text, the base64 of a short secret cannot be distinguished from an ordinary
  // word.
  const offsets = secret.length < SHORTEST_TOKEN ? [0] : [0, 1, 2];
  return offsets.flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset % BYTES_A_GROUP), secret]);
    const from = Math.ceil((offset * 8) / BITS_A_CHARACTER);
    const to = Math.floor((bytes.length * 8) / BITS_A_CHARACTER);
    return (['base64', 'base64url'] as const).map((name) => bytes.toString(name).slice(from, to));
  });
}

/** Hides secrets that appear after decoding the text once or several times. */
function hideEncoded(text: string, search: Search): string {
  let hidden = text;
  for (;;) {
    const ranges = findInEachRound(hidden, search);
    if (ranges.length === 0) return hidden;
    // After a secret is removed, the letters before and after it become neighbours and may form
    // another secret. Therefore the search starts again.
    hidden = replaceRanges(hidden, ranges);
  }
}

/**
 * Returns the ranges of the text that contain a secret after the text is decoded once or several
 * times. Nothing is hidden between the rounds of decoding. If a round hid only a part of a secret,
 * the next round could not find the rest.
 */
function findInEachRound(text: string, search: Search): SecretRange[] {
  const ranges: SecretRange[] = [];
  let decoded: UnescapedText | undefined = undecoded(text);
  for (let round = 0; decoded !== undefined && round <= MOST_ROUNDS; round++) {
    ranges.push(...findAll(decoded, search, text));
    decoded = decodeTextEscapes(decoded);
  }
  return ranges.sort(([one], [other]) => one - other);
}

/** Returns the ranges of the original text that contain a secret. */
function findAll(
  decoded: UnescapedText,
  { spellings, parts, literalParts }: Search,
  original: string,
): SecretRange[] {
  const ranges = [
    ...findParts(decoded, parts),
    ...findEncodedRuns(decoded, parts),
    ...findNumberRuns(decoded, parts),
  ];
  const { text, starts } = withoutInvisible(decoded);
  const findIn = (words: readonly string[], isSought: (word: string, found: string) => boolean) => {
    for (const word of words)
      for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
        const from = starts[at] ?? 0;
        const to = starts[at + word.length] ?? 0;
        if (isSought(word, original.slice(from, to))) ranges.push([from, to]);
      }
  };
  // Spellings without escapes are hidden already, so they are ignored here. Otherwise a password
  // `[hidden]`, which equals the replacement, would be replaced endlessly.
  findIn(spellings, (word, found) => word !== found);
  findIn(literalParts, () => true);
  return ranges;
}

/** Control characters and zero-width characters. Line breaks and tabs are white space. */
const INVISIBLE = /(?![\t\n\r])[\p{Cc}\p{Cf}]/u;

/** Removes characters that a terminal does not show. They can separate the letters of a password. */
function withoutInvisible(decoded: UnescapedText): UnescapedText {
  if (!INVISIBLE.test(decoded.text)) return decoded;
  let text = '';
  const starts: number[] = [];
  for (let at = 0; at < decoded.text.length; at++) {
    const character = decoded.text[at] ?? '';
    if (INVISIBLE.test(character)) continue;
    text += character;
    starts.push(decoded.starts[at] ?? 0);
  }
  starts.push(decoded.starts.at(-1) ?? 0);
  return { text, starts };
}

/** Matches words that can be base64 or hex. Shorter words cannot contain a part of a token. */
const ENCODED_RUN = /[\w+/-]{22,}/g;

/** Returns the ranges of words in base64 or hex that contain a token after decoding. */
function findEncodedRuns(
  { text, starts }: UnescapedText,
  parts: ReadonlySet<string>,
  depth = 1,
): SecretRange[] {
  const ranges: SecretRange[] = [];
  for (const match of text.matchAll(ENCODED_RUN)) {
    const holdsToken = decodeRun(match[0]).some((inner) => {
      const decoded = undecoded(inner);
      if (holdsPart(decoded, parts)) return true;
      return depth < MOST_NESTED_RUNS && findEncodedRuns(decoded, parts, depth + 1).length > 0;
    });
    if (holdsToken) {
      ranges.push([starts[match.index] ?? 0, starts[match.index + match[0].length] ?? 0]);
    }
  }
  return ranges;
}

/** Whether a string contains a part of a token after decoding it once or several times. */
function holdsPart(text: UnescapedText, parts: ReadonlySet<string>): boolean {
  let decoded: UnescapedText | undefined = text;
  for (let round = 0; decoded !== undefined && round <= MOST_NESTED_RUNS; round++) {
    if (findParts(decoded, parts).length > 0) return true;
    decoded = decodeTextEscapes(decoded);
  }
  return false;
}

/**
 * Matches several character codes in a row, such as the bytes of a buffer in JSON, `0x65 0x79`, or
 * `U+0065`.
 */
const NUMBER_RUN = /(?:(?:0x|U\+)?[0-9a-f]{1,8}[^0-9a-z]{1,20}){9,}(?:0x|U\+)?[0-9a-f]{1,8}/gi;

/**
 * Returns the ranges in which a token is written as a sequence of character codes, such as `101 121
 * 74`.
 */
function findNumberRuns(
  { text, starts }: UnescapedText,
  parts: ReadonlySet<string>,
): SecretRange[] {
  const ranges: SecretRange[] = [];
  for (const match of text.matchAll(NUMBER_RUN)) {
    const numbers = match[0].match(/[0-9a-f]+(?!x)/gi) ?? [];
    const isToken = [10, 16].some((base) => {
      const codes = numbers.map((number) => Number.parseInt(number, base) & LAST_UNIT);
      return findParts(undecoded(String.fromCharCode(...codes)), parts).length > 0;
    });
    if (isToken)
      ranges.push([starts[match.index] ?? 0, starts[match.index + match[0].length] ?? 0]);
  }
  return ranges;
}

const LAST_UNIT = 0xffff;

/**
 * Decodes a word as base64 and, if possible, as hex. The encoded data may begin at any character of
 * the word, so one string is returned for each possible alignment.
 */
function decodeRun(run: string): string[] {
  const inBase64 = [0, 1, 2, 3].map((from) =>
    Buffer.from(run.slice(from), 'base64').toString('latin1'),
  );
  if (!/^[0-9a-f]+$/i.test(run)) return inBase64;
  const inHex = [0, 1].map((from) => Buffer.from(run.slice(from), 'hex').toString('latin1'));
  return [...inBase64, ...inHex];
}

function replaceRanges(text: string, ranges: readonly SecretRange[]): string {
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

/**
 * Parts of an address with at least this many characters are treated as secret. Shorter parts are
 * names, such as `alerts`.
 */
const SHORTEST_IN_ADDRESS = 16;

/** Adds the long parts of a webhook or server address, because they often contain the secret. */
export function addAddressSecrets({ pathname, search }: URL, secrets: Secrets): void {
  for (const part of [...pathname.split('/'), search.slice(1)]) {
    if (part.length >= SHORTEST_IN_ADDRESS) secrets.add(part);
  }
}

/** Hides the long parts of a valid address. */
export function hideInAddress(address: string): string {
  const secrets = openSecrets();
  addAddressSecrets(new URL(address), secrets);
  return secrets.hide(address);
}
