// Names that often cause errors: escape sequences, invisible and reordering characters, scripts,
// quotes and reserved words.

import fc from 'fast-check';

/**
 * Any character except half of a surrogate pair. fast-check's own `binary` first builds a table of
 * 1.1 million characters, which takes a second and 100 MB per process.
 */
const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point));

/** A text of such characters. */
export const anyText = (constraints: fc.StringSharedConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ ...constraints, unit: anyCharacter });

/** A JSON value with such texts. */
export const anyJson = (constraints: fc.JsonSharedConstraints = {}): fc.Arbitrary<fc.JsonValue> =>
  fc.jsonValue({ ...constraints, stringUnit: anyCharacter });

/** Texts that need escaping on a terminal. */
export const HOSTILE: readonly string[] = [
  '\u001b[31mred\u001b[0m',
  '\u001b[2J\u001b[Hgone',
  '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007',
  '\u001b]52;c;cm0gLXJmIC8=\u0007',
  '\u001bP+q544e\u001b\\',
  '\u009b31mC1 red',
  '\u009d0;title\u009c',
  'bell\u0007 backspace\b\b\b null\u0000 delete\u007f',
  'two\nlines\r\nthree\rback\ttab\vdown\fpage',
  '\u202egnp.exe\u202c',
  '\u2066isolated\u2069 \u200fright \u200eleft \u061carabic',
  'zero\u200bwidth\u2060join\ufeffbom\u00adsoft',
  'line\u2028paragraph\u2029end\u0085next',
  'tags \u{E0041}\u{E0042}\u{E007F}',
  'a\u200db\u200cc',
  'v\ufe0fs\u{e0100}',
  '😀\ufe0f\ufe0f\u{e0101}\u{e0102}',
  '\u3164\u115f\uffa0',
  '\ufff9note\ufffa\ufffb',
  'half \ud83d pair \udc4d',
];

/** Unusual but valid texts that must not be changed. */
export const HARMLESS: readonly string[] = [
  'Berlin 0001',
  '自転車 東京',
  '자전거 서울',
  'Велосипед №7',
  'Ποδήλατο',
  'دراجة هوائية',
  'אופניים',
  'نامه\u200cای',
  'क्\u200dष क्षि',
  'e\u0301 n\u0303 ü',
  '👨\u200d👩\u200d👧\u200d👦',
  '🏳\ufe0f\u200d🌈 👩🏽\u200d🚀 1\ufe0f\u20e3',
  '🇩🇪🇫🇷',
  '葛\u{e0100}城',
  'Z\u0321\u0353a\u0317\u0342\u030al\u0341\u0358g\u0361o\u035c',
  '  spaces  ',
  '\u00a0\u3000wide space',
  '<b>&amp;</b>',
  "'; DROP TABLE bicycles; --",
  '"quoted", ""twice""',
  '=1+1',
  '@SUM(A1)',
  '-2+3',
  '+49 30 123456',
  '0123',
  '1e5',
  '0x1F',
  '12:30',
  '1_000',
  '2024-01-01',
  '2024-01-01T10:00:00Z',
  'null',
  '~',
  'true',
  'no',
  'NaN',
  '.inf',
  '- item',
  'key: value',
  '# comment',
  '&anchor *alias !tag',
  '%directive',
  '---',
  '...',
  '{}',
  '[]',
  '|',
  '> folded',
  '`backtick` $HOME $(id)',
  'C:\\path\\',
  '\\u001b',
  '__proto__',
  'constructor',
  'a'.repeat(500),
  '…',
];

export const NAUGHTY: readonly string[] = [...HOSTILE, ...HARMLESS];

/** Numbers that a double cannot represent or prints in another way. */
export const EXACT_NUMBERS: readonly string[] = [
  '12345678901234567890',
  '-98765432109876543210',
  '9007199254740993',
  '0.1234567890123456789012345',
  '52.5200081234567890123456789',
  '57.50',
  '1.0',
  '-0',
  '1e400',
  '1E5',
  '0.00000000000000000001',
  '1e-07',
  '1000000000000000000000',
];

/**
 * Whether the text contains a character that controls a terminal: C0, C1, DEL, a bidi control or an
 * isolate.
 */
export function findControls(text: string): string[] {
  return (
    text.match(
      /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu,
    ) ?? []
  );
}
