// The flags of `fleet rounds`, and their parsers.

import type { OptionValues, Command as TypedCommand } from '@commander-js/extra-typings';
import { BICYCLE } from '../../api/bicycle.js';
import { readPlanPath } from '../../bulk/flags.js';
import type { FlagsOf, NoFlags } from '../../cli/command.js';
import { wholeNumber } from '../../cli/options.js';
import { usageError } from '../../errors.js';
import { addConditionFlags } from '../../list/flags.js';
import { OFFLINE } from '../../list/mirror-flags.js';
import type { LatLon } from '../../views/distance.js';
import { addFilters } from '../bicycles/list-flags.js';

/** The maximum number of vans. A larger number is probably a typing error. */
export const MOST_VANS = 200;
const MOST_HOURS = 168;
const MOST_MINUTES = 24 * 60;
/**
 * The lowest accepted speed. At a lower speed, travel times would be too large for a date and for
 * the router's table.
 */
const LEAST_KMH = 1;
const MOST_KMH = 200;
const MOST_SEARCH_SECONDS = 3600;

const PLAIN_NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)$/;

/** Returns a parser for commander that accepts `LAT,LON` in degrees. */
export function readPlace(flag: string): (text: string) => LatLon {
  return (text) => {
    const parts = text.split(',').map((part) => part.trim());
    const isPlain = parts.length === 2 && parts.every((part) => PLAIN_NUMBER.test(part));
    const [latitude = Number.NaN, longitude = Number.NaN] = isPlain ? parts.map(Number) : [];
    if (Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) return { latitude, longitude };
    throw usageError(
      isPlain
        ? `${flag} "${text}" is out of range: the latitude (-90 to 90) comes first, then the longitude (-180 to 180)`
        : `${flag} must be a latitude and a longitude, such as 52.52,13.40, not "${text}"`,
    );
  };
}

interface NumberRange {
  flag: string;
  unit: string;
  /** The smallest accepted value. When it is not set, any value above 0 is accepted. */
  least?: number;
  most: number;
}

/** Returns a parser that accepts a number in the range. */
function readNumber({ flag, unit, least, most }: NumberRange): (text: string) => number {
  return (text) => {
    const value = /^(\d+\.?\d*|\.\d+)$/.test(text.trim()) ? Number(text) : Number.NaN;
    const isEnough = least === undefined ? value > 0 : value >= least;
    if (isEnough && value <= most) return value;
    const range = least === undefined ? `above 0, up to ${most}` : `from ${least} to ${most}`;
    throw usageError(`${flag} must be a number of ${unit} ${range}, not "${text}"`);
  };
}

export const readHours = readNumber({ flag: '--hours', unit: 'hours', most: MOST_HOURS });
export const readMinutes = readNumber({
  flag: '--stop',
  unit: 'minutes',
  most: MOST_MINUTES,
  least: 0,
});
export const readVanSpeed = readNumber({
  flag: '--speed',
  unit: 'kilometres per hour',
  least: LEAST_KMH,
  most: MOST_KMH,
});
export const readSearchSeconds = readNumber({
  flag: '--seconds',
  unit: 'seconds',
  most: MOST_SEARCH_SECONDS,
});

/** A time of day, such as 07:30. */
export interface ClockTimeOfDay {
  hour: number;
  minute: number;
}

/** Parses a time of day such as `07:30` for commander. */
export function readClock(text: string): ClockTimeOfDay {
  const [, hour = 24, minute = 60] = /^(\d{1,2}):(\d\d)$/.exec(text.trim())?.map(Number) ?? [];
  if (hour <= 23 && minute <= 59) return { hour, minute };
  throw usageError(`--start must be a time of day such as 07:30, not "${text}"`);
}

/**
 * Returns a parser for a server address. Refuses an address with a user name or password, because
 * messages contain the address.
 */
export function readServer(flag: string): (text: string) => URL {
  return (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      // The error does not quote the address, because it can contain a key.
      throw usageError(
        `${flag} must be an http or https address`,
        'for example http://127.0.0.1:5000',
      );
    if (url.username + url.password !== '')
      throw usageError(`${flag} must not contain a user name or password`);
    return url;
  };
}

/**
 * Adds the flags of `fleet rounds`. `stop` is in minutes, and `speed` is in kilometres per hour.
 */
export function addRoundsFlags<A extends unknown[], O extends OptionValues>(
  command: TypedCommand<A, O>,
) {
  return addConditionFlags(addFilters(command), BICYCLE)
    .option(...OFFLINE)
    .option('--from <lat,lon>', 'where the vans start (needed)', readPlace('--from'))
    .option('--to <lat,lon>', 'where the tours end (default: --from)', readPlace('--to'))
    .option('--vans <n>', 'number of vans (default: 1)', wholeNumber('--vans', 1, MOST_VANS))
    .option('--capacity <n>', 'bicycles that fit into a van', wholeNumber('--capacity', 1))
    .option('--hours <h>', 'longest duration of a tour, such as 6 or 7.5', readHours)
    .option('--stop <minutes>', 'time at each bicycle (default: 4)', readMinutes)
    .option('--speed <kmh>', 'mean speed of a van (default: 18)', readVanSpeed)
    .option('--balance', 'shorten the longest tour instead of the distance')
    .option('--start <hh:mm>', 'departure today, for local times of arrival', readClock)
    .option('--router <url>', 'OSRM server for distances and times', readServer('--router'))
    .option('--solver <url>', 'VROOM server that orders the stops', readServer('--solver'))
    .option(
      '--seconds <n>',
      'search for this time; results may then differ (default: a fixed number of steps)',
      readSearchSeconds,
    )
    .option(
      '--plan <file>',
      'also write a plan for "fleet apply" that puts the bicycles of the tours into maintenance',
      readPlanPath,
    )
    .option('-y, --yes', 'accept a start that is far from every bicycle');
}

export type RoundsOptions = FlagsOf<typeof addRoundsFlags<[], NoFlags>>;
