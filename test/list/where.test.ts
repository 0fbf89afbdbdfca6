// Tests conditions of --where: parsing, errors, matching, and `bicycles list --where` over real
// sockets.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ALERT } from '../../src/api/alert.js';
import { BICYCLE } from '../../src/api/bicycle.js';
import { FleetError } from '../../src/errors.js';
import { readExact } from '../../src/json/exact.js';
import { checkCondition, matches, OPERATORS, parseCondition } from '../../src/list/where.js';
import { openTimeZone } from '../../src/system/time-zone.js';
import { anyText, NAUGHTY } from '../support/naughty.js';
import { runFleet } from '../support/run.js';
import { openServer, sendPart } from '../support/server.js';

const NOW = { ms: Date.parse('2026-03-01T12:00:00Z'), zone: openTimeZone('UTC') };

function meets(condition: string, json: string): boolean {
  return matches(parseCondition(condition), readExact(json), NOW);
}

describe('parsing the conditions of --where', () => {
  test.each([
    ['state=lost', 'state', '=', 'lost'],
    ['state != lost', 'state', '!=', 'lost'],
    ['  state_of_charge <= 20 ', 'state_of_charge', '<=', '20'],
    ['latest_gps_timestamp<-2h', 'latest_gps_timestamp', '<', '-2h'],
    ['extra.location.type=Point', 'extra.location.type', '=', 'Point'],
    ['name~a = b', 'name', '~', 'a = b'],
    ['name=', 'name', '=', ''],
    ['name= =1+1', 'name', '=', '=1+1'],
    ['my field>=x', 'my field', '>=', 'x'],
    ['name=two\nlines', 'name', '=', 'two\nlines'],
  ])('accepts the condition %j', (text, field, operator, value) => {
    expect(parseCondition(text)).toEqual({ text: text.trim(), field, operator, value });
  });

  test.each([
    ['', 'a condition must be FIELD, then one of'],
    ['state', 'a condition must be FIELD, then one of'],
    ['=lost', 'a condition must be FIELD, then one of'],
    ['state!lost', 'a condition must be FIELD, then one of'],
    ['state==lost', 'a condition must be FIELD, then one of'],
    ['name=~Ber', 'a condition must be FIELD, then one of'],
    ['state_of_charge=<20', 'a condition must be FIELD, then one of'],
    ['state_of_charge<', 'a condition must be'],
  ])('rejects the condition %j', (text, words) => {
    expect(() => parseCondition(text)).toThrow(words);
  });

  const field = fc.stringMatching(/^[a-z_][a-z0-9_.]{0,12}[a-z0-9_]$/);
  const value = anyText({ minLength: 1, maxLength: 20 }).map((text) => text.trim());

  test('ignores spaces around the operator (property-based)', () => {
    fc.assert(
      fc.property(field, fc.constantFrom(...OPERATORS), value, (name, operator, right) => {
        fc.pre(right !== '');
        expect(parseCondition(`${name} ${operator} ${right}`)).toMatchObject({
          field: name,
          operator,
          value: right,
        });
      }),
    );
  });

  test('parses any string as a condition or reports a usage error (property-based)', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), anyText(), fc.constantFrom(...NAUGHTY)),
        fc.json(),
        (text, json) => {
          try {
            const condition = parseCondition(text);
            checkCondition(condition, BICYCLE);
            expect(typeof matches(condition, JSON.parse(json), NOW)).toBe('boolean');
          } catch (error) {
            expect(error).toBeInstanceOf(FleetError);
            expect((error as FleetError).kind).toBe('usage');
          }
        },
      ),
    );
  });
});

