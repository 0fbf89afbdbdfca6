// The columns of organizations, zones and models.

import { NAMED, NAMED_FIELDS, type Named } from '../api/named.js';
import { asGeoJson } from '../globe/rings.js';
import { isObject } from '../json/parse.js';
import type { Shape } from '../terminal/formats.js';
import type { Column } from '../terminal/table.js';

const NAME: Column<Named> = {
  header: 'NAME',
  field: 'name',
  keep: 3,
  minimum: 12,
  room: 24,
  maximum: 60,
};
/** A UUID is never shortened, so that the user can copy it. */
const UUID: Column<Named> = { header: 'UUID', field: 'uuid', keep: 2, minimum: 36 };
const TYPE: Column<Named> = { header: 'TYPE', field: 'type', keep: 1, minimum: 8, maximum: 24 };

const shared = { fields: NAMED_FIELDS.fields, areFieldsOpen: true };

export const NAMED_SHAPES = {
  organization: { ...shared, noun: NAMED.organization, columns: [NAME, UUID] },
  zone: {
    ...shared,
    noun: NAMED.zone,
    columns: [NAME, UUID, TYPE],
    geometry: (zone: Named) => asGeoJson(sentOutline(zone)),
    positionFields: ['polygon', 'geometry', 'area'],
  },
  model: { ...shared, noun: NAMED.model, columns: [NAME, UUID] },
} satisfies { [kind: string]: Shape<Named> };

/**
 * Returns the outline of a zone as the service sent it. Some of its parts may be invalid. Assumed:
 * the outline is a GeoJSON geometry in one of these fields.
 */
export function sentOutline(zone: Named): object | undefined {
  return [zone['polygon'], zone['geometry'], zone['area']].find(isGeometry);
}

function isGeometry(value: unknown): value is object {
  return (
    isObject(value) && typeof value['type'] === 'string' && Array.isArray(value['coordinates'])
  );
}
