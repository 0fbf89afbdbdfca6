// The real jq behind `--jq`: exact numbers, raw strings, its own messages, many inputs, terminals.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FleetError } from '../../src/errors.js';
import { openJq } from '../../src/terminal/jq.js';
import { EXACT_NUMBERS, findControls, HOSTILE, NAUGHTY } from '../support/naughty.js';

const PIPE = { terminal: false };

async function filter(program: string, json: string): Promise<string> {
  return (await openJq(program, PIPE)).filter(json);
}

test.each([
  ['.a', '{"a":1}', '1\n'],
  ['.[] | select(.c < 20) | .u', '[{"u":"x","c":5},{"u":"y","c":50}]', 'x\n'],
  ['.', '{"b":[1,2],"a":null}', '{"b":[1,2],"a":null}\n'],
  ['empty', '1', ''],
  ['.a, .b', '{"a":"","b":"  spaces  "}', '\n  spaces  \n'],
  ['.[]', '["two\\nlines","tab\\there"]', 'two\nlines\ntab\there\n'],
  ['.[] | @csv', '[["a,b",1]]', '"a,b",1\n'],
  ['-1', '0', '-1\n'],
  ['--help', '3', '-3\n'],
  ['.a', '{"a":1}\n{"a":2}\n{"a":"x"}', '1\n2\nx\n'],
  ['halt', '1', ''],
])('%s of %s', async (program, json, expected) => {
  if (program === '--help') {
    // Not jq's help: a program, and one that makes no sense.
    await expect(openJq(program, PIPE)).rejects.toThrow('help/0 is not defined');
    return;
  }
  expect(await filter(program, json)).toBe(expected);
});

test('numbers that nobody calculates with keep their value to the last digit', async () => {
  const jq = await openJq('.n', PIPE);
  for (const number of EXACT_NUMBERS) {
    const digits = (text: string) =>
      text
        .trim()
        .replace(/[eE].*$/, '')
        .replace(/[^1-9]/g, '');
    expect(digits(jq.filter(`{"n":${number}}`)), number).toBe(digits(number));
  }
  expect(jq.filter('{"n":12345678901234567890}')).toBe('12345678901234567890\n');
  expect(jq.filter('{"n":0.1234567890123456789012345}')).toBe('0.1234567890123456789012345\n');
});

describe("jq's own message, as a usage error", () => {
  const failure = async (program: string, json?: string): Promise<FleetError> => {
    try {
      const jq = await openJq(program, PIPE);
      if (json !== undefined) jq.filter(json);
    } catch (error) {
      return error as FleetError;
    }
    throw new Error('nothing was thrown');
  };

  test.each([
    ['.[', 'syntax error, unexpected end of file'],
    ['nonsense', 'nonsense/0 is not defined'],
    ['import "x" as x; .', 'module not found'],
    ['$x', '$x is not defined'],
  ])('%s does not compile, which is found before it is fed', async (program, words) => {
    const error = await failure(program);
    expect(error.kind).toBe('usage');
    expect(error.message).toContain(words);
    expect(error.message).not.toContain('\n');
  });

  test.each([
    ['.a.b', '{"a":1}', 'Cannot index number with string ("b")'],
    ['@foo', '1', 'foo is not a valid format'],
    ['error("so not")', '1', 'so not'],
    ['.a', '"x" {"a":1}', 'Cannot index string with'],
    ['"own words\n"|halt_error', '1', 'own words'],
    ['""|halt_error(3)', '1', 'status 3'],
    ['.', '{"a"', 'Unfinished JSON term'],
  ])('%s of %s fails while it runs', async (program, json, words) => {
    const error = await failure(program, json);
    expect(error.kind).toBe('usage');
    expect(error.message).toContain(words);
  });

  test('any program is one or a usage error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom(...NAUGHTY)), async (program) => {
        try {
          await openJq(program, PIPE);
        } catch (error) {
          expect(error).toBeInstanceOf(FleetError);
          expect((error as FleetError).kind).toBe('usage');
        }
      }),
      { numRuns: 50 },
    );
  });
});

