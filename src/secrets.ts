// Hides secrets in foreign text: as they are, as JSON, HTML or a URL writes them, or in base64.

/** What replaces a secret. */
export const HIDDEN = '[hidden]';

/** The secrets of one run: code that gets a token adds it, code that handles foreign text hides them in it. */
export interface Secrets {
  /** A secret of fewer than 8 characters is hidden where it is told that it is a password, and has 4 at least. */
  add(secret: string, isPassword?: boolean): void;
  /**
   * The text with each run of 8 or more characters of a secret replaced by `[hidden]`. Call it before the text is cut, escaped or
   * quoted. Takes time linear in the text.
   */
  hide(text: string): string;
  /** The same for every text, key and number in a parsed JSON value, at most 500 levels deep. */
  hideIn(value: unknown): unknown;
}

/** A run of a secret this long is hidden; a secret that is shorter is none, and hiding it would garble words. */
const RUN_CHARACTERS = 8;
/** Shorter ones would be hidden in words that everybody uses. */
const SHORTEST_PASSWORD = 4;
/** A watch of weeks renews its token a thousand times: the oldest are over and forgotten. */
const MOST_SECRETS = 20;
/** The depth limit of JSON (cli.md promise 6). */
const DEPTH_LIMIT = 500;

/** A JWT: three parts with dots, the first the base64 of an object. */
const isJwt = (word: string): boolean => word.includes('eyJ') && word.split('.').length > 2;

/** The text without the words that look like a JWT, which may be a token that nobody has told us of. */
export function hideJwts(text: string): string {
  return text.includes('eyJ') ? text.replace(/[\w.-]+/g, (word) => (isJwt(word) ? HIDDEN : word)) : text;
}

/** Whether a text that was typed where no token belongs may be one: a JWT, or 32 letters and digits in a row. */
export function looksLikeToken(text: string): boolean {
  return isJwt(text) || /(?:[a-z0-9]{32})/i.test(text);
}

export function openSecrets(): Secrets {
  const known = new Set<string>();
  const runs = new Set<string>();
  const short = new Set<string>();

  function add(secret: string, isPassword = false): void {
    if (isPassword && secret.length >= SHORTEST_PASSWORD && secret.length < RUN_CHARACTERS) short.add(urlSafe(secret));
    if (secret.length < RUN_CHARACTERS || known.has(secret)) return;
    known.add(secret);
    const [oldest] = known;
    const isFull = known.size > MOST_SECRETS && oldest !== undefined;
    if (isFull) {
      known.delete(oldest);
      runs.clear();
    }
    for (const spelling of (isFull ? [...known] : [secret]).flatMap(spellingsOf))
      for (let at = 0; at + RUN_CHARACTERS <= spelling.length; at++) runs.add(spelling.slice(at, at + RUN_CHARACTERS));
  }

  function hide(text: string): string {
    if (runs.size === 0 && short.size === 0) return text;
    if (text.length < (short.size === 0 ? RUN_CHARACTERS : SHORTEST_PASSWORD)) return text;
    /** One mark for each character that is to be hidden. */
    let marks: Uint8Array | undefined;
    const mark = (from: number, to: number) => {
      marks ??= new Uint8Array(text.length);
      marks.fill(1, from, to);
    };
    const spelled = urlSafe(text);
    for (const one of short)
      for (let at = spelled.indexOf(one); at !== -1; at = spelled.indexOf(one, at + 1)) mark(at, at + one.length);
    for (let at = 0; at + RUN_CHARACTERS <= spelled.length; at++)
      if (runs.has(spelled.slice(at, at + RUN_CHARACTERS))) mark(at, at + RUN_CHARACTERS);
    return marks === undefined ? text : replaceMarked(text, marks);
  }

  function hideIn(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return hide(value);
    if (typeof value === 'number') return hide(String(value)) === String(value) ? value : HIDDEN;
    if (typeof value !== 'object' || value === null || depth > DEPTH_LIMIT) return value;
    if (Array.isArray(value)) return value.map((element) => hideIn(element, depth + 1));
    // An exact number and the like are shown as they are: the last net, over stderr, reads their text.
    if (Object.getPrototypeOf(value) !== Object.prototype) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [hide(name), hideIn(inner, depth + 1)]));
  }

  return { add, hide, hideIn: (value) => (runs.size === 0 && short.size === 0 ? value : hideIn(value)) };
}

/** No secrets: for what runs before there is a token, and for tests. */
export const NO_SECRETS: Secrets = { add() {}, hide: (text) => text, hideIn: (value) => value };

/** The texts whose runs give the secret away: itself, as other texts write it, and base64 at each of its three alignments. */
function spellingsOf(secret: string): string[] {
  const percent = encodeURIComponent(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const html = secret.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
  // Names of headers come in lower case.
  const spellings = [secret, secret.toLowerCase(), percent, percent.replace(/%../g, (code) => code.toLowerCase())];
  const slashed = secret.replaceAll('\\', '\\\\').replaceAll('/', '\\/');
  // Some leave single quotes as they are.
  spellings.push(json, json.replaceAll('/', '\\/'), slashed, html, html.replaceAll(ENTITIES["'"] ?? '', "'"));
  const bytes = Buffer.from(secret);
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    // The characters at both ends also carry bits of the neighbours.
    const first = Math.ceil((before * 8) / 6);
    spellings.push(encoded.slice(first, Math.floor(((before + bytes.length) * 8) / 6)));
  }
  return spellings.map(urlSafe);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Base64 in its url-safe alphabet; both sides of a comparison are brought to it. */
function urlSafe(text: string): string {
  return text.replaceAll('+', '-').replaceAll('/', '_');
}

function replaceMarked(text: string, marks: Uint8Array): string {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const begin = marks.indexOf(1, at);
    if (begin === -1) break;
    const end = marks.indexOf(0, begin);
    parts.push(text.slice(at, begin), HIDDEN);
    at = end === -1 ? text.length : end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}
