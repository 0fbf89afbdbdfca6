// Chooses the name of a workbook's sheet from the filters of the list.

import { wholeUuid } from '../api/links.js';

/** The filters of a list, as the user typed them. */
export interface SheetFilters {
  state?: readonly string[] | undefined;
  type?: readonly string[] | undefined;
  name?: string | undefined;
  bicycle?: string | undefined;
  zone?: string | undefined;
  model?: string | undefined;
  organization?: string | undefined;
  near?: { latitude: number; longitude: number } | undefined;
  bbox?: unknown;
  where?: readonly { text: string }[] | undefined;
}

/**
 * Returns a name for the sheet that describes the filters, or undefined without filters. The most
 * important filter comes first, because Excel allows 31 characters. UUIDs are omitted.
 */
export function sheetNameOf(filters: SheetFilters): string | undefined {
  const { state = [], type = [], name, near, bbox, where = [] } = filters;
  const named = [filters.bicycle, filters.zone, filters.model, filters.organization];
  const parts = [
    ...state,
    ...type,
    ...(name === undefined ? [] : [`name ${name}`]),
    ...named.filter((each) => each !== undefined && wholeUuid(each) === undefined),
    ...(near === undefined ? [] : [`near ${near.latitude},${near.longitude}`]),
    ...(bbox === undefined ? [] : ['in a box']),
    ...where.map(({ text }) => text),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}
