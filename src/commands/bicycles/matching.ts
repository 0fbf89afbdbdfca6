// Decides which bicycles the typed text refers to. The text is an exact name, a name in different
// letter case, or a part of a name.

import { type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import type { Item } from '../../http/types.js';
import { textOf } from '../../terminal/values.js';

/** The fields that can identify a bicycle. */
export const NAMING = ['name', 'serial_number', 'bleid'] as const;

/**
 * The kinds of match between a string and a name, closest first. A kind is used only when no
 * bicycle matches more closely.
 */
export const MATCH_KINDS = ['exact', 'other case', 'part'] as const;
export type MatchKind = (typeof MATCH_KINDS)[number];

/**
 * The bicycles that match the typed text, and the kind of match. The key of each bicycle is its
 * UUID in lower case.
 */
export interface Matches {
  readonly kind: MatchKind;
  readonly found: Map<string, Item<Bicycle>>;
}

/**
 * Returns how closely the text matches a name, serial number or bleid, or undefined when it does
 * not match.
 */
export function matchKindOf(
  bicycle: Pick<Bicycle, (typeof NAMING)[number]>,
  text: string,
): MatchKind | undefined {
  const names = NAMING.map((field) => textOf(bicycle[field])).filter((name) => name !== undefined);
  const forms = formsOf(text);
  if (names.some((name) => forms.includes(name))) return 'exact';
  const wanted = fold(text).trim();
  const folded = names.map(fold);
  if (folded.some((name) => name.trim() === wanted)) return 'other case';
  return folded.some((name) => name.includes(wanted)) ? 'part' : undefined;
}

/**
 * Returns the typed text and its other Unicode forms, which look the same. For example, some
 * keyboards and file systems write "ö" as two characters.
 */
export function formsOf(text: string): string[] {
  return [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])];
}

/** Returns the text in lower case and in one Unicode form, for comparisons. */
function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/**
 * A string of this many hexadecimal digits is almost certainly a partial UUID and not part of a
 * name.
 */
export const CERTAIN_PREFIX_DIGITS = 8;

/**
 * Whether a string that matches a UUID prefix is also a part of the bicycle's name, serial number
 * or bleid. Serial numbers and bleids are checked only when the string consists of decimal digits.
 * They often contain hexadecimal letters, so a string with letters would match too many of them.
 */
function isAlsoNamed(bicycle: Bicycle, text: string): boolean {
  const hasOnlyName = !/^\d+$/.test(text);
  const named = hasOnlyName ? { ...bicycle, serial_number: null, bleid: null } : bicycle;
  return matchKindOf(named, text) !== undefined;
}

/**
 * Collects the bicycles that match the text. Keeps only the bicycles with the closest kind of
 * match.
 */
export function openMatches(text: string) {
  const byKind = new Map(
    MATCH_KINDS.map((kind) => [kind, new Map<string, Item<Bicycle>>()] as const),
  );
  const byPrefix = new Map<string, Item<Bicycle>>();
  const byName = new Map<string, Item<Bicycle>>();
  const [exact] = byKind.values();
  return {
    /** Adds a bicycle whose UUID begins with the text. */
    addByPrefix(item: Item<Bicycle>): void {
      const uuid = bicycleUuid(item.value);
      if (uuid === undefined) return;
      byPrefix.set(uuid, item);
      exact?.set(uuid, item);
    },
    /** Adds a bicycle if one of its names matches the text. */
    add(item: Item<Bicycle>): void {
      const uuid = bicycleUuid(item.value);
      const kind = matchKindOf(item.value, text);
      if (uuid === undefined || kind === undefined) return;
      byKind.get(kind)?.set(uuid, item);
      if (isAlsoNamed(item.value, text)) byName.set(uuid, item);
    },
    closest(): Matches {
      const isOnlyPrefix = byPrefix.size > 0 && byPrefix.size === exact?.size;
      // A short string such as "0028" can be a UUID prefix or refer to "Emmy 0028", so both kinds
      // of matches are returned.
      if (isOnlyPrefix && text.length < CERTAIN_PREFIX_DIGITS && byName.size > 0)
        return { kind: 'part', found: new Map([...byPrefix, ...byName]) };
      for (const [kind, found] of byKind) if (found.size > 0) return { kind, found };
      return { kind: 'exact', found: new Map() };
    },
  };
}
