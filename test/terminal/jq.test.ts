// Tests `--jq` with the real jq: exact numbers, raw strings, errors, many inputs and terminals.

import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { FleetError } from '../../src/errors.js';
import { type JqOptions, openJq as openForGood } from '../../src/terminal/jq/open.js';
import type { Jq, JqResult } from '../../src/terminal/jq/results.js';
import { openQuickClock } from '../support/fast-clock.js';
import { keepJq } from '../support/jq.js';
import { EXACT_NUMBERS, findControls, HOSTILE, NAUGHTY } from '../support/naughty.js';
import { isLong, mostly } from '../support/often.js';
import { refusal } from '../support/refusal.js';

const PIPE = { terminal: false };

/** `npm run test:long` tests many more programs. Each program starts a thread. */
const RANDOM_PROGRAMS = isLong ? 500 : 4;

keepJq();

const opened: Jq[] = [];

/** Each jq has a thread, which outlives its test unless the test closes it. */
async function openJq(program: string, options: JqOptions): Promise<Jq> {
  const jq = await openForGood(program, options);
  opened.push(jq);
  return jq;
}

afterAll(async () => {
  for (const jq of opened) await jq.close();
});

async function filter(program: string, json: string, options: JqOptions = PIPE): Promise<string> {
  const jq = await openJq(program, options);
  try {
    return textOf(await jq.run([json]));
  } finally {
    await jq.close();
  }
}

/** Returns the text of the results. Throws the first error. */
function textOf(results: readonly JqResult[]): string {
  for (const { error } of results) if (error !== undefined) throw error;
  return results.map(({ text }) => text).join('');
}

test.each([
  ['.[] | select(.c < 20) | .u', '[{"u":"x","c":5},{"u":"y","c":50}]', 'x\n'],
  ['.a, .b', '{"a":"","b":"  two\\nlines\\t"}', '\n  two\nlines\t\n'],
  ['empty', '1', ''],
  ['-1', '0', '-1\n'],
])('applies %s to %s', async (program, json, expected) => {
  expect(await filter(program, json)).toBe(expected);
});

test('keeps all digits of numbers that the jq program does not change', async () => {
  const jq = await openJq('.n', PIPE);
  for (const number of EXACT_NUMBERS) {
    const digits = (text: string) =>
      text
        .trim()
        .replace(/[eE].*$/, '')
        .replace(/[^1-9]/g, '');
    expect(digits(textOf(await jq.run([`{"n":${number}}`]))), number).toBe(digits(number));
  }
  expect(textOf(await jq.run(['{"n":12345678901234567890}']))).toBe('12345678901234567890\n');
  expect(textOf(await jq.run(['{"n":0.1234567890123456789012345}']))).toBe(
    '0.1234567890123456789012345\n',
  );
});

describe('errors in jq programs are usage errors', () => {
  test.each([
    ['.[', /^.*syntax error, unexpected end of file.*$/],
    ['import "x" as x; .', /^.*module not found.*$/],
    // The arguments are a jq program, and an invalid program: jq does not print its help.
    ['--help', /^.*help\/0 is not defined.*$/],
  ])('rejects the invalid program %s before reading any input', async (program, words) => {
    await expect(openJq(program, PIPE)).rejects.toMatchObject(refusal('usage', words));
  });

  test.each([
    ['.a.b', '{"a":1}', /Cannot index number with string \("b"\)/],
    ['.a', '"x" {"a":1}', /Cannot index string with/],
    ['"own words\n"|halt_error', '1', /own words/],
    ['""|halt_error(3)', '1', /status 3/],
    ['.', '{"a"', /Unfinished JSON term/],
  ])('reports the error when %s fails for %s', async (program, json, words) => {
    await expect(filter(program, json)).rejects.toMatchObject(refusal('usage', words));
  });

  test('either compiles a jq program or reports a usage error (property-based)', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom(...NAUGHTY)),
        async (program) => {
          const error = await openForGood(program, PIPE).then(
            (jq) => jq.close(),
            (thrown) => thrown,
          );
          if (error !== undefined) expect(error).toMatchObject({ kind: 'usage' });
        },
      ),
      { numRuns: RANDOM_PROGRAMS },
    );
  });
});

