// Tests ages, times for programs and typed durations.

import { describe, expect, it } from 'vitest';
import { FleetError } from '../../src/errors.js';
import { age, parseDuration, readTime, showDuration, toIso } from '../../src/terminal/time.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');

describe('age', () => {
  it.each([
    ['2026-03-01T12:00:00Z', 'just now'],
    ['2026-03-01T11:59:56Z', 'just now'],
    ['2026-03-01T11:59:18Z', '42 s ago'],
    ['2026-03-01T11:59:18.123456Z', '41 s ago'],
    ['2026-03-01T11:57:00Z', '3 min ago'],
    ['2026-03-01T13:57:00+02:00', '3 min ago'],
    ['2026-03-01T13:57:00+0200', '3 min ago'],
    ['2026-03-01T11:57:00', '3 min ago'],
    ['2026-03-01 11:57:00', '3 min ago'],
    ['2026-03-01T07:00:00Z', '5 h ago'],
    ['2026-02-17T11:00:00Z', '12 d ago'],
    ['2026-02-17', '12 d ago'],
    ['2026-03-01T12:03:00Z', 'in 3 min'],
    ['2026-03-01T12:00:03Z', 'just now'],
    ['yesterday', '-'],
    ['2026-13-45T99:00:00Z', '-'],
    ['', '-'],
    [null, '-'],
    [undefined, '-'],
    [1_770_000_000, '-'],
    [{ seconds: 1 }, '-'],
  ])('the age of %j is shown as %s', (iso, expected) => {
    expect(age(iso, NOW)).toBe(expected);
  });

  it('treats a time without an offset as UTC, regardless of the local time zone', () => {
    expect(readTime('2026-03-01T12:00:00')).toBe(NOW);
  });
});

it.each([
  ['2026-03-01T11:59:18.123456Z', '2026-03-01T11:59:18.123456Z'],
  ['2026-03-01T13:57:00+02:00', '2026-03-01T13:57:00+02:00'],
  ['not a time\u001b', 'not a time␛'],
  [null, '-'],
])('toIso converts %j to %s', (value, expected) => {
  expect(toIso(value)).toBe(expected);
});

describe('parseDuration', () => {
  it.each([
    ['200ms', 200],
    ['90s', 90_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1.5h', 5_400_000],
    ['0s', 0],
  ])('reads the duration %s as %d ms', (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(['', '5', '5 minutes', '-5s', 's', '1e3s', 'Infinitys', '99999999999999999d'])(
    'rejects %j',
    (text) => {
      expect(() => parseDuration(text, '--for')).toThrow(FleetError);
      expect(() => parseDuration(text, '--for')).toThrow(
        `--for must be a number with a unit, not "${text}"`,
      );
    },
  );
});

it.each([
  [0, '0 ms'],
  [200, '200 ms'],
  [999.6, '1 s'],
  [42_000, '42 s'],
  [185_000, '3 min 5 s'],
  [180_000, '3 min'],
  [7_500_000, '2 h 5 min'],
  [7_201_000, '2 h'],
  [97_200_000, '1 d 3 h'],
])('shows a duration of %d ms as %s', (milliseconds, expected) => {
  expect(showDuration(milliseconds)).toBe(expected);
});
