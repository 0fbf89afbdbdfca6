// Tests that tokens and passwords are hidden in text of others, in any encoding.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorJson, FleetError } from '../../src/errors.js';
import { hideInHeaders } from '../../src/http/headers.js';
import { HIDDEN, openSecrets } from '../../src/system/secrets.js';
import { often } from '../support/often.js';
import { ENCODINGS, ESCAPES, windowsLeft } from '../support/quoting.js';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4iLCJyb2xlIjoiYWRtaW4ifQ.s1Gn+a/tu-re_0987654321';

function secretsOf(...tokens: string[]) {
  const secrets = openSecrets();
  for (const token of tokens) secrets.add(token);
  return secrets;
}

const hexOf = (sign: string) => sign.charCodeAt(0).toString(16);
const decimalOf = (sign: string) => String(sign.charCodeAt(0));
/** The ways in which a service may escape a character in data. */
const CHARACTER_ESCAPES: Record<string, (sign: string) => string> = {
  'escapes of JSON': (sign) => `\\u00${hexOf(sign).toUpperCase()}`,
  'escapes of JSON in JSON': (sign) => `\\\\u00${hexOf(sign)}`,
  'escapes of JavaScript': (sign) => `\\x${hexOf(sign)}`,
  'escapes of JavaScript with braces': (sign) => `\\u{${hexOf(sign)}}`,
  'escapes of Python': (sign) => `\\U${hexOf(sign).padStart(8, '0')}`,
  'octal escapes': (sign) => `\\${sign.charCodeAt(0).toString(8).padStart(3, '0')}`,
  'percent-encoding': (sign) => `%${hexOf(sign)}`,
  'percent-encoding, twice': (sign) => `%25${hexOf(sign).toUpperCase()}`,
  'decimal HTML entities': (sign) => `&#${decimalOf(sign)};`,
  'decimal HTML entities with zeros': (sign) => `&#${decimalOf(sign).padStart(4, '0')};`,
  'hexadecimal HTML entities': (sign) => `&#X${hexOf(sign)};`,
  'HTML entities in HTML': (sign) => `&amp;#${decimalOf(sign)};`,
  'quoted-printable': (sign) => `=${hexOf(sign).toUpperCase()}`,
  backslashes: (sign) => (/[a-z0-9]/i.test(sign) ? sign : `\\\\${sign}`),
};

