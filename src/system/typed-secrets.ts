// Finds secrets that the user typed: tokens in the wrong place, passwords in addresses, and values
// of names such as `api_key`. They are hidden on stderr, but not in requests and results.

import { HIDDEN, likelyTokensIn } from './secrets.js';

/**
 * Longer words are not searched, because they are texts or data, and the search would take too
 * long.
 */
const SEARCHED_CHARACTERS = 10_000;
/** A shorter value is not hidden, because it may be an ordinary word that messages contain. */
const SHORTEST = 4;

/** Matches names that end with a word for a secret, such as `api_key`. Their values are hidden. */
const SECRET_NAME = String.raw`[\w-]{0,40}(?:token|secret|password|passwd|passphrase|pwd|[-_]key|apikey|authorization|[-_]auth|cookie|signature|(?<![a-z])sig)`;
const SECRET_FLAG = new RegExp(`^-{1,2}${SECRET_NAME}$`, 'i');
const NAMED_VALUE = new RegExp(
  String.raw`(?<![\w-])${SECRET_NAME}["']?\s{0,9}[=:]\s{0,9}["']?(?:(?:jwt|bearer|basic)\s{1,9})?([^\s"'&,;}#]+)`,
  'gi',
);
/** Captures the password in `USER:PASSWORD@HOST`, and a key without a password in `//KEY@HOST`. */
const PASSWORDS = [/:([^\s:/@]+)@/g, /\/([^\s:/@]+)@/g, /:\/\/[^\s:@/]*:(\S+)@/g];
const PLAIN_WORD = /^(?:true|false|null|none)$/i;

/**
 * Returns a function that hides the secrets in these words. `words` are the arguments of the
 * command line and the values of variables.
 */
export function hideTyped(words: readonly string[]): (text: string) => string {
  const found = words.flatMap((word, at) => {
    const isOfFlag = SECRET_FLAG.test(words[at - 1] ?? '') && !/^-|[:/]/.test(word);
    return isOfFlag ? [word] : secretsIn(word.slice(0, SEARCHED_CHARACTERS));
  });
  const secrets = new Set(
    found
      .filter((secret) => secret.length >= SHORTEST && !PLAIN_WORD.test(secret))
      .flatMap((secret) => [secret, inUrl(secret)]),
  );
  const longestFirst = [...secrets].sort((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

function secretsIn(word: string): string[] {
  const captured = [NAMED_VALUE, ...PASSWORDS].flatMap((pattern) =>
    [...word.matchAll(pattern)].map(([, secret = '']) => secret),
  );
  return [...likelyTokensIn(word), ...captured];
}

/**
 * Returns the percent-encoded form of the secret in a URL. Lone surrogates are replaced by U+FFFD,
 * because encodeURIComponent throws for them. Programs that call fleet can send such characters.
 */
function inUrl(secret: string): string {
  return encodeURIComponent(Buffer.from(secret).toString());
}
