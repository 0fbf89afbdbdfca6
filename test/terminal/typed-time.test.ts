// Times as people type them: a time without a zone is local.

import { describe, expect, test } from 'vitest';
import { openTimeZone } from '../../src/system/time-zone.js';
import { parseTypedTime, readTimeFlag } from '../../src/terminal/typed-time.js';

// The time is a Saturday, 11:49:45 in Berlin.
const NOW = { ms: Date.parse('2026-11-28T10:49:45Z'), zone: openTimeZone('Europe/Berlin') };

const read = (text: string, now = NOW) => {
  const ms = parseTypedTime(text)?.(now);
  return ms === undefined ? undefined : new Date(ms).toISOString();
};

describe('typed times', () => {
  test.each([
    ['2026-11-28 10:49:45', '2026-11-28T09:49:45.000Z'],
    ['2026-11-23 08:00', '2026-11-23T07:00:00.000Z'],
    ['2026-11-23T08:00', '2026-11-23T07:00:00.000Z'],
    ['2026-07-23 08:00', '2026-07-23T06:00:00.000Z'],
    ['2026-11-23 08:00:00.25', '2026-11-23T07:00:00.250Z'],
    ['2026-11-23', '2026-11-22T23:00:00.000Z'],
    ['23.11.2026', '2026-11-22T23:00:00.000Z'],
    ['1.3.2026', '2026-02-28T23:00:00.000Z'],
    ['23.11.2026 8:00', '2026-11-23T07:00:00.000Z'],
    ['2026-11-23T08:00:00Z', '2026-11-23T08:00:00.000Z'],
    ['2026-11-23 08:00:00+0200', '2026-11-23T06:00:00.000Z'],
    ['2026-11-23T08:00-05', '2026-11-23T13:00:00.000Z'],
    ['now', '2026-11-28T10:49:45.000Z'],
    ['today', '2026-11-27T23:00:00.000Z'],
    ['Yesterday', '2026-11-26T23:00:00.000Z'],
    ['yesterday 18:30', '2026-11-27T17:30:00.000Z'],
    ['saturday', '2026-11-27T23:00:00.000Z'],
    ['friday', '2026-11-26T23:00:00.000Z'],
    ['sunday', '2026-11-21T23:00:00.000Z'],
    ['monday 08:00', '2026-11-23T07:00:00.000Z'],
    ['2h', '2026-11-28T08:49:45.000Z'],
    ['-2h', '2026-11-28T08:49:45.000Z'],
    ['1w', '2026-11-21T10:49:45.000Z'],
    ['90s', '2026-11-28T10:48:15.000Z'],
    [' 1.5h ', '2026-11-28T09:19:45.000Z'],
  ])('accepts the time %s', (text, instant) => {
    expect(read(text)).toBe(instant);
  });

  test('handles days of 23 and 25 hours', () => {
    const monday = { ...NOW, ms: Date.parse('2026-10-26T11:00:00Z') };
    expect(read('yesterday', monday)).toBe('2026-10-24T22:00:00.000Z');
    expect(read('saturday', monday)).toBe('2026-10-23T22:00:00.000Z');
    // Just after midnight in Berlin it is still the day before in UTC.
    const midnight = { ...NOW, ms: Date.parse('2026-11-27T23:30:00Z') };
    expect(read('today', midnight)).toBe('2026-11-27T23:00:00.000Z');
  });
});

test.each([
  '31.02.2026',
  '2026-02-29',
  '2026-02-31T08:00:00Z',
  '2026-13-01',
  '2026-11-23 24:00',
  '2026-11-23 08:60',
  '23.11.26',
  'tomorrow-ish',
  'mondayish',
  '08:00',
  '2026-11-23 08:00 Berlin',
  '-',
  '',
  'x'.repeat(100_000),
])('rejects the time %j', (text) => {
  expect(parseTypedTime(text)).toBeUndefined();
});

test.each([
  ['31.02.2026', '--until: there is no such date as 31.02.2026'],
  ['soon', '--until must be a time, not "soon"'],
])('the error for %s mentions the flag', (text, message) => {
  expect(() => readTimeFlag('--until', text, NOW)).toThrow(message);
});
