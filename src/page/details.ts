// Gets all fields of one bicycle for its card. A live page requests them from fleet. A page that
// was opened from disk unpacks them from a block in the page.

import { readBlock } from './dom.js';
import type { PageBicycle } from './fleet.js';
import { askFleet } from './live.js';
import type { Details, FieldTexts } from './payload.js';
import type { PageState } from './state.js';

type Columns = readonly (readonly [field: string, texts: readonly (string | null)[]])[];

export async function unpackDetails(details: Details): Promise<Columns> {
  return Promise.all(
    details.map(async ([field, packed]) => [field, await unpack(packed)] as const),
  );
}

async function unpack(packed: string): Promise<(string | null)[]> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')),
  ).json();
}

/** Returns the fields of one bicycle. `place` is the index of its row in the columns. */
export function fieldsAt(columns: Columns, place: number): FieldTexts {
  return columns.map(([field, texts]) => [field, texts[place] ?? null]);
}

/**
 * The fields of all bicycles. They are unpacked when the first card is opened. The script cannot
 * unpack them earlier, because their block comes after the script in the page.
 */
let details: ReturnType<typeof unpackDetails> | undefined;

export async function pageFields(
  { uuid, place }: PageBicycle,
  { isLive, link }: PageState,
): Promise<FieldTexts> {
  if (isLive) return askFleet(`bicycles/${encodeURIComponent(uuid)}`);
  // A page that shows the fleet at a past moment contains only the fields that the map draws.
  if (link !== null) return [];
  details ??= unpackDetails(readBlock<Details>('details'));
  return fieldsAt(await details, place);
}
