// Finds secrets that fleet does not know: tokens in the wrong place, passwords in URLs, and values
// of names such as `api_key`. If the user typed such a secret, it is hidden on stderr. Requests and
// results still contain it.

import { HIDDEN, hideInAddress, likelyTokensIn, longestFirst, mixesKinds } from './secrets.js';

/**
 * At most this many characters are searched at once. Of a longer word, only the beginning is
 * searched, because such a word is prose or data, and searching all of it would take too long.
 */
const SEARCHED_CHARACTERS = 10_000;
/** Shorter values are not hidden, because they may be ordinary words in messages. */
const SHORTEST = 4;

/**
 * Matches names that end with a word that denotes a secret, such as `api_key`. Their values are
 * hidden.
 */
const SECRET_NAME = String.raw`[\w-]{0,40}(?:token|secret|passwor[dt]|passwd|passphrase|pwd|[-_]key|apikey|authorization|[-_]auth|cookie|signature|(?<![a-z])(?:sig|pass|pw|pin|t?otp))(?:-stdin)?`;
const SECRET_FLAG = new RegExp(`^-{1,2}${SECRET_NAME}$`, 'i');
const BEFORE_VALUE = String.raw`(?<![\w-])${SECRET_NAME}["']?\s{0,9}[=:]\s{0,9}`;
const SCHEME = String.raw`(?:(?:jwt|bearer|basic)\s{1,9})?`;
const NAMED_VALUE = new RegExp(`${BEFORE_VALUE}["']?${SCHEME}([^\\s"'&,;}#]+)`, 'gi');
/** Matches the value up to the next space, because a secret can contain punctuation. */
const NAMED_WHOLE_VALUE = new RegExp(`${BEFORE_VALUE}${SCHEME}([^\\s"'&]+)`, 'gi');
/**
 * Matches adjacent quoted strings, such as `'it'\''s'`. Users write such strings in a shell when
 * the value itself contains a quotation mark.
 */
const QUOTED = String.raw`(?:"(?:\\[^]|[^"\\]){0,200}"|'[^']{0,200}'|\\')+`;
const NAMED_QUOTED_VALUE = new RegExp(`${BEFORE_VALUE}(${QUOTED})`, 'gi');
/** Matches `--password VALUE` in a command line. */
const FLAG_VALUE = new RegExp(
  String.raw`(?<!\S)-{1,2}${SECRET_NAME}\s{1,9}(${QUOTED}|[^\s"'./~-][^\s"']*)`,
  'gi',
);
/** Matches a login flag, as in `curl -u USER:PASSWORD`. */
const LOGIN_FLAG = '(?:-[a-z]{0,5}[au]|--(?:proxy-)?user(?:name)?|--auth)';
/**
 * Matches the user name in a login. It must contain a letter, because `docker -u 1000:1000` does
 * not contain a password.
 */
const LOGIN_USER = /(?=[^\s:]{0,99}[a-z])[^\s:"'/@]{1,100}:(?!\/\/)/.source;
const LOGINS = [`"${LOGIN_USER}([^"]+)"`, `'${LOGIN_USER}([^']+)'`, `${LOGIN_USER}([^\\s"']+)`].map(
  (login) => new RegExp(String.raw`(?<!\S)${LOGIN_FLAG}[\s=]{0,9}${login}`, 'gi'),
);
const LOGIN_WORD = new RegExp(`^${LOGIN_USER}([^]+)$`, 'i');
const IS_LOGIN_FLAG = new RegExp(`^${LOGIN_FLAG}$`, 'i');
/** Matches the password of `sshpass -p PASSWORD` and `mysql -pPASSWORD`. */
const PROGRAM_PASSWORD = new RegExp(
  String.raw`(?<!\S)(?:sshpass|mysql\w{0,10})\s(?:[^|;&\n]{0,200}?\s)?-p\s{0,9}(${QUOTED}|[^\s"'-][^\s"']*)`,
  'gi',
);
/** Matches a header line in the output of `curl -v`. */
const HEADER_LINE = new RegExp(String.raw`^[<>]\s{0,9}${SECRET_NAME}:\s{0,9}${SCHEME}(.+)$`, 'gi');
const IN_TEXT = [
  NAMED_VALUE,
  NAMED_WHOLE_VALUE,
  NAMED_QUOTED_VALUE,
  FLAG_VALUE,
  HEADER_LINE,
  PROGRAM_PASSWORD,
  ...LOGINS,
];
/**
 * Matches a whole word, such as `--password=VALUE` or the header `X-Api-Key: VALUE`. The value
 * extends to the end of the word, so it can contain spaces and punctuation.
 */
const NAMED_WORD = new RegExp(String.raw`^${SECRET_NAME}\s{0,9}[=:]\s{0,9}${SCHEME}([^]+)$`, 'i');
/**
 * Captures the password in `USER:PASSWORD@HOST`. If an address has only a key, as in `//KEY@HOST`,
 * captures the key.
 */
const PASSWORDS = [/:([^\s:/@]+)@/g, /\/([^\s:/@]+)@/g, /:\/\/[^\s:@/]*:(\S+)@/g];
const PLAIN_WORD = /^(?:true|false|null|none)[,;}\])]*$/i;