describe.concurrent('one item per jq run', () => {
  const ITEMS = ['{"a":1}', '{"a":{}}', '{"a":3}'];

  test('continues with the next item when the jq program fails', async () => {
    const jq = await openJq('.a + 1', PIPE);
    const results = await jq.run(ITEMS);
    expect(results.map(({ text }) => text)).toEqual(['2\n', '', '4\n']);
    expect(results.map(({ error }) => error?.kind)).toEqual([undefined, 'usage', undefined]);
    expect(results[1]?.error?.message).toContain('cannot be added');
    expect(results[1]?.error?.hint).toContain('{"a":{}}');
  });

  test.each([
    ['"\\(input)"', 'there is no further input'],
    ['[inputs] | length', undefined],
  ])('the program %s cannot read other items', async (program, words) => {
    const jq = await openJq(program, PIPE);
    for (const { text, error } of await jq.run(ITEMS)) {
      expect(error?.message.includes(words ?? '')).toBe(words === undefined ? undefined : true);
      expect(text.split('\n').length).toBeLessThan(3);
    }
  });

  test('`halt` ends the jq program only for the current item', async () => {
    const jq = await openJq('if .a == 1 then halt else "went on" end', PIPE);
    expect((await jq.run(ITEMS)).map(({ text }) => text)).toEqual(['', 'went on\n', 'went on\n']);
  });

  test.each([
    ['.a # a comment'],
    ['.a # one that goes on \\'],
    ['label $out | .a, break $out'],
    ['try error(null) catch .a'],
  ])('%s prints the same output in a batch and item by item', async (program) => {
    const jq = await openJq(program, PIPE);
    const batch = await jq.run(ITEMS);
    for (const [index, item] of ITEMS.entries()) {
      const [single] = await jq.run([item]);
      expect(batch[index]?.text).toBe(single?.text);
      expect(batch[index]?.error?.message).toBe(single?.error?.message);
    }
  });

  test('reports any error value that the jq program raises', async () => {
    const jq = await openJq(
      'if . == 1 then error(null) elif . == 2 then error({a: 1}) else error end',
      PIPE,
    );
    for (const { error } of await jq.run(['1', '2', '"x"', '[1]']))
      expect(error?.message).toMatch(/^--jq: ./);
  });
});

/** The half second of a run after the signal is shorter here. */
const HASTY: JqOptions = { ...PIPE, clock: openQuickClock(10) };

