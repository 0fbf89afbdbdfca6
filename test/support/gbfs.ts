// Validates GBFS feeds: 2.3 with the JSON schemas of @entur/gbfs-validator, 3.0 and 3.1 with the types
// of gbfs-typescript-types and further rules of its schemas.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createCheckers, type ITypeSuite } from 'ts-interface-checker';

const load = createRequire(import.meta.url);
type Validate = (
  schema: object,
  document: unknown,
  options?: object,
) => { errors: false | object[] };
const validate: Validate = load('@entur/gbfs-validator/validate.js');
const motor = load('@entur/gbfs-validator/versions/partials/v2.3/required_vehicle_type_id.js');

/** Parsed JSON of unknown type, which the checks examine. */
type Json = ReturnType<typeof JSON.parse>;

/** The documents of a folder by their names without `.json`. */
export type Documents = { [name: string]: Json };

export function readDocuments(folder: string): Documents {
  const files = readdirSync(folder).map((name) => [
    name.replace(/\.json$/, ''),
    JSON.parse(readFileSync(join(folder, name), 'utf8')),
  ]);
  return Object.fromEntries(files);
}

/** Returns the errors of a feed by file; empty for a valid feed. */
export async function problemsOf(documents: Documents): Promise<{ [file: string]: unknown }> {
  const version = documents['gbfs']?.version;
  const problems: { [file: string]: unknown } = {};
  for (const [name, document] of Object.entries(documents)) {
    const found =
      version === '2.3'
        ? problemsOfOld(name, document, documents)
        : await problemsOfNew(name, document, documents);
    if (found.length > 0) problems[name] = found;
  }
  return problems;
}

function problemsOfOld(
  name: string,
  document: unknown,
  { vehicle_types: types }: Documents,
): unknown[] {
  const schema = load(`@entur/gbfs-validator/versions/schemas/v2.3/${name}.json`);
  const addSchema =
    name === 'free_bike_status' ? [motor({ vehicleTypes: types.data.vehicle_types })] : [];
  return validate(schema, document, { addSchema }).errors || [];
}

/**
 * The version of the types for each version of the feed. The types of 3.1 have the name of its
 * release candidate.
 */
const TYPED_VERSIONS: { readonly [version: string]: string } = { '3.0': '3.0', '3.1': '3.1-RC' };

/** The interfaces of the files. */
const INTERFACES: { readonly [file: string]: string } = {
  gbfs: 'Gbfs',
  system_information: 'SystemInformation',
  vehicle_types: 'VehicleTypes',
  vehicle_status: 'VehicleStatus',
  geofencing_zones: 'GeofencingZones',
};

async function problemsOfNew(
  name: string,
  document: Json,
  documents: Documents,
): Promise<unknown[]> {
  const version = String(documents['gbfs']?.version);
  const typed = TYPED_VERSIONS[version];
  if (typed === undefined) return [`the types of version ${version} are not known`];
  const path = `gbfs-typescript-types/v${typed}/test-type-checkers/${name}-ti.ts`;
  const suite = (await import(/* @vite-ignore */ path)) as { default: ITypeSuite };
  const checker = createCheckers(suite.default)[INTERFACES[name] ?? ''];
  if (checker === undefined) return [`no file of a feed is named ${name}`];
  const wrong = (checker.validate({ ...document, version: typed }) ?? []) as unknown[];
  const rules: [holds: boolean, rule: string][] = [
    [
      Object.keys(document).sort().join() === 'data,last_updated,ttl,version',
      'nothing but data, last_updated, ttl, version',
    ],
    [document.version === version, 'all files have the version of gbfs.json'],
    [isTime(document.last_updated), 'last_updated is a time of RFC 3339'],
    [isCount(document.ttl), 'ttl is a whole number from 0 on'],
    ...(RULES[name]?.(document.data, documents) ?? []),
  ];
  return [...wrong, ...rules.filter(([holds]) => !holds).map(([, rule]) => rule)];
}

