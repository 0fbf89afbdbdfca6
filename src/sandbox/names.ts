// The simulated world of the sandbox: cities, organizations, models and names.

/** A city, and the index of its organization in ORGANIZATION_NAMES. */
export interface City {
  name: string;
  latitude: number;
  longitude: number;
  organization: 0 | 1;
}

/** Cities in both hemispheres, on both sides of longitude 0, and one town on the antimeridian. */
export const CITIES: readonly City[] = [
  { name: 'Berlin', latitude: 52.52, longitude: 13.405, organization: 0 },
  { name: 'Lisbon', latitude: 38.7223, longitude: -9.1393, organization: 0 },
  { name: 'Sydney', latitude: -33.8688, longitude: 151.2093, organization: 0 },
  { name: 'Santiago', latitude: -33.4489, longitude: -70.6693, organization: 0 },
  { name: 'Taveuni', latitude: -16.8, longitude: 179.99, organization: 0 },
  { name: 'Nairobi', latitude: -1.2864, longitude: 36.8172, organization: 1 },
  { name: 'Reykjavík', latitude: 64.1466, longitude: -21.9426, organization: 1 },
];

/** The organizations. The first one is the main organization and has nearly all bicycles. */
export const ORGANIZATION_NAMES = ['Nordlicht Bikes', 'Ciclo Sur'] as const;

export const MODEL_NAMES: readonly string[] = ['City 3', 'City 7 Electric', 'Cargo L', 'Kids 20'];

/** Ordinary names. A bicycle's name is one of these plus its number, such as "Ada 0042". */
export const GIVEN_NAMES: readonly string[] =
  'Ada Alan Annie Barbara Claude Donald Dorothy Edsger Emmy Grace Hedy Ida Joan Karen Katherine Linus Margaret Marie Niklaus Radia Rosalind Sophie Tim Vera'.split(
    ' ',
  );

/**
 * Names that columns, sorting and searching must handle: other scripts, right-to-left text,
 * joiners, combining marks and long names.
 */
export const UNUSUAL_NAMES: readonly string[] = [
  'Zoë Çelik',
  'Łucja Świątek',
  'Дарья Ковалёва',
  'Ελένη Παπαδοπούλου',
  'فاطمة الزهراء',
  'נועה לוי',
  '王小明',
  'さくら号',
  '김하늘',
  'अनन्या शर्मा',
  'สมชาย ใจดี',
  '👩‍🚀 Valentina 🚲',
  'Jose\u0301 Nu\u0301n\u0303ez',
  '"Quoted", with; separators\\',
  'The bicycle formerly parked behind the old post office at the corner of Long Street and Even Longer Avenue, third rack from the left',
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverleihstationsleiterdienstfahrrad Nummer Eins, blau-weiß',
];

export const DESCRIPTIONS: readonly string[] = [
  'Basket in front',
  'Child seat',
  'Bell sounds faint, otherwise fine.\nSecond key is at the depot.',
  'Spende der Stadtwerke – bitte pfleglich behandeln',
  '赤いかご付き',
  'Rear light replaced; see ticket #1184',
];