describe('a token in service data', () => {
  const token = 'fk_live-51HqL.yj2_eZvKYlo2C-9f8a7b6c5d';
  const characters = { every: /./g, special: /[^a-z0-9]/gi, 'a dash as': /-/g, 'a dot as': /\./g };
  const cases = Object.entries(CHARACTER_ESCAPES).flatMap(([name, write]) =>
    Object.entries(characters).map(([which, pattern]) => ({ name, which, pattern, write })),
  );

  it.each(cases)('hides a token with $which character written in $name', ({ pattern, write }) => {
    const secrets = secretsOf(token);
    const data = `{"a":"Grün 100% &amp; ${token.replace(pattern, write)}\\" of it","n":1}`;
    const hidden = `{"a":"Grün 100% &amp; ${HIDDEN}\\" of it","n":1}`;
    expect(secrets.hideInData(data)).toBe(hidden);
    expect(secrets.hideInBytes(Buffer.from(data)).toString()).toBe(hidden);
  });

  it.each([
    ['capital I with a dot, which has two characters in lower case', 'İzmir:'],
    ['long text at the limit of a word', `%41${'x'.repeat(59_980)}`],
    ['long text over several limits', `%41${'x'.repeat(149_900)}%41${'x'.repeat(59_990)}`],
  ])('a token is hidden after %s', (_name, before) => {
    const hideInData = secretsOf(token).hideInData;
    for (const write of Object.values(CHARACTER_ESCAPES)) {
      const written = token.replace(/[^a-z0-9]/gi, write);
      expect(hideInData(`"${before}${written}/x"`)).toBe(`"${before}${HIDDEN}/x"`);
    }
  });

  it('a token is hidden at any position in a long string without spaces', () => {
    const { hideInData } = secretsOf(token);
    const written = token.replace(/./g, (sign) => `\\u00${hexOf(sign)}`);
    for (let before = 59_700; before < 60_050; before += 7) {
      const data = `\\u0041${'x'.repeat(before)}`;
      expect(hideInData(`${data}${written}yz`)).toBe(`${data}${HIDDEN}yz`);
    }
  });

  it.each(cases)('hides a JWT signature with $which character written in $name', (each) => {
    const [, , signature = ''] = TOKEN.split('.');
    const data = `"${TOKEN.replace(each.pattern, each.write)}"`;
    const hidden = secretsOf(TOKEN).hideInData(data);
    expect(hidden).toContain(HIDDEN);
    expect(hidden).not.toContain(signature.replace(each.pattern, each.write));
  });

  it('hiding a token keeps JSON valid and other data unchanged', () => {
    const before = fc.string({ maxLength: 40, unit: fc.constantFrom(...' abc:"{}\\%&;é\n=/#x0') });
    const escapes = fc.constantFrom(...Object.values(CHARACTER_ESCAPES));
    fc.assert(
      fc.property(before, before, escapes, (first, last, write) => {
        const secrets = secretsOf(token);
        const written = token.replace(/[^a-z0-9]/gi, write).replaceAll('\\\\', '\\');
        const json = JSON.stringify({ first, token: `${first} ${written} ${last}`, last });
        const parsed = JSON.parse(secrets.hideInData(json));
        expect(parsed).toEqual({ first, token: `${first} ${HIDDEN} ${last}`, last });
        const other = JSON.stringify({ first, last });
        expect(secrets.hideInData(other)).toBe(other);
      }),
      { numRuns: often(500) },
    );
  });

  it.each(['\\', '%41', '&amp;', '=', '\\u0041', 'a\\', '%2525'])(
    'is looked for in bounded time in large data of %s',
    (part) => {
      const data = part.repeat(1_000_000 / part.length);
      const startedAt = process.cpuUsage();
      expect(secretsOf(token).hideInData(data)).toBe(data);
      expect(process.cpuUsage(startedAt).user / 1000).toBeLessThan(5_000);
    },
  );
});

