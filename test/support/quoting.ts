// Encodings in which a service may quote a token, and a search for remaining parts of it in the
// output.

/** The ways in which a service may quote a text. */
export const ENCODINGS: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'in url-safe base64': (text) => Buffer.from(`${text}:`).toString('base64url'),
  'in JSON': (text) => JSON.stringify(text),
  'percent-encoded': (text) => encodeURIComponent(text),
};

const everyCharacter = (text: string, encode: (code: number) => string) =>
  [...text].map((character) => encode(character.codePointAt(0) ?? 0)).join('');
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');

/** Puts a separator after each of these many characters. */
const folded = (text: string, length: number, separator: string) =>
  text.replace(new RegExp(`.{${length}}(?!$)`, 'gs'), (part) => part + separator);

/**
 * The ways in which a service may quote a token inside another text, or escape every character of
 * it.
 */
export const ESCAPES: Record<string, (text: string) => string> = {
  'in base64 with its scheme': (text) => Buffer.from(`JWT ${text}`).toString('base64'),
  'in base64 with its header': (text) =>
    Buffer.from(`Authorization: JWT ${text}`).toString('base64'),
  'in url-safe base64 of a sentence': (text) =>
    Buffer.from(`the token ${text} is bad`).toString('base64url'),
  'in hex': (text) => Buffer.from(text).toString('hex'),
  'in upper-case hex': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  'with every character percent-encoded': (text) =>
    everyCharacter(text, (code) => `%${hex(code, 2)}`),
  'with every character percent-encoded twice': (text) =>
    everyCharacter(text, (code) => `%25${hex(code, 2).toUpperCase()}`),
  'as decimal HTML entities': (text) => everyCharacter(text, (code) => `&#${code};`),
  'as hexadecimal HTML entities': (text) => everyCharacter(text, (code) => `&#x${hex(code, 4)};`),
  'as escapes of JSON': (text) => everyCharacter(text, (code) => `\\u${hex(code, 4)}`),
  'as escapes of JSON in JSON': (text) => everyCharacter(text, (code) => `\\\\u${hex(code, 4)}`),
  'as HTML entities without semicolons': (text) =>
    everyCharacter(text, (code) => `&#x${hex(code, 4)}`).replaceAll('&', ' &'),
  'as octal escapes': (text) =>
    everyCharacter(text, (code) => `\\${code.toString(8).padStart(3, '0')}`),
  'as escapes of JavaScript with braces': (text) =>
    everyCharacter(text, (code) => `\\u{${hex(code, 2)}}`),
  'as quoted-printable': (text) => everyCharacter(text, (code) => `=${hex(code, 2).toUpperCase()}`),
  'as quoted-printable with soft line breaks': (text) => folded(text, 10, '=\r\n'),
  'in upper case': (text) => text.toUpperCase(),
  'on several lines': (text) => folded(text, 7, '\n'),
  'with a NUL after each character': (text) => folded(text, 1, '\0'),
  'with an invisible character after each character': (text) => folded(text, 1, '\u200B'),
  'in letters of full width': (text) =>
    everyCharacter(text, (code) => String.fromCharCode(code + 0xfee0)),
  'with markup after each character': (text) => folded(text, 1, '<b class="x">'),
  'in UTF-16 that is read as UTF-8': (text) => Buffer.from(text, 'utf16le').toString('utf8'),
  'in hex with colons': (text) => folded(Buffer.from(text).toString('hex'), 2, ':'),
  'in base64 on several lines': (text) => folded(Buffer.from(text).toString('base64'), 20, '\r\n'),
  'in base64 twice': (text) =>
    Buffer.from(Buffer.from(`JWT ${text}`).toString('base64')).toString('base64'),
  'in base64 of hex': (text) =>
    Buffer.from(Buffer.from(`JWT ${text}`).toString('hex')).toString('base64'),
  'in base64 of escapes of JSON': (text) =>
    Buffer.from(everyCharacter(text, (code) => `\\u${hex(code, 4)}`)).toString('base64'),
  'as the bytes of a buffer in JSON': (text) => JSON.stringify(Buffer.from(text)),
  'as numbers with 0x': (text) => everyCharacter(text, (code) => `0x${hex(code, 2)}, `),
  'as code points': (text) => everyCharacter(text, (code) => `U+${hex(code, 4)} `),
  'as escapes of JavaScript in a URL': (text) =>
    everyCharacter(text, (code) => `%u${hex(code, 4)}`),
  'as escapes of Python': (text) => everyCharacter(text, (code) => `\\U${hex(code, 8)}`),
  'with escaped line breaks': (text) => folded(text, 7, '\\r\\n'),
  'with escape sequences of a terminal': (text) => folded(text, 7, '\x1b[31m'),
  'with titles of a terminal': (text) => folded(text, 7, '\x1b]0;title\x07'),
  'with long tags': (text) => folded(text, 1, `<i class="${'x'.repeat(300)}" title="a > b">`),
  'with comments': (text) => folded(text, 1, '<!-- a > b -->'),
  'with fillers': (text) => folded(text, 1, '\u3164'),
  'in bold letters': (text) =>
    text.replace(/[a-z]/g, (letter) =>
      String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0x1d41a - 0x61),
    ),
  'percent-encoded five times': (text) =>
    everyCharacter(text, (code) => `%25252525${hex(code, 2)}`),
  'as HTML entities in a URL': (text) =>
    encodeURIComponent(everyCharacter(text, (code) => `&#${code};`)),
};

/**
 * Returns the parts of eight characters of the token that are still visible in the text in any
 * encoding.
 */
export function windowsLeft(text: string, token: string): string[] {
  const spellings = Object.values(ENCODINGS).map((encode) => encode(token));
  const windows = spellings.flatMap((spelling) =>
    Array.from({ length: Math.max(0, spelling.length - 7) }, (_, at) => spelling.slice(at, at + 8)),
  );
  return windows.filter((window) => text.includes(window));
}