test('one jq takes many inputs, also after one that failed', async () => {
  const jq = await openJq('.a + 1', PIPE);
  for (let number = 0; number < 200; number += 1) {
    if (number % 50 === 0) expect(() => jq.filter('{"a":{}}')).toThrow('cannot be added');
    expect(jq.filter(`{"a":${number}}`)).toBe(`${number + 1}\n`);
  }
});

test('what the program says by debug goes where it is told', async () => {
  const said: string[] = [];
  const jq = await openJq('.a | debug', { terminal: false, say: (line) => said.push(line) });
  expect(jq.filter('{"a":1}')).toBe('1\n');
  expect(said).toEqual(['["DEBUG:",1]']);
});

describe('item by item', () => {
  test.each([
    ['.[] | .a'],
    [' .[]|.a, .b'],
    ['.[] | select(.a > 1) | [.a, .b] | @csv'],
    ['.[] | . as {$a} | $a'],
    ['.[] | def f: .b; f'],
    ['.[] | (.a, .b) // "none"'],
    ['.[] | path(.a)'],
    ['.[] | first(.a, .b)'],
    ['.[]\n|\n{a}'],
  ])('%j makes the same of the items as of the array', async (program) => {
    const items = ['{"a":1,"b":"x"}', '{"a":2,"b":null}', '{"a":null,"b":[3]}'];
    const jq = await openJq(program, PIPE);
    expect(jq.filterItems?.(items.join('\n'))).toBe(jq.filter(`[${items.join(',')}]`));
    expect(jq.filterItems?.('')).toBe('');
  });

  test.each([
    ['length'],
    ['.'],
    ['.[] |= .a'],
    ['.[0] | .a'],
    ['.[]'],
    ['.[] | input'],
    ['.[] | halt'],
    ['[.[] | .a]'],
    ['.[]? | .a'],
  ])('%s takes the array', async (program) => {
    expect((await openJq(program, PIPE)).filterItems).toBeUndefined();
  });
});

test('the built program finds jq as well', () => {
  const program = fileURLToPath(new URL('../../bin/fleet.js', import.meta.url));
  const env = { PATH: process.env['PATH'], FLEET_CONFIG_DIR: '/nonexistent/fleet-tests' };
  const run = spawnSync(process.execPath, [program, 'config', 'list', '--jq', 'length > 3'], { env, encoding: 'utf8' });
  expect(run).toMatchObject({ status: 0, stdout: 'true\n', stderr: '' });
});

describe('text from the service', () => {
  test.each(NAUGHTY.map((name) => [name]))('%j goes into a pipe exactly', async (name) => {
    // Half a surrogate pair is no text: jq makes it U+FFFD.
    expect(await filter('.name', JSON.stringify({ name }))).toBe(`${name.replace(/\p{Cs}/gu, '\ufffd')}\n`);
  });

  test.each([
    ['"\\ud83d\\udc4d"', '👍\n'],
    ['"a\\ud83d"', 'a\ufffd\n'],
    ['"\\udc4d\\ud83d\\ud83d\\udc4d"', '\ufffd\ufffd👍\n'],
    ['"\\\\ud83d"', '\\ud83d\n'],
    ['"\\\\\\ud83d\\n"', '\\\ufffd\n\n'],
  ])('%s is %j', async (json, expected) => {
    expect(await filter('.', json)).toBe(expected);
  });

  test.each(HOSTILE.map((name) => [name]))('%j steers no terminal, raw or in JSON', async (name) => {
    for (const program of ['.name', '.']) {
      const jq = await openJq(program, { terminal: true });
      const text = jq.filter(JSON.stringify({ name })).replace(/[\n\t]/g, '');
      expect(findControls(text)).toEqual([]);
    }
  });

  test('objects are laid out for people', async () => {
    const jq = await openJq('.', { terminal: true });
    expect(jq.filter('{"a":[1,{"b":1.50}]}')).toBe('{\n  "a": [\n    1,\n    {\n      "b": 1.50\n    }\n  ]\n}\n');
  });
});