describe('a secret in text from the service or another program', () => {
  it.each(Object.entries(ENCODINGS))('is hidden %s', (_name, encode) => {
    const hidden = secretsOf(TOKEN).hide(`token ${encode(TOKEN)} is wrong`);
    expect(windowsLeft(hidden, TOKEN)).toEqual([]);
    expect(hidden).toContain(HIDDEN);
    expect(hidden).toMatch(/^token .* is wrong$/s);
  });

  it.each(Object.entries(ESCAPES))('is hidden %s', (_name, encode) => {
    const encoded = encode(TOKEN);
    const hidden = secretsOf(TOKEN).hide(`token ${encoded} is wrong`);
    expect(hidden).toContain(HIDDEN);
    expect(hidden).toMatch(/^token .* is wrong$/s);
    // At most the letters around the token are left of the encoded text.
    const left = hidden.replace('token ', '').replace(' is wrong', '').replace(HIDDEN, '');
    expect(left.length).toBeLessThan(32);
    expect(encoded.length).toBeGreaterThanOrEqual(TOKEN.length);
  });

  it.each([
    ['form data', 'two+words%2B9'],
    ['percent-encoded UTF-8', 'two%20words%2b9'],
    ['HTML', 'two&#32;words&#43;9'],
    ['JSON', 'two\\u0020words+9'],
  ])('hides a password that is written in %s', (_name, text) => {
    const secrets = openSecrets();
    secrets.add('two words+9', true);
    expect(secrets.hide(`not "${text}"`)).toBe(`not "${HIDDEN}"`);
  });

  it.each(['Gr\\u00fcn9', 'Gr%C3%BCn9', 'Gr%FCn9', 'Gr&#252;n9'])(
    'is hidden when it is a password with an umlaut: %s',
    (text) => {
      const secrets = openSecrets();
      secrets.add('Grün9', true);
      expect(secrets.hide(text)).toBe(HIDDEN);
    },
  );

  it('does not hide the marker [hidden] itself when a secret is "hidden"', () => {
    const secrets = openSecrets();
    secrets.add('hidden', true);
    expect(secrets.hide('a hid%64en word &amp; more')).toBe('a [hidden] word &amp; more');
  });

  it.each([
    ['escape sequences', '%41&#66;\\u0043'.repeat(4_000)],
    ['base64', 'QUJD'.repeat(16_000)],
    ['hex', '4a'.repeat(32_000)],
    ['tags', '<b>'.repeat(21_000)],
    ['starts of tags', '<'.repeat(64_000)],
    ['equals signs', '='.repeat(64_000)],
    ['backslashes', '\\'.repeat(64_000)],
    ['numbers', '101,'.repeat(16_000)],
    ['starts of comments', '<!--'.repeat(16_000)],
    ['tags with quotes', `<i "`.repeat(16_000)],
    ['tags with quoted tags', `<i "<" `.repeat(9_000)],
    ['escape sequences of a terminal', '\x1b['.repeat(32_000)],
    ['titles of a terminal', '\x1b]0;'.repeat(16_000)],
  ])('searches a large text of %s within five seconds', (_name, text) => {
    const startedAt = process.cpuUsage();
    expect(secretsOf(TOKEN).hide(text)).toBe(text);
    expect(process.cpuUsage(startedAt).user / 1000).toBeLessThan(5_000);
  });

  it.each([
    ['control characters', 'Se\u0000cr\u0007et!9'],
    ['invisible characters', 'Se\u200Bcret\u00AD!9'],
  ])('hides a password with inserted %s', (_name, text) => {
    const secrets = openSecrets();
    secrets.add('Secret!9', true);
    expect(secrets.hide(`not "${text}"`)).toBe(`not "${HIDDEN}"`);
  });

  it('hides a secret when a message quotes only part of it', () => {
    const hidden = secretsOf(TOKEN).hide(`"${TOKEN.slice(10, 40)}…" has expired`);
    expect(hidden).toBe(`"${HIDDEN}…" has expired`);
  });

  it.each([
    ['the first twelve characters', TOKEN.slice(0, 12)],
    ['the last twelve characters', TOKEN.slice(-12)],
    ['twelve characters with two separators', 'tu-re_098765'],
    [
      'twelve characters as entities',
      '&#115;&#49;&#71;&#110;&#43;&#97;&#47;&#116;&#117;&#45;&#114;&#101;',
    ],
  ])('hides a secret when only part of it is quoted: %s', (_name, part) => {
    expect(secretsOf(TOKEN).hide(`"…${part}"`)).not.toContain(part.slice(2, -2));
  });

  it.each(['NFC', 'NFD', 'NFKC'] as const)(
    'is hidden when it is a password that the service writes in %s',
    (form) => {
      for (const typed of ['Zwölf Boxkämpfer ﬁ9', 'Zwölf Boxkämpfer ﬁ9'.normalize('NFD')]) {
        const secrets = openSecrets();
        secrets.add(typed, true);
        const written = typed.normalize(form);
        expect(secrets.hide(`not "${written}"`)).toBe(`not "${HIDDEN}"`);
        expect(secrets.hide(`/${encodeURIComponent(written)}/`)).toBe(`/${HIDDEN}/`);
      }
    },
  );

  it('hides a UTF-8 password that was decoded as Latin-1', () => {
    const secrets = openSecrets();
    secrets.add('Zwölf 9', true);
    expect(secrets.hide(Buffer.from('not Zwölf 9').toString('latin1'))).toBe(`not ${HIDDEN}`);
  });

  it('hides the whole secret when only some characters are encoded', () => {
    const secrets = openSecrets();
    secrets.add('Zwölf Boxkämpfer 9!', true);
    const written = encodeURIComponent('Zwölf Boxkämpfer 9!').replaceAll('%20', '+');
    expect(secrets.hide(`/?p=${written}`)).toBe(`/?p=${HIDDEN}`);
  });

  it('hides the rest of a password when question marks replace some letters', () => {
    const secrets = openSecrets();
    secrets.add(`größer&<x>"k'%+/Plm`, true);
    expect(secrets.hide(`gr??er&<x>"k'%+/Plm`)).toBe(`gr??${HIDDEN}`);
  });

  it('hides a secret whose special characters are written as HTML entities', () => {
    const secrets = openSecrets();
    secrets.add('a@b#c$d!e%', true);
    expect(secrets.hide('a&commat;b&num;c&dollar;d&excl;e&percnt;')).toBe(HIDDEN);
  });

  it('hides overlapping secrets in upper and lower case', () => {
    const { hide } = secretsOf('Abcdefgh', 'Abcdefghij');
    expect(hide('Abcdefghij Abcdefgh abcdefgh ABCDEFGH Abcdefg')).toBe(
      `${HIDDEN} ${HIDDEN} ${HIDDEN} ${HIDDEN} Abcdefg`,
    );
  });

  it('hides the previous tokens of a watch after many renewals', () => {
    const secrets = openSecrets();
    const proxyPassword = 'Pr0xy-Passw0rd';
    const tokens = Array.from({ length: 30 }, (_, at) =>
      `token-${at}-${'abcdefghij'[at % 10]}`.repeat(3),
    );
    const [used = '', ...renewed] = tokens;
    secrets.add(proxyPassword, true);
    for (const token of renewed) {
      secrets.addToken(used);
      secrets.addToken(token);
    }
    expect(secrets.hide(proxyPassword)).toBe(HIDDEN);
    expect(secrets.hideInData(used)).toBe(HIDDEN);
    expect(secrets.hideInData(tokens.at(-1) ?? '')).toBe(HIDDEN);
    expect(secrets.hideInData(tokens[1] ?? '')).toBe(tokens[1]);
  });

  it('does not change text without secrets', () => {
    const text = 'the service refused "rent": 100% of \\u0041 &amp; \\n %41 (HTTP 400)';
    expect(secretsOf(TOKEN).hide(text)).toBe(text);
    expect(openSecrets().hide(TOKEN)).toBe(TOKEN);
    expect(secretsOf('short').hide('a short one')).toBe('a short one');
  });

  it('a JSON error shows no secret in its strings, keys or numbers', () => {
    const detail = { a: ['x abcdefghij'], abcdefghij: 1234567890123, n: 12, t: true, z: null };
    const error = new FleetError('rejected', 'no', { detail });
    expect(
      JSON.parse(errorJson(error, secretsOf('abcdefghij', '1234567890123').hide)).error.detail,
    ).toEqual({
      a: [`x ${HIDDEN}`],
      [HIDDEN]: HIDDEN,
      n: 12,
      t: true,
      z: null,
    });
  });

  it('removes secrets from header names and values', () => {
    const headers = { [`x-${TOKEN.toLowerCase()}-y`]: `of ${TOKEN}`, date: 'today' };
    const hidden = hideInHeaders(headers, secretsOf(TOKEN));
    expect(hidden).toEqual({ [`x-${HIDDEN}-y`]: `of ${HIDDEN}`, date: 'today' });
  });

  it('keeps JSON valid when it hides a secret', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, unit: 'grapheme-ascii' }), fc.json(), (token, json) => {
        const text = JSON.stringify({ before: token, json });
        expect(() => JSON.parse(secretsOf(token).hide(text))).not.toThrow();
      }),
    );
  });

  it('hides any token at any position in all supported encodings (property-based)', () => {
    const tokenOf = fc.string({
      minLength: 8,
      maxLength: 200,
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    const around = fc.string({ maxLength: 40, unit: fc.constantFrom(...' abc:"{}\\%&;é\n') });
    fc.assert(
      fc.property(
        tokenOf,
        around,
        around,
        fc.constantFrom(...Object.values(ENCODINGS)),
        (token, before, after, encode) => {
          const hidden = secretsOf(token).hide(before + encode(token) + after);
          expect(Object.values(ENCODINGS).filter((each) => hidden.includes(each(token)))).toEqual(
            [],
          );
          expect(hidden).toContain(HIDDEN);
        },
      ),
      { numRuns: often(1000) },
    );
  });
});
