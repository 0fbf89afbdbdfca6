// Decides which bicycles a typed text means: an exact name, the name in another case, or a part of
// it.

import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import type { Item } from '../../http/types.js';
import { textOf } from '../../terminal/values.js';

/** The fields that name a bicycle. */
const NAMING = ['name', 'serial_number', 'bleid'] as const;

/** How a text matches, closest first. A later way counts only when no earlier one matches. */
export const MATCH_KINDS = ['exact', 'other case', 'part'] as const;
export type MatchKind = (typeof MATCH_KINDS)[number];

/** The matching bicycles by UUID in lower case, and how they match. */
export interface Matches {
  readonly kind: MatchKind;
  readonly found: Map<string, Item<Bicycle>>;
}

/** Returns how the text matches a name, serial number or bleid; undefined when it does not. */
export function matchKindOf(
  bicycle: Pick<Bicycle, (typeof NAMING)[number]>,
  text: string,
): MatchKind | undefined {
  const names = NAMING.map((field) => textOf(bicycle[field])).filter((name) => name !== undefined);
  if (names.includes(text)) return 'exact';
  const wanted = text.trim().toLowerCase();
  const lower = names.map((name) => name.toLowerCase());
  if (lower.some((name) => name.trim() === wanted)) return 'other case';
  return lower.some((name) => name.includes(wanted)) ? 'part' : undefined;
}

/** Collects bicycles, and returns those that match the text most closely. */
export function openMatches(text: string) {
  const byKind = new Map(
    MATCH_KINDS.map((kind) => [kind, new Map<string, Item<Bicycle>>()] as const),
  );
  return {
    /** Adds the bicycle when it matches. `kind` overrides how. */
    add(item: Item<Bicycle>, kind = matchKindOf(item.value, text)): void {
      const uuid = bicycleUuid(item.value);
      if (uuid !== undefined && kind !== undefined) byKind.get(kind)?.set(uuid, item);
    },
    closest(): Matches {
      for (const [kind, found] of byKind) if (found.size > 0) return { kind, found };
      return { kind: 'exact', found: new Map() };
    },
  };
}
