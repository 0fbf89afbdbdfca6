// Finds the fields of one bicycle in the packed columns of all.

import type { Details, FieldTexts } from './payload.js';

type Columns = readonly (readonly [field: string, texts: readonly (string | null)[]])[];

export async function unpackDetails(details: Details): Promise<Columns> {
  return Promise.all(details.map(async ([field, packed]) => [field, await unpack(packed)] as const));
}

async function unpack(packed: string): Promise<(string | null)[]> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}

/** The fields of the bicycle at a place of the columns. */
export function fieldsAt(columns: Columns, place: number): FieldTexts {
  return columns.map(([field, texts]) => [field, texts[place] ?? null]);
}