const isTime = (text: unknown) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(String(text)) &&
  !Number.isNaN(Date.parse(String(text)));
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
const isLanguage = (text: unknown) => /^[a-z]{2,3}(-[A-Z]{2})?$/.test(String(text));
const isUrl = (text: unknown) =>
  URL.canParse(String(text)) && /^https?:\/\/[\w.~:/?#[\]@!$&'()*+,;=%-]+$/.test(String(text));
const isBetween = (value: unknown, low: number, high: number) =>
  typeof value === 'number' && value >= low && value <= high;
const isTranslated = (texts: Json) =>
  texts === undefined || texts.every(({ language }: Json) => isLanguage(language));
const isPositive = (value: unknown) => value === undefined || isBetween(value, 0, Number.MAX_VALUE);

type Rules = (data: Json, documents: Documents) => [holds: boolean, rule: string][];

const RULES: { readonly [file: string]: Rules } = {
  gbfs: ({ feeds }, documents) => {
    const names = feeds.map(({ name }: Json) => name);
    return [
      [feeds.every(({ url }: Json) => isUrl(url)), 'addresses of feeds'],
      [
        names.includes('system_information') && names.includes('vehicle_status'),
        'what has to be named',
      ],
      [
        Object.keys(documents)
          .filter((name) => name !== 'gbfs')
          .sort()
          .join() === [...names].sort().join(),
        'all files are named',
      ],
    ];
  },
  system_information: (data) => [
    [data.languages.length > 0 && data.languages.every(isLanguage), 'languages'],
    [
      data.name.length > 0 && isTranslated(data.name) && isTranslated(data.operator),
      'texts have languages',
    ],
    [
      [data.url, data.purchase_url, data.license_url].every(
        (url) => url === undefined || isUrl(url),
      ),
      'addresses',
    ],
    [
      [data.email ?? 'a@b.c', data.feed_contact_email].every((each) =>
        /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(each),
      ),
      'mail',
    ],
    [/^\+[1-9]\d{1,14}$/.test(data.phone_number ?? '+49'), 'E.164'],
    [/^\d{4}-\d\d-\d\d$/.test(data.start_date ?? '2026-01-01'), 'dates'],
  ],
  vehicle_types: ({ vehicle_types: types }) => [
    [
      new Set(types.map((type: Json) => type.vehicle_type_id)).size === types.length,
      'types have ids of their own',
    ],
    [
      types.every(
        (type: Json) =>
          type.propulsion_type === 'human' || isBetween(type.max_range_meters, 0, 1e9),
      ),
      'a motor has a range',
    ],
  ],
  vehicle_status: ({ vehicles }, { vehicle_types: { data: types } }) => {
    const known = new Map(
      types.vehicle_types.map((type: Json) => [type.vehicle_type_id, type.propulsion_type]),
    );
    return [
      [
        new Set(vehicles.map(({ vehicle_id: id }: Json) => id)).size === vehicles.length,
        'vehicles have ids of their own',
      ],
      [
        vehicles.every(
          ({ lat, lon }: Json) => isBetween(lat, -90, 90) && isBetween(lon, -180, 180),
        ),
        'positions',
      ],
      [vehicles.every(({ vehicle_type_id: type }: Json) => known.has(type)), 'types are known'],
      [
        vehicles.every(({ last_reported: at }: Json) => at === undefined || isTime(at)),
        'last_reported',
      ],
      [vehicles.every(({ current_range_meters: range }: Json) => isPositive(range)), 'ranges'],
      [
        vehicles.every(
          (each: Json) =>
            known.get(each.vehicle_type_id) === 'human' || each.current_range_meters !== undefined,
        ),
        'a motor has a range left',
      ],
    ];
  },
  geofencing_zones: ({ geofencing_zones: { features } }) => {
    const rings = features.flatMap(({ geometry }: Json) => geometry.coordinates.flat());
    return [
      [
        rings.every((ring: Json) => ring.length >= 4 && String(ring[0]) === String(ring.at(-1))),
        'rings are closed',
      ],
      [
        features.every(({ geometry }: Json) => geometry.coordinates.every(isTurnedRight)),
        'the right-hand rule',
      ],
    ];
  },
};

/** RFC 7946, 3.1.6: the exterior ring goes counterclockwise, holes clockwise. For rings that do not cross the antimeridian. */
export function isTurnedRight(rings: number[][][]): boolean {
  const area = (ring: number[][]) =>
    ring.reduce((sum, [x = 0, y = 0], index) => {
      const [nextX = 0, nextY = 0] = ring[(index + 1) % ring.length] ?? [];
      return sum + x * nextY - nextX * y;
    }, 0);
  return rings.every((ring, index) => (index === 0 ? area(ring) > 0 : area(ring) < 0));
}
