// Hides secrets in foreign text: as they are, escaped, percent-encoded or in base64.

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
/** How often an encoding may be wrapped in another, such as `%252E` or `\\u002e`. */
const ROUNDS = 4;
/** The depth limit of JSON (cli.md promise 6). */
const DEPTH_LIMIT = 500;

/** A text as it reads once its escapes are decoded; character `at` stands in the original from `starts[at]` to `ends[at]`. */
interface View {
  text: string;
  starts?: Uint32Array;
  ends?: Uint32Array;
}

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
    // One mark for each character that is to be hidden, whichever view shows it.
    let marks: Uint8Array | undefined;
    let view: View | undefined = { text };
    for (let round = 0; view !== undefined && round <= ROUNDS; round++) {
      const spelled = urlSafe(view.text);
      for (const one of short)
        for (let at = spelled.indexOf(one); at !== -1; at = spelled.indexOf(one, at + 1)) {
          marks ??= new Uint8Array(text.length);
          const last = at + one.length - 1;
          marks.fill(1, view.starts?.[at] ?? at, view.ends?.[last] ?? last + 1);
        }
      for (let at = 0; at + RUN_CHARACTERS <= spelled.length; at++) {
        if (!runs.has(spelled.slice(at, at + RUN_CHARACTERS))) continue;
        marks ??= new Uint8Array(text.length);
        const last = at + RUN_CHARACTERS - 1;
        marks.fill(1, view.starts?.[at] ?? at, view.ends?.[last] ?? last + 1);
      }
      view = decode(view);
    }
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

/** The texts whose runs give the secret away: itself, decoded as a text around it would be, and base64 at each of its three alignments. */
function spellingsOf(secret: string): string[] {
  // Names of headers come in lower case.
  const spellings = [secret, secret.toLowerCase()];
  for (let view = decode({ text: secret }); view !== undefined && spellings.length <= ROUNDS + 1; view = decode(view))
    spellings.push(view.text);
  const bytes = Buffer.from(secret);
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    // The characters at both ends also carry bits of the neighbours.
    const first = Math.ceil((before * 8) / 6);
    spellings.push(encoded.slice(first, Math.floor(((before + bytes.length) * 8) / 6)));
  }
  return spellings.map(urlSafe);
}

/** Base64 in its url-safe alphabet; both sides of a comparison are brought to it. */
function urlSafe(text: string): string {
  return text.replaceAll('+', '-').replaceAll('/', '_');
}

/** One escape of JSON, JavaScript, URLs or HTML. */
const ESCAPE =
  /\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\([^a-z0-9])|%([0-9a-f]{2})|&#x0{0,8}([0-9a-f]{1,6});?|&#0{0,8}(\d{1,7});?|&(amp|lt|gt|quot|apos);/gi;

/** The characters that are given names in HTML where text is put into a page. */
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The next view: each escape as the ASCII character that it stands for. Undefined when there is none left. */
function decode(view: View): View | undefined {
  if (!/[\\%&]/.test(view.text)) return undefined;
  const parts: string[] = [];
  const starts = new Uint32Array(view.text.length);
  const ends = new Uint32Array(view.text.length);
  let length = 0;
  let read = 0;
  const keep = (from: number, to: number, character?: string) => {
    if (to > from) parts.push(character ?? view.text.slice(from, to));
    const step = character === undefined ? 1 : to - from;
    for (let at = from; at < to; at += step) {
      starts[length] = view.starts?.[at] ?? at;
      ends[length] = view.ends?.[at + step - 1] ?? at + step;
      length++;
    }
  };
  for (const match of view.text.matchAll(ESCAPE)) {
    const character = characterOf(match);
    if (character === undefined) continue;
    keep(read, match.index);
    read = match.index + match[0].length;
    keep(match.index, read, character);
  }
  if (read === 0) return undefined;
  keep(read, view.text.length);
  return { text: parts.join(''), starts, ends };
}

function characterOf([, json, javascript, quoted, percent, hex, decimal, name]: RegExpMatchArray): string | undefined {
  if (quoted !== undefined) return quoted;
  if (name !== undefined) return NAMED[name.toLowerCase()];
  const digits = json ?? javascript ?? percent ?? hex;
  const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16);
  return code > 0 && code < 0x80 ? String.fromCharCode(code) : undefined;
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
