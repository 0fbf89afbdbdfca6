// Tests that functions for texts of other programs take linear time. Otherwise a hostile name could
// block the program and its Ctrl-C.

import { expect, test } from 'vitest';
import { isUuid, wholeUuid } from '../src/api/links.js';
import { holdsSecret } from '../src/commands/api/secret-fields.js';
import { errorJson, errorLines } from '../src/errors.js';
import { answerFailure, readErrorBody } from '../src/http/failure.js';
import { redact, redactAddress, traceOf } from '../src/http/headers.js';
import { readJson } from '../src/http/json.js';
import { readRetryAfter } from '../src/http/retry.js';
import { foreignText, htmlTitle, isHtml } from '../src/http/server-text.js';
import { needsExactReading, readExact, writeJson } from '../src/json/exact.js';
import { parseJson } from '../src/json/parse.js';
import {
  findExcess,
  indent,
  propertyStart,
  readTokens,
  splitArray,
  splitProperty,
  squeeze,
} from '../src/json/text.js';
import { matches, parseCondition } from '../src/list/where.js';
import { hideJwts, openSecrets } from '../src/system/secrets.js';
import { MACHINE_ZONE } from '../src/system/time-zone.js';
import {
  hideInOutput,
  hideInSetting,
  hideTyped,
  holdsNamedSecret,
} from '../src/system/typed-secrets.js';
import { cut, pad, widthOf } from '../src/terminal/cells.js';
import { clean, cleanMultiline, escapeJson } from '../src/terminal/clean.js';
import { FORMATS, openRenderer, type Shape } from '../src/terminal/formats.js';
import { age } from '../src/terminal/time.js';
import { numberOf, readPath, textOf } from '../src/terminal/values.js';
import { ALERTS } from '../src/views/alert.js';
import { BICYCLES } from '../src/views/bicycle.js';
import { isLong } from './support/often.js';
import { NOW, rowsOf } from './support/rows.js';

const EPOCH = { ms: 0, zone: MACHINE_ZONE };

/**
 * Characters to repeat in a hostile text, one of each kind that patterns and segmenters
 * distinguish.
 */
const CHARACTERS: Readonly<Record<string, string>> = {
  space: ' ',
  tab: '\t',
  newline: '\n',
  less: '<',
  bracket: '[',
  brace: '{',
  quote: '"',
  backslash: '\\',
  'escaped quote': '\\"',
  ampersand: '&',
  entity: '&#',
  percent: '%',
  'encoded letter': '%41',
  'escape of a letter': '\\u',
  'start of a token': 'eyJhbGci',
  letter: 'a',
  digit: '1',
  dot: '.',
  equals: '=',
  'no-break space': '\u00a0',
  'regional indicator': '\u{1f1e9}',
  flag: '\u{1f1e9}\u{1f1ea}',
  'combining mark': '\u0301',
  'zero-width joiner': '\u200d',
  'variation selector': '\ufe0f',
  tag: '\u{e0067}',
  family: '\u{1f468}\u200d',
  ideograph: '自',
  arabic: '\u0646\u200c',
  override: '\u202e',
  escape: '\u001b[',
  nul: '\0',
  'half pair': '\ud83d',
  'no character': '\ufffe',
};

/** `npm run test:long` uses texts that are two hundred times as long. */
const SHORT = isLong ? 100_000 : 1_000;
const LONG = 10 * SHORT;
/**
 * The allowed factor for a text that is ten times as long. Linear growth is about 10 with much
 * noise, quadratic growth is 100.
 */
const GROWTH = 40;
const ROUNDS = 4;

/** A test limit for busy machines; quadratic functions are detected much earlier. */
const TEST_LIMIT_MS = 300_000;

function fill(character: string, length: number): string {
  return character.repeat(Math.ceil(length / character.length));
}

/** Returns milliseconds of processor time, which other programs do not increase. */
async function time(run: (text: string) => unknown, text: string): Promise<number> {
  const startedAt = process.cpuUsage();
  try {
    await run(text);
  } catch {
    // Rejecting a text is fine; only the time matters here.
  }
  return process.cpuUsage(startedAt).user / 1000;
}

/** Reads each character of a text a few times. */
function look(text: string): number {
  let sum = 0;
  for (let index = 0; index < 20 * text.length; index++)
    sum += text.charCodeAt(index % text.length) > 0x20 ? 1 : sum & 1;
  return sum;
}

