// The state marks as outlines, for the page and for pictures.

import type { BICYCLE_STATES } from '../api/bicycle.js';

export type PageLook = (typeof BICYCLE_STATES)[number] | 'other';

/**
 * The outline of each state's mark, as an SVG path in a square of 16 by 16. They are listed in the
 * order of drawing. States that need attention come last, so they cover the others.
 */
export const OUTLINES: Readonly<Record<PageLook, string>> = {
  other: 'M6.5 2.5h3v4h4v3h-4v4h-3v-4h-4v-3h4z',
  retired: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zm0 3a2.5 2.5 0 1 1 0 5a2.5 2.5 0 1 1 0-5z',
  available: 'M8 3a5 5 0 1 0 0 10a5 5 0 1 0 0-10z',
  rented: 'M8 2.5L13.7 12.5H2.3z',
  reserved: 'M8 1.8L14.2 8L8 14.2L1.8 8z',
  in_maintenance: 'M3.5 3.5h9v9h-9z',
  unrecoverable:
    'M8 2.1L9.6 6.2L14.1 6.5L10.7 9.4L11.8 13.7L8 11.3L4.2 13.7L5.3 9.4L1.9 6.5L6.4 6.2z',
  lost: 'M4.6 2.5L8 5.9L11.4 2.5L13.5 4.6L10.1 8L13.5 11.4L11.4 13.5L8 10.1L4.6 13.5L2.5 11.4L5.9 8L2.5 4.6z',
};

/** Returns a state's mark. All unknown states have the same mark. */
export function pageLookOf(state: string): PageLook {
  return Object.hasOwn(OUTLINES, state) ? (state as PageLook) : 'other';
}