describe.concurrent('a jq program that never ends', () => {
  const ENDLESS = [
    'def f: f; f',
    'last(range(1e18))',
    'repeat(empty)',
    '[limit(1e9; repeat(1))] | empty',
  ];
  test.each(mostly(ENDLESS, (_, index) => index < 2))(
    'stops %s after a signal',
    async (program) => {
      const jq = await openJq(program, HASTY);
      const ending = new AbortController();
      const run = jq.run(['1'], ending.signal);
      setTimeout(() => ending.abort(new FleetError('interrupted', 'interrupted')), 50);
      await expect(run).rejects.toMatchObject({ kind: 'interrupted' });
      await jq.close();
    },
  );

  test('an abort signal stops all waiting jq programs', async () => {
    const jq = await openJq('if . == 1 then last(range(1e18)) else . end', HASTY);
    const ending = new AbortController();
    const runs = Promise.allSettled([1, 1, 1].map((item) => jq.run([`${item}`], ending.signal)));
    ending.abort(new Error('over'));
    expect((await runs).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(textOf(await jq.run(['2']))).toBe('2\n');
    await jq.close();
  });

  test('a short jq program completes even after the abort signal', async () => {
    const ending = new AbortController();
    const jq = await openJq('. + 1', { ...PIPE, signal: ending.signal });
    expect(textOf(await jq.run(['1']))).toBe('2\n');
    ending.abort(new Error('over'));
    expect(textOf(await jq.run(['2']))).toBe('3\n');
    await jq.close();
  });
});

test('continues with the next item when a jq program exceeds the output limit', {
  timeout: 120_000,
}, async () => {
  const jq = await openJq('if . == 1 then repeat("x" * 100000) else . end', PIPE);
  const [endless, next] = await jq.run(['1', '2']);
  expect(endless?.error?.message).toContain('writes more than 64 MB');
  expect(next).toEqual({ text: '2\n', error: undefined });
  await jq.close();
});

test('reuses one jq process for many inputs, even after an error', async () => {
  const jq = await openJq('.a + 1', PIPE);
  for (let number = 0; number < 40; number += 1) {
    if (number % 10 === 0)
      expect((await jq.run(['{"a":{}}']))[0]?.error?.message).toContain('cannot be added');
    expect(textOf(await jq.run([`{"a":${number}}`]))).toBe(`${number + 1}\n`);
  }
});

test('passes the output of `debug` to the caller', async () => {
  const said: string[] = [];
  const jq = await openJq('.a | debug', { terminal: false, say: (line) => said.push(line) });
  expect(textOf(await jq.run(['{"a":1}']))).toBe('1\n');
  expect(said).toEqual(['["DEBUG:",1]']);
});

describe.concurrent('item-by-item processing', () => {
  const PROGRAMS = [
    '.[] | .a',
    ' .[]|.a, .b',
    '.[] | select(.a > 1) | [.a, .b] | @csv',
    '.[] | (.a, .b) // "none"',
    '.[] | . as {$a} | $a',
    '.[] | def f: .b; f',
    '.[] | path(.a)',
    '.[] | first(.a, .b)',
    '.[]\n|\n{a}',
  ];
  test.each(mostly(PROGRAMS, (_, index) => index < 4))(
    '%j prints the same output for single items and for the array',
    async (program) => {
      const items = ['{"a":1,"b":"x"}', '{"a":2,"b":null}', '{"a":null,"b":[3]}'];
      const jq = await openJq(program, PIPE);
      expect(textOf((await jq.runItems?.(items)) ?? [])).toBe(
        textOf(await jq.run([`[${items.join(',')}]`])),
      );
      expect(await jq.runItems?.([])).toEqual([]);
    },
  );

  test.each([['length'], ['.[] |= .a'], ['.[] | input'], ['[.[] | .a]']])(
    '%s needs the whole array',
    async (program) => {
      expect((await openJq(program, PIPE)).runItems).toBeUndefined();
    },
  );
});

/** Half a surrogate pair is not text, and jq reports an error. */
function isText(name: string): boolean {
  return !/\p{Cs}/u.test(name);
}

describe('text from the service', () => {
  /** Returns the result of a program for each name, in one run of jq. */
  async function filterNames(
    program: string,
    names: readonly string[],
    options: JqOptions,
  ): Promise<string[]> {
    const jq = await openJq(program, options);
    const results = await jq.run(names.map((name) => JSON.stringify({ name })));
    await jq.close();
    return results.map((result) => textOf([result]));
  }

  test('text from the service is written unchanged to a pipe', async () => {
    const names = NAUGHTY.filter(isText);
    expect(await filterNames('.name', names, PIPE)).toEqual(names.map((name) => `${name}\n`));
  });

  test.each([['.name'], ['.']])('hostile text is escaped on a terminal by %s', async (program) => {
    const texts = await filterNames(program, HOSTILE.filter(isText), { terminal: true });
    expect(texts.flatMap((text) => findControls(text.replace(/[\n\t]/g, '')))).toEqual([]);
  });

  test('a jq result is printed as an indented object on a terminal', async () => {
    expect(await filter('.', '{"a":[1,{"b":1.50}]}', { terminal: true })).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": 1.50\n    }\n  ]\n}\n',
    );
  });
});
