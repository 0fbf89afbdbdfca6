// Parses `--timezone`.

import { usageError } from '../errors.js';
import { canonicalTimeZone } from '../system/time-zone.js';
import { plain, withOffers } from './completions.js';
import { nearest } from './nearest.js';

/**
 * Parses the IANA name of a time zone for commander. Refuses an unknown name and suggests the
 * closest one.
 */
export const readTimeZone = withOffers(
  (text: string): string => {
    const name = canonicalTimeZone(text);
    if (name !== undefined) return name;
    const close = suggestZone(text);
    throw usageError(
      `--timezone must be an IANA time zone name, not "${text}"`,
      close === undefined ? 'for example Europe/Berlin or UTC' : `did you mean "${close}"?`,
    );
  },
  () => ({ words: plain(zoneNames()) }),
);

function zoneNames(): string[] {
  return [...Intl.supportedValuesOf('timeZone'), 'UTC'];
}

/** Returns the time zone whose city or name is similar to this text. */
function suggestZone(text: string): string | undefined {
  const names = zoneNames();
  const typed = text.trim().replaceAll(' ', '_').toLowerCase();
  const cityOf = (name: string) => name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  const city = typed.slice(typed.lastIndexOf('/') + 1);
  const sameCity = names.find((name) => cityOf(name) === city);
  if (sameCity !== undefined) return sameCity;
  const closeName = nearest(text.trim(), names);
  if (closeName !== undefined) return closeName;
  const closeCity = nearest(city, names.map(cityOf));
  return names.find((name) => cityOf(name) === closeCity);
}
