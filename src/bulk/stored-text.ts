// Compares a text that was sent with the text that a service stored. Services trim, cut, normalise
// and change the case of texts.

import { escapeJson } from '../terminal/clean.js';

/** White space, control characters and invisible characters, which services remove or replace. */
const REMOVED = /[\s\p{Cc}\p{Cf}]+/gu;

/** What a service leaves at the end of a text that it cut: half a character, or an ellipsis. */
const CUT_MARK = /[.\u2026\ufffd\p{Cs}]+$/u;

/** Accents, punctuation and other characters that do not distinguish names. */
const NOT_IN_NAMES = /[^\p{L}\p{N}\p{S}]+/gu;

/** Returns the text without white space and without differences in case and Unicode form. */
function fold(text: string): string {
  // Lower case first: the upper case of both "ß" and "ẞ" is "SS" then, and "ς" equals "σ".
  const folded = text.normalize('NFKC').replace(REMOVED, '').toLowerCase().toUpperCase();
  // Decomposed, so that a text that was cut before an accent is still a beginning.
  return folded.normalize('NFKD');
}

function withoutCutMark(text: string): string {
  return text.trimEnd().replace(CUT_MARK, '');
}

/** Longer texts are cut in a notice. */
const LONGEST_QUOTE_CHARACTERS = 100;

/** Returns a text in quotes, with its hidden characters visible. */
export function quoteText(text: string): string {
  return escapeJson(JSON.stringify(text.slice(0, LONGEST_QUOTE_CHARACTERS)));
}

/** How a stored text differs from the text that was sent. */
export type StoredForm = 'same' | 'normalised' | 'cut' | 'other';

/**
 * Compares a stored text with the text that was sent. `normalised` means other white space, case,
 * Unicode form or line ends. `cut` means that only a beginning was stored.
 */
export function compareStored(sent: string, stored: string): StoredForm {
  if (sent === stored) return 'same';
  const [all, part] = [fold(sent), fold(withoutCutMark(stored))];
  if (all === fold(stored)) return 'normalised';
  return part !== '' && all.startsWith(part) ? 'cut' : 'other';
}

/**
 * Whether a service can have made the stored name from the name that was sent. A missing or empty
 * name counts as similar, because it excludes nothing.
 */
export function isSimilarName(sent: string, stored: unknown): boolean {
  if (typeof stored !== 'string') return true;
  const part = fold(withoutCutMark(stored)).replace(NOT_IN_NAMES, '');
  return fold(sent).replace(NOT_IN_NAMES, '').startsWith(part);
}
