// Recognises the names of secrets, such as `api_key`.

/**
 * Matches words that occur in the names of secrets. The names are in lower case, and their words
 * are separated by dashes.
 */
const SECRET_WORDS =
  /token|secret|passw|passphrase|pwd|credential|authori[sz]ation|cookie|signature|(?<![a-z])(?:t?otp|pin|sig|jwt|pass|pw)(?![a-z])|-auth$|api-?key|-key$/;

/** Matches names of tokens that only mark a position in a list. They are not secrets. */
const POSITION_TOKEN = /(?:^|-)(?:page|next|prev|previous|continuation|sync|cursor)-?token$/;

/** The maximum length of a name. A longer string is data and not a name. */
const LONGEST_NAME = 100;

/** Whether the value of this name is a secret, such as a password, a token or a key. */
export function isSecretName(name: string): boolean {
  if (name.length > LONGEST_NAME) return false;
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/[_\s]/g, '-')
    .toLowerCase();
  return SECRET_WORDS.test(words) && !POSITION_TOKEN.test(words);
}