/**
 * Times below that of reading a long text are noise. Takes the longest of several measurements,
 * after compilation.
 */
const NOISE_MS = await (async () => {
  let longest = 0;
  for (let round = 0; round < 20; round++) {
    const took = await time(look, fill(' ', LONG));
    if (round >= 10) longest = Math.max(longest, took);
  }
  return longest;
})();

/**
 * Returns the growth for ten times the text. Repeats a bad measurement and returns the smallest
 * one.
 */
async function growthOf(
  run: (text: string) => unknown,
  character: string,
  rounds = ROUNDS,
): Promise<number> {
  const [short, long] = [fill(character, SHORT), fill(character, LONG)];
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds && least > GROWTH; round++) {
    // Measure the long text first, so that both measurements use compiled code.
    const longTime = await time(run, long);
    least = Math.min(least, longTime / NOISE_MS);
    if (least > GROWTH)
      least = Math.min(least, longTime / Math.max(await time(run, short), NOISE_MS));
  }
  return least;
}

const answer = (text: string) => ({
  status: 200,
  headers: { 'content-type': text },
  text,
  bytes: Buffer.from(''),
  trace: {},
  milliseconds: 0,
});

const secrets = openSecrets();
for (const token of ['secret-token-of-a-test', ...[' ', '%', 'a'].map((one) => one.repeat(40))])
  secrets.add(token);

/** Escapes a text as in valid JSON. */
const quoted = (text: string) => JSON.stringify(text);

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  parseJson,
  findExcess: (text) => findExcess(text, 500, 1e9),
  'parseJson of a text': (text) => parseJson(quoted(text)),
  'parseJson of white space and lines': (text) => squeeze(`[${text.replace(/\S/g, '')}\n1]`),
  readTokens: (text) => [...readTokens(text)].length,
  squeeze: (text) => squeeze(`[\n${quoted(text)},${quoted(text)}]`),
  'squeeze of text that is not JSON': (text) => squeeze(`\n${text}`),
  'indent of a text': (text) => indent(`{${quoted(text)}:[${quoted(text)}]}`),
  'indent of text that is not JSON': (text) => indent(text),
  splitArray: (text) => splitArray(`[${text}`, 0),
  'splitArray of texts': (text) => splitArray(`[\n${quoted(text)},[${quoted(text)}]]`, 0),
  splitProperty: (text) =>
    splitProperty(`{${quoted(text)}:${quoted(text)},"results":[${quoted(text)}]}`, 0, ['results']),
  propertyStart: (text) =>
    propertyStart(`{${quoted(text)}:${quoted(text)},"results":[]}`, 0, 'results'),
  needsExactReading,
  'readExact and writeJson': (text) =>
    writeJson(readExact(`{${quoted(text)}:[1.50,${quoted(text)}]}`)),
  readJson: (text) => readJson(answer(text)),
  'readJson of a page': (text) => readJson(answer(`<html><title ${text}>${text}</title`)),
  readErrorBody: (text) => readErrorBody(text),
  'readErrorBody of a page': (text) => readErrorBody(`<html><title>${text}`, 'text/html'),
  'readErrorBody of fields': (text) =>
    readErrorBody(`{"detail":{${quoted(text)}:[${quoted(text)}]}}`),
  'readErrorBody of a problem': (text) =>
    readErrorBody(`{"title":${quoted(text)},"status":1,"errors":[{}]}`, text),
  answerFailure: (text) =>
    errorLines(answerFailure(500, { 'content-type': text, location: text }, text)),
  'answerFailure of a redirect': (text) =>
    errorJson(
      answerFailure(301, { location: text }, text, 'x', { url: new URL('http://x/') }),
      secrets.hide,
    ),
  hideJwts,
  'hiding secrets': (text) => secrets.hide(text),
  'hiding secrets in part': (text) => secrets.hide(`secret-t${text}`),
  foreignText: (text) => foreignText(text),
  htmlTitle: (text) => htmlTitle(text),
  'htmlTitle of tags': (text) => htmlTitle(`<title>${text}</title>`),
  isHtml: (text) => isHtml(text, text),
  traceOf: (text) => traceOf({ [`x-${text}-requestid`]: text, [text]: text }),
  redact: (text) => redact({ [text]: text }),
  redactAddress: (text) => redactAddress(`?token=${text}`),
  'redactAddress of a user name': (text) => redactAddress(`//${text}`),
  hideTyped: (text) => hideTyped([text])(text),
  hideInOutput,
  hideInSetting,
  holdsNamedSecret,
  holdsSecret: (text) => holdsSecret([], text),
  readRetryAfter: (text) => readRetryAfter(text, 0),
  clean,
  cleanMultiline,
  escapeJson,
  widthOf: (text) => widthOf(clean(text)),
  'widthOf what was not cleaned': widthOf,
  cut: (text) => cut(clean(text), 80),
  'cut of what was not cleaned': (text) => cut(text, 1000),
  pad: (text) => pad(text, 80),
  age: (text) => age(text, NOW),
  'age behind a time': (text) => age(`2026-03-01T11:57:00.${text}`, NOW),
  numberOf,
  textOf: (text) => textOf({ [text]: [text] }),
  'readPath of a name that is not there': (text) => readPath({ a: { a: 1 } }, text),
  isUuid,
  wholeUuid,
  'wholeUuid of a slash': (text) => wholeUuid(`${text}//`),
  'conditions of --where': (text) => {
    for (const condition of [
      '=a',
      '!=a',
      '=5',
      '<5',
      '>=1e3',
      '~a',
      '<-2h',
      '=2026-03-01T12:00:00Z',
      '=null',
    ])
      matches(parseCondition(`x${condition}`), { x: text }, EPOCH);
  },
  'conditions behind a time': (text) =>
    matches(parseCondition('x<-2h'), { x: `2026-03-01${text}` }, EPOCH),
};

