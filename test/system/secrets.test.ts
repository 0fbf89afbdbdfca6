// Shows that a token is hidden in foreign text as it is, percent-encoded and in base64.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorJson, FleetError } from '../../src/errors.js';
import { hideInHeaders } from '../../src/http/headers.js';
import { HIDDEN, openSecrets } from '../../src/system/secrets.js';
import { often } from '../support/often.js';
import { ENCODINGS, windowsLeft } from '../support/quoting.js';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4iLCJyb2xlIjoiYWRtaW4ifQ.s1Gn+a/tu-re_0987654321';

function secretsOf(...tokens: string[]) {
  const secrets = openSecrets();
  for (const token of tokens) secrets.add(token);
  return secrets;
}

describe('a secret in foreign text', () => {
  it.each(Object.entries(ENCODINGS))('is hidden %s', (_name, encode) => {
    const hidden = secretsOf(TOKEN).hide(`token ${encode(TOKEN)} is no good`);
    expect(windowsLeft(hidden, TOKEN)).toEqual([]);
    expect(hidden).toContain(HIDDEN);
    expect(hidden).toMatch(/^token .* is no good$/s);
  });

  it('is hidden whole where it is part of another, and in lower case', () => {
    const { hide } = secretsOf('Abcdefgh', 'Abcdefghij');
    expect(hide('Abcdefghij Abcdefgh abcdefgh Abcdefg')).toBe(
      `${HIDDEN} ${HIDDEN} ${HIDDEN} Abcdefg`,
    );
  });

  it('leaves other text alone, and texts without a secret', () => {
    const text = 'the service refused "rent": 100% of \\u0041 &amp; \\n %41 (HTTP 400)';
    expect(secretsOf(TOKEN).hide(text)).toBe(text);
    expect(openSecrets().hide(TOKEN)).toBe(TOKEN);
    expect(secretsOf('short').hide('a short one')).toBe('a short one');
  });

  it('is hidden in an error as JSON: texts, keys and numbers', () => {
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

  it('is hidden in the names of headers, which are in lower case, and in their values', () => {
    const headers = { [`x-${TOKEN.toLowerCase()}-y`]: `of ${TOKEN}`, date: 'today' };
    const hidden = hideInHeaders(headers, secretsOf(TOKEN));
    expect(hidden).toEqual({ [`x-${HIDDEN}-y`]: `of ${HIDDEN}`, date: 'today' });
  });

  it('keeps JSON text JSON', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, unit: 'grapheme-ascii' }), fc.json(), (token, json) => {
        const text = JSON.stringify({ before: token, json });
        expect(() => JSON.parse(secretsOf(token).hide(text))).not.toThrow();
      }),
    );
  });

  it('is not left in any of these spellings, whatever token and place', () => {
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
