// Hides secrets in foreign text: as they are, percent-encoded, or in base64.

/** What replaces a secret. */
export const HIDDEN = '[hidden]';

/** The secrets of one run: code that gets a token adds it, code that handles foreign text hides them in it. */
export interface Secrets {
  /** A secret of fewer than 8 characters is hidden where it is told that it is a password, and has 4 at least. */
  add(secret: string, isPassword?: boolean): void;
  /** The text with each secret replaced by `[hidden]`. Call it before the text is cut, escaped or quoted. */
  hide(text: string): string;
}

/** Hiding what is shorter would garble words that everybody uses. */
const SHORTEST_TOKEN = 8;
const SHORTEST_PASSWORD = 4;
/** A watch of weeks renews its token a thousand times: the oldest are over and forgotten. */
const MOST_SECRETS = 20;

/** A JWT: three parts with dots, the first the base64 of an object. */
const isJwt = (word: string): boolean => word.includes('eyJ') && word.split('.').length > 2;

/** The text without the words that look like a JWT, which may be a token that nobody has told us of. */
export function hideJwts(text: string): string {
  return text.includes('eyJ')
    ? text.replace(/[\w.-]+/g, (word) => (isJwt(word) ? HIDDEN : word))
    : text;
}

/** Whether a text that was typed where no token belongs may be one: a JWT, or 32 letters and digits in a row. */
export function looksLikeToken(text: string): boolean {
  return isJwt(text) || /(?:[a-z0-9]{32})/i.test(text);
}

export function openSecrets(): Secrets {
  const known = new Set<string>();
  /** The longest first, for a secret may be part of another. */
  let spellings: readonly string[] = [];

  function add(secret: string, isPassword = false): void {
    if (secret.length < (isPassword ? SHORTEST_PASSWORD : SHORTEST_TOKEN)) return;
    known.add(secret);
    const [oldest] = known;
    if (known.size > MOST_SECRETS && oldest !== undefined) known.delete(oldest);
    spellings = [...known].flatMap(spellingsOf).sort((one, other) => other.length - one.length);
  }

  function hide(text: string): string {
    return spellings.reduce((hidden, spelling) => hidden.replaceAll(spelling, HIDDEN), text);
  }

  return { add, hide };
}

/** How others write a secret. Base64 without its end, which depends on what follows. */
function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const whole = Math.floor((bytes.length * 8) / 6);
  const base64 = (['base64', 'base64url'] as const).map((encoding) =>
    bytes.toString(encoding).slice(0, whole),
  );
  // Names of headers come in lower case.
  const plain = [
    secret,
    secret.toLowerCase(),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ];
  return [...plain, ...base64];
}