/**
 * Returns a function that hides the secrets in these words. `words` are the arguments of the
 * command line and the values of variables.
 */
export function hideTyped(words: readonly string[]): (text: string) => string {
  const found = words.flatMap((word, at) => {
    const before = words[at - 1] ?? '';
    const searched = word.slice(0, SEARCHED_CHARACTERS);
    if (SECRET_FLAG.test(before) && !/^-|[:/]/.test(word)) return [word];
    const password = IS_LOGIN_FLAG.test(before) ? LOGIN_WORD.exec(searched)?.[1] : undefined;
    return [password ?? '', ...secretsInWord(searched)];
  });
  const secrets = chooseSecrets(chooseSecrets(found).flatMap(spellingsOf));
  return (text) => hideAll(text, secrets);
}

/**
 * Hides the secrets in the text of a setting. The setting can be a command line that the operator
 * wrote.
 */
export function hideInSetting(text: string): string {
  const searched = text.slice(0, SEARCHED_CHARACTERS);
  const hidden = hideAll(text, chooseSecrets(secretsIn(searched)));
  return hideTyped(searched.split(/\s+/))(hidden);
}

/** Matches an address in a command line. */
const ADDRESS = /https?:\/\/[^\s"']+/gi;

/**
 * Hides the secrets in a stored command line, such as the line of an alias. The user may have stored
 * the line long ago, so a message must not show the key of a webhook either.
 */
export function hideInStoredLine(line: string): string {
  const hidden = line.replace(ADDRESS, (address) =>
    URL.canParse(address) ? hideInAddress(address) : address,
  );
  return hideInSetting(hidden);
}

/**
 * Matches texts such as `token: expired` and `--token with` in a message. The value may be a secret
 * if it is quoted or contains a digit.
 */
const PROSE = /[:\w]\s+[A-Z]?[a-z]+[.,;:!?)]*$/;

/**
 * Hides secrets in a line that one of the operator's commands printed. These are likely tokens,
 * passwords in addresses, and the values of names such as `api_key`.
 */
export function hideInOutput(line: string): string {
  const found = piecesOf(line).flatMap((piece) => [
    ...secretsIn(piece, PROSE),
    ...urlSafeTokensIn(piece),
  ]);
  return hideAll(line, chooseSecrets(found));
}

/** Matches a word in the alphabet of URL-safe base64. */
const URL_SAFE_WORD = /^["']?(?:[^\s"'=]{1,60}=)?["']?([\w-]{32,})["']?$/;

/**
 * Returns the words that may be random bytes in URL-safe base64, which can contain dashes. URLs are
 * not returned, because the user may have to open one of them to log in.
 */
function urlSafeTokensIn(text: string): string[] {
  return text.split(/[\s,;]+/).flatMap((word) => {
    const token = URL_SAFE_WORD.exec(word.slice(0, SEARCHED_CHARACTERS))?.[1] ?? '';
    return mixesKinds(token) ? [token] : [];
  });
}

/** Returns overlapping chunks of a string, so that searching a long string takes linear time. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; from += SEARCHED_CHARACTERS / 2) {
    pieces.push(text.slice(from, from + SEARCHED_CHARACTERS));
  }
  return pieces;
}

/** Whether a string contains the value of a name such as `api_key`. */
export function holdsNamedSecret(text: string): boolean {
  return text.slice(0, SEARCHED_CHARACTERS).search(NAMED_VALUE) !== -1;
}

/**
 * Returns the values that can be hidden, longest first. Values that are too short or too common are
 * left out.
 */
function chooseSecrets(found: readonly string[]): string[] {
  const isSecret = (value: string) => value.length >= SHORTEST && !PLAIN_WORD.test(value);
  return longestFirst(new Set(found.filter(isSecret)));
}

function hideAll(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

/** Returns the secrets in a word of the command line, or in the value of a variable. */
function secretsInWord(word: string): string[] {
  const value = NAMED_WORD.exec(word)?.[1];
  return value === undefined ? secretsIn(word) : [value, ...secretsIn(word)];
}

/** Returns the secrets found in the text, except the values of names that `ignored` matches. */
function secretsIn(text: string, ignored?: RegExp): string[] {
  const captured = [...IN_TEXT, ...PASSWORDS].flatMap((pattern) =>
    Array.from(text.matchAll(pattern), ([match, secret = '']) =>
      ignored?.test(match) === true ? '' : withoutQuotes(secret),
    ),
  );
  return [...likelyTokensIn(text), ...captured];
}

/** Removes the quotes around a single string. */
function withoutQuotes(text: string): string {
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text;
}

/**
 * Returns the forms in which a message can contain a secret that the user typed. These are the
 * typed text, its form in a URL, and its form in a suggested command line. Each of them can also
 * appear in JSON.
 */
function spellingsOf(secret: string): string[] {
  const texts = [secret, inUrl(secret), secret.replaceAll("'", "'\\''")];
  return texts.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]);
}

/**
 * Returns the percent-encoded form of the secret in a URL. Lone surrogates are replaced by U+FFFD,
 * because encodeURIComponent throws for them. They can occur when another program calls fleet.
 */
function inUrl(secret: string): string {
  return encodeURIComponent(Buffer.from(secret).toString());
}
