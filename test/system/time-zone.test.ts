// Time zones: offsets, local times, skipped and repeated hours.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  canonicalTimeZone,
  instantOf,
  localTimeAt,
  openTimeZone,
  showClock,
  showLocalTime,
  startOfDay,
} from '../../src/system/time-zone.js';

const BERLIN = openTimeZone('Europe/Berlin');

const at = (text: string) => {
  const [date = '', clock = '0:0'] = text.split(' ');
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  const [hour = 0, minute = 0, second = 0] = clock.split(':').map(Number);
  return { year, month, day, hour, minute, second, millisecond: 0 };
};

test.each([
  ['Europe/Berlin', '2026-01-15T12:00:00Z', 60],
  ['Europe/Berlin', '2026-07-15T12:00:00Z', 120],
  ['America/New_York', '2026-01-15T12:00:00Z', -300],
  ['Asia/Kathmandu', '2026-01-15T12:00:00Z', 345],
  ['Australia/Lord_Howe', '2026-01-15T12:00:00Z', 660],
  ['Pacific/Kiritimati', '2026-01-15T12:00:00Z', 840],
  ['UTC', '2026-01-15T12:00:00Z', 0],
])('the UTC offset of %s at %s is %i minutes', (name, instant, offset) => {
  expect(openTimeZone(name).offsetMinutes(Date.parse(instant))).toBe(offset);
});

test('the UTC offset changes at the exact second of the clock change', () => {
  expect(showClock(Date.parse('2026-03-29T00:59:59Z'), BERLIN)).toBe('01:59:59');
  expect(showClock(Date.parse('2026-03-29T01:00:00Z'), BERLIN)).toBe('03:00:00');
  expect(showClock(Date.parse('2026-10-25T00:59:59Z'), BERLIN)).toBe('02:59:59');
  expect(showClock(Date.parse('2026-10-25T01:00:00Z'), BERLIN)).toBe('02:00:00');
});

test('the local time in the time zone of the machine matches Date', () => {
  const ms = Date.parse('2026-07-15T12:34:56Z');
  const date = new Date(ms);
  expect(localTimeAt(ms, openTimeZone(undefined))).toMatchObject({
    day: date.getDate(),
    hour: date.getHours(),
    minute: date.getMinutes(),
  });
});

describe('local times', () => {
  test.each([
    ['an ordinary time', '2026-11-23 08:00', '2026-11-23T07:00:00Z'],
    ['a time in summer', '2026-07-23 08:00', '2026-07-23T06:00:00Z'],
    ['the first of a repeated hour', '2026-10-25 02:30', '2026-10-25T00:30:00Z'],
    ['an hour later than a skipped time', '2026-03-29 02:30', '2026-03-29T01:30:00Z'],
    ['the hour after the skipped one', '2026-03-29 03:00', '2026-03-29T01:00:00Z'],
  ])('converts the local time %s to an instant', (_what, local, instant) => {
    expect(new Date(instantOf(at(local), BERLIN)).toISOString()).toBe(
      new Date(instant).toISOString(),
    );
  });

  test('parses an unambiguous printed local time to the original instant', () => {
    const zones = [
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Pacific/Apia',
      'UTC',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(1980, 0), max: Date.UTC(2037, 0) }),
        (name, instant) => {
          const zone = openTimeZone(name);
          const wholeSeconds = Math.floor(instant / 1000) * 1000;
          const read = instantOf(at(showLocalTime(wholeSeconds, zone)), zone);
          // A repeated time is read as the first one.
          expect(showLocalTime(read, zone)).toBe(showLocalTime(wholeSeconds, zone));
          expect(read).toBeLessThanOrEqual(wholeSeconds);
          expect(wholeSeconds - read).toBeLessThanOrEqual(3 * 3_600_000);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

test.each([
  ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00.000Z'],
  ['Europe/Berlin', '2026-10-26', '2026-10-25T23:00:00.000Z'],
  // Midnight is skipped: the day begins at 01:00.
  ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z'],
  ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z'],
  // Midnight occurs twice.
  ['America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z'],
])('in the time zone %s, the day %s begins at %s', (name, date, instant) => {
  expect(new Date(startOfDay(at(date), openTimeZone(name))).toISOString()).toBe(instant);
});

test.each([
  ['europe/berlin', 'Europe/Berlin'],
  ['utc', 'UTC'],
  ['Asia/Kolkata', 'Asia/Kolkata'],
  ['Mars/Olympus', undefined],
  ['+02:00', undefined],
  ['', undefined],
])('resolves the zone %j to %j', (text, name) => {
  expect(canonicalTimeZone(text)).toBe(name);
});