describe('matching the conditions of --where', () => {
  test.each([
    // Numbers as numbers, also those in strings.
    ['c<20', '{"c":9}', true],
    ['c<20', '{"c":"9.5"}', true],
    ['c<20', '{"c":100}', false],
    ['c=20', '{"c":20.0}', true],
    ['c=20.50', '{"c":"20.5"}', true],
    ['c=2e1', '{"c":20}', true],
    ['c>-1', '{"c":-0.5}', true],
    ['c<20', '{"c":"abc"}', false],
    ['c<20', '{"c":""}', false],
    // A text of digits is compared as a text unless it is a number as JSON writes it.
    ['n=7', '{"n":"007"}', false],
    ['n=007', '{"n":"007"}', true],
    // Times as times.
    ['t<-2h', '{"t":"2026-03-01T09:59:59Z"}', true],
    ['t<-2h', '{"t":"2026-03-01T10:00:01Z"}', false],
    ['t>-1.5d', '{"t":"2026-02-28T12:00:00Z"}', true],
    ['t>=2026-03-01', '{"t":"2026-03-01T00:00:00.000001Z"}', true],
    ['t<2026-03-01T12:00:00+02:00', '{"t":"2026-03-01T10:00:00Z"}', false],
    ['t=2026-03-01T12:00:00+02:00', '{"t":"2026-03-01T10:00:00.000Z"}', true],
    ['t<-2h', '{"t":"yesterday"}', false],
    // Text.
    ['s=lost', '{"s":"lost"}', true],
    ['s=lost', '{"s":"Lost"}', false],
    ['s~LOS', '{"s":"lost"}', true],
    ['s~é', '{"s":"Cafe\u0301"}', true],
    ['s~', '{"s":0}', true],
    ['s<M', '{"s":"Ada"}', true],
    ['s=true', '{"s":true}', true],
    // Only != matches missing values and null.
    ['s=lost', '{}', false],
    ['s!=lost', '{}', true],
    ['s!=lost', '{"s":null}', true],
    ['s=null', '{"s":null}', true],
    ['s=null', '{}', true],
    ['s=null', '{"s":"null"}', false],
    ['s="null"', '{"s":"null"}', true],
    ['s="null"', '{"s":null}', false],
    ['s!=null', '{"s":null}', false],
    ['s!=null', '{"s":0}', true],
    ['s!=null', '{"s":"null"}', true],
    ['s!="null"', '{"s":"null"}', false],
    ['s<5', '{"s":null}', false],
    ['s~', '{"s":null}', false],
    ['s=', '{"s":""}', true],
    // Paths, lists and objects.
    ['e.l.type=Point', '{"e":{"l":{"type":"Point"}}}', true],
    ['e.l.coordinates.0>13', '{"e":{"l":{"coordinates":[13.4,52.5]}}}', true],
    ['lock.bat=low', '{"lock.bat":"low"}', true],
    ['roles=renter', '{"roles":["admin","renter"]}', true],
    ['roles!=renter', '{"roles":["admin","renter"]}', false],
    ['roles!=x', '{"roles":["admin"]}', true],
    ['e~Point', '{"e":{"type":"Point"}}', true],
    ['__proto__=x', '{"a":1}', false],
    ['constructor!=x', '{"a":1}', true],
  ])('evaluates %s for %s as %s', (condition, json, expected) => {
    expect(meets(condition, json)).toBe(expected);
  });

  test('compares numbers and numeric strings by value (property-based)', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), fc.boolean(), (a, b, asText) => {
        const json = `{"n":${asText ? `"${a}"` : a}}`;
        expect([meets(`n<${b}`, json), meets(`n>${b}`, json), meets(`n = ${b}`, json)]).toEqual([
          a < b,
          a > b,
          a === b,
        ]);
        expect([meets(`n<=${b}`, json), meets(`n>=${b}`, json), meets(`n!=${b}`, json)]).toEqual([
          a <= b,
          a >= b,
          a !== b,
        ]);
      }),
    );
  });
});

describe('typos in --where fields and values', () => {
  test.each([
    ['state=availble', 'did you mean "available"?'],
    ['state=Available', 'did you mean "available"?'],
    ['state!=', 'states: available'],
    ['stat=lost', 'did you mean "state"?'],
    ['state_of_chrage<20', 'did you mean "state_of_charge"?'],
    ['state_of_charge<20%', 'compares state_of_charge, which is a number, with "20%"'],
    ['latest_gps_timestamp<soon', 'which is a time, with "soon"'],
    ['created>31.02.2026', 'which is a time, with "31.02.2026"'],
    ['created>2024', 'which is a time, with "2024"'],
  ])('rejects %s', (text, words) => {
    expect(() => checkCondition(parseCondition(text), BICYCLE)).toThrow(FleetError);
    try {
      checkCondition(parseCondition(text), BICYCLE);
    } catch (error) {
      expect(`${(error as FleetError).message} ${(error as FleetError).hint}`).toContain(words);
    }
  });

  test.each([
    ['state=reserved'],
    ['firmware.version=2'],
    ['state_of_charge=unknown'],
    ['created~2024-01'],
  ])('accepts %s', (text) => {
    checkCondition(parseCondition(text), BICYCLE);
  });

  test('conditions on alerts accept only valid alert values', () => {
    expect(() => checkCondition(parseCondition('alert_type=lock.bat.lwo'), ALERT)).toThrow(
      'alert_type',
    );
    checkCondition(parseCondition('extra.state_of_charge<10'), ALERT);
  });
});

