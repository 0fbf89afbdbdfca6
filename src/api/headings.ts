// The readable column headings of `--headings`, and the field for each heading.

import { ALERT_FIELDS } from './alert.js';
import { BICYCLE_FIELDS, OPERATOR_FIELDS, READ_ONLY_BICYCLE_FIELDS } from './bicycle.js';

/** Headings for fields whose own names are hard to understand. */
const LABELS: { readonly [field: string]: string } = {
  alert_type: 'Alert type',
  bleid: 'Bluetooth ID',
  concurrency_version: 'Version',
  device_type: 'Device type',
  distance: 'Distance by the service (m)',
  distance_m: 'Distance (m)',
  estimated_state_of_charge: 'Estimated charge (%)',
  image_url: 'Picture',
  last_cellular_update: 'Last cellular update',
  latest_gps_accuracy: 'GPS accuracy (m)',
  latest_gps_pdop: 'GPS PDOP',
  latest_gps_timestamp: 'Last seen',
  short_id: 'Short ID',
  state_of_charge: 'Charge (%)',
  url: 'URL',
  uuid: 'UUID',
};

/** The fields that have a readable heading. The heading of any other field is its name. */
const FIELDS = new Set<string>([
  ...BICYCLE_FIELDS,
  ...OPERATOR_FIELDS,
  ...READ_ONLY_BICYCLE_FIELDS,
  ...ALERT_FIELDS,
  ...Object.keys(LABELS),
  'address',
]);

/** Returns the heading of a field for people: `Serial number` for `serial_number`. */
export function headingOf(field: string): string {
  if (!FIELDS.has(field)) return field;
  if (Object.hasOwn(LABELS, field)) return LABELS[field] ?? field;
  const words = field.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

let fieldsByHeading: ReadonlyMap<string, string> | undefined;

/**
 * Returns the field with this heading. The heading must be in lower case. Any other text is
 * returned unchanged.
 */
export function fieldOfHeading(heading: string): string {
  fieldsByHeading ??= new Map(
    [...FIELDS].map((field) => [headingOf(field).toLowerCase(), field] as const),
  );
  return fieldsByHeading.get(heading) ?? heading;
}