/** Returns the characters for which a function takes more than linear time. */
async function findGrowth(
  run: (text: string) => unknown,
  characters = Object.entries(CHARACTERS),
): Promise<string[]> {
  const found: string[] = [];
  for (const [name, character] of characters) {
    const growth = await growthOf(run, character);
    if (growth > GROWTH) found.push(`${name}: ${growth.toFixed(0)} times the time`);
  }
  return found;
}

test('compares names with many unordered accents in linear time', async () => {
  // Unicode normalization sorts the accents of a letter, which takes about 10 s for this name.
  const name = `a${'\u0301\u0323'.repeat(80_000)}`;
  const condition = parseCondition('name~b');
  expect(await time(() => matches(condition, { name }, EPOCH), name)).toBeLessThan(1_000);
});

test.each(Object.entries(READERS))(
  'runs in linear time: %s',
  async (_name, run) => {
    expect(await findGrowth(run)).toEqual([]);
  },
  TEST_LIMIT_MS,
);

// With a million characters this would take a quarter of an hour.
test.skipIf(LONG > 100_000)('the measurement detects quadratic growth', async () => {
  // The text is three times as long, so that the short one takes longer than the noise of a busy
  // machine.
  expect(await growthOf((text) => /\s+$/.test(`${text.repeat(3)}x`), ' ', 1)).toBeGreaterThan(
    GROWTH,
  );
});

const SCREENS = FORMATS.flatMap((format) => [
  { name: `${format} in a pipe`, format, width: undefined, half: 0 },
  { name: `${format} on a terminal`, format, width: 100, half: 1 },
]);

/**
 * Every format is tested with all characters, half of them in a pipe and half on a terminal; the
 * long run tests all on both.
 */
const charactersOf = (half: number) =>
  Object.entries(CHARACTERS).filter((_, index) => isLong || index % 2 === half);

test.each(SCREENS)(
  'runs in linear time for the format $name',
  async ({ format, width, half }) => {
    const options = { terminal: width !== undefined, width, colorLevel: 0, now: NOW } as const;
    const draw = async <T>(shape: Shape<T>, values: readonly unknown[]) => {
      const renderer = await openRenderer(format, shape, options);
      renderer.rows(rowsOf<T>(values));
    };
    const growth = await findGrowth(async (text) => {
      // A documented field, an unknown one, and a row without it.
      const row = { uuid: text, name: text, message: text, latitude: 1, longitude: 2 };
      await draw(BICYCLES, [row]);
      if (format !== 'geojson') {
        await draw(ALERTS, [row]);
        await draw(ANYTHING, [{ [text]: text }, { a: text }]);
      }
    }, charactersOf(half));
    expect(growth).toEqual([]);
  },
  TEST_LIMIT_MS,
);

const ANYTHING: Shape<object> = { noun: { one: 'item', many: 'items' }, columns: [], fields: [] };