describe('`bicycles list --where`', () => {
  /** Three pages with two items each, with numbers in different spellings. */
  const ITEMS = [
    { uuid: 'a', state: 'lost', state_of_charge: 10 },
    { uuid: 'b', state: 'available', state_of_charge: '15.0' },
    { uuid: 'c', state: 'lost', state_of_charge: null },
    { uuid: 'd', state: 'lost', state_of_charge: 12, firmware: { version: '2.1' } },
    { uuid: 'e', state: 'retired' },
    { uuid: 'f', state: 'lost', state_of_charge: 99 },
  ];
  const fleet = async (items: readonly object[], ...args: string[]) => {
    const { env, asked } = await openServer((response, request) =>
      sendPart(response, request, items, 2),
    );
    const run = await runFleet(['bicycles', 'list', '-o', 'uuid', ...args], { env });
    return { ...run, asked: asked.length };
  };

  test.each(['state=lost,retired', 'state=lost or state=retired'])(
    'refuses %s and prints the command line that works',
    async (several) => {
      const { code, stderr } = await fleet(ITEMS, '--where', several);
      expect(code).toBe(2);
      expect(stderr).toContain('fleet bicycles list --state lost,retired');
    },
  );

  test('reports how many bicycles on the page match the condition', async () => {
    expect(await fleet(ITEMS, '--where', 'state=lost')).toEqual({
      code: 0,
      stdout: 'a\n',
      stderr: '1 of 2 bicycles on this page matches (6 in all). Every page: --all\n',
      asked: 1,
    });
  });

  test('a bicycle must match all conditions', async () => {
    const { stdout, stderr } = await fleet(
      ITEMS,
      '--all',
      '--where',
      'state=lost',
      '--where',
      'state_of_charge<20',
    );
    expect({ stdout, stderr }).toEqual({ stdout: 'a\nd\n', stderr: '' });
  });

  test('--limit counts only the bicycles that match', async () => {
    const { stdout, stderr, asked } = await fleet(ITEMS, '--limit', '2', '--where', 'state=lost');
    expect(stdout).toBe('a\nc\n');
    expect(stderr).toBe('Showing 2 bicycles. Everything: --all\n');
    expect(asked).toBeGreaterThanOrEqual(2);
    const both = await fleet(ITEMS, '--limit', '2', '--all', '--where', 'state=lost');
    expect(both.stderr).toBe('Showing 2 bicycles. Everything: remove --limit\n');
  });

  test('prints a notice when no bicycle matches', async () => {
    expect(await fleet(ITEMS, '--all', '--where', 'state=unrecoverable')).toMatchObject({
      code: 0,
      stdout: '',
      stderr:
        'No bicycles match: none of the 6 checked. Try fewer filters, or another --organization\n',
    });
  });

  test('suggests the column name for a misspelled column', async () => {
    const { code, stderr } = await fleet(ITEMS, '--all', '--where', 'charg<20');
    expect([code, stderr]).toEqual([2, expect.stringContaining('hint: did you mean "charge"? ')]);
  });

  test('rejects an unknown field before it prints anything', async () => {
    const { code, stdout, stderr } = await fleet(ITEMS, '--all', '--where', 'zone!=x');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('unknown field "zone"');
  });

  test('accepts an undocumented field that the service returns', async () => {
    expect((await fleet(ITEMS.slice(2), '--all', '--where', 'firmware.version=2.1')).stdout).toBe(
      'd\n',
    );
  });

  test.each(NAUGHTY.map((name) => [name]))('finds a bicycle with the name %j', async (name) => {
    const items = [
      { uuid: 'a', name: 'Berlin 0001 ' },
      { uuid: 'b', name },
    ];
    // Without quotes it means a missing value.
    const typed = name.trim() === 'null' ? '"null"' : name;
    const found = (await fleet(items, '--where', `name= ${typed}`)).stdout;
    // Half a surrogate pair cannot be sent: JSON.stringify can escape it, but a command line
    // cannot.
    expect(found).toBe(name.trim() === 'Berlin 0001' ? 'a\nb\n' : 'b\n');
    expect((await fleet(items, '--where', `name != ${typed}`)).stdout).toBe(
      found === 'b\n' ? 'a\n' : '',
    );
  });
});

test('finds accented text in any Unicode form', () => {
  const long = `${'x'.repeat(995)}Caf\u0065\u0301 Zo\u00EB`;
  for (const text of ['caf\u00E9 zoe\u0308', 'CAFE\u0301'])
    expect(matches(parseCondition(`x~${text}`), { x: long }, NOW)).toBe(true);
});
