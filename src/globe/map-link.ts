// The address of a place on a public map.

/** Returns the URL of a map with a marker at the place. */
export function mapLink([longitude, latitude]: readonly [
  longitude: number,
  latitude: number,
]): string {
  return `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=18/${latitude}/${longitude}`;
}
