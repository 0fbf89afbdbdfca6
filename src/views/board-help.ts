// The help and the footer of the board: its keys, and the state of its connections.

import { cut, widthOf } from '../terminal/cells.js';
import { clean } from '../terminal/clean.js';
import type { Paint } from '../terminal/colour.js';
import { drawList } from '../terminal/list.js';
import { showDuration } from '../terminal/time.js';

/** The connection of a topic. */
export interface BoardConnection {
  /** The state `connecting` applies only until the first connection is open. */
  state: 'connecting' | 'open' | 'lost';
  /** When this state last changed, on the monotonic clock. */
  sinceMs: number;
  /** Whether the topic was connected before, so that messages may be missing now. */
  hasStood?: boolean;
  /** The reason why the connection was lost. */
  message?: string;
  retryAtMs?: number;
}

export const KEYS: readonly (readonly [key: string, does: string])[] = [
  ['q', 'quit'],
  ['?', 'help, and back'],
  [
    '/',
    'filter bicycles and changes: words, and conditions such as charge<20 or state=lost; Enter keeps it, Esc drops it',
  ],
  ['s', 'sort the bicycles by charge, name, state or last change'],
  ['↑ ↓ PgUp PgDn', 'scroll'],
  ['m', 'map, and back'],
  ['Enter, e', 'open the details of the bicycle; Esc closes them'],
  ['Space', 'mark the bicycle, or unmark it; Esc removes all marks'],
  ['a', 'run a transition on the marked bicycles, or on the one under the cursor; it asks first'],
  ['c', 'copy the ID, where the terminal allows it'],
  ['y', 'show the command that does the same'],
];

export const MAP_KEYS: readonly (readonly [key: string, does: string])[] = [
  ['q', 'quit'],
  ['?', 'help, and back'],
  ['← ↑ → ↓', 'move'],
  ['+ -', 'zoom in, zoom out'],
  ['0', 'show everything'],
  ['Tab', 'select the next cluster, or bicycle where there is none; Shift-Tab the previous'],
  ['Enter', 'zoom into the cluster, open the bicycle; Esc closes it'],
  ['m', 'board, and back'],
];

/** Printed when some of the key hints do not fit. */
const MORE_HINTS = ' …';

/**
 * Returns the key hints that fit, but at least the first one. If some hints do not fit, the line
 * ends with ` …`.
 */
export function keyHints(hints: readonly string[], width: number): string {
  const all = hints.join('  ');
  if (widthOf(all) <= width) return all;
  const [first = '', ...others] = hints;
  const room = width - MORE_HINTS.length;
  const shown = others.reduce(
    (line, hint) => (widthOf(line) + 2 + widthOf(hint) <= room ? `${line}  ${hint}` : line),
    first,
  );
  return `${shown}${MORE_HINTS}`;
}

/** Returns the description of each key. */
export function helpLines(
  keys: typeof KEYS,
  { width, paint }: { width: number; paint: Paint },
): string[] {
  const lines = drawList(keys, width).split('\n');
  return [paint.bold('KEYS'), ...lines].map((line) => cut(line, width));
}

/**
 * Describes the connections. When all connections are open, returns a single phrase. Otherwise,
 * returns the state of the first connection that is not open.
 */
export function connectionText(
  connections: ReadonlyMap<string, BoardConnection>,
  monotonicMs: number,
): { text: string; color: 'green' | 'yellow' | 'red' } {
  const { size } = connections;
  const open = [...connections.values()].filter(({ state }) => state === 'open');
  const odd = [...connections.values()].find(({ state }) => state !== 'open');
  const showSince = (atMs: number) => showDuration(Math.max(0, monotonicMs - atMs));
  if (odd === undefined) {
    const sinceMs = Math.max(...open.map((connection) => connection.sinceMs));
    const many = size > 1 ? ` on all ${size} topics` : '';
    return { text: `● connected${many} for ${showSince(sinceMs)}`, color: 'green' };
  }
  const how = size > 1 ? `${open.length} of ${size} topics connected; ` : '';
  if (odd.state === 'connecting')
    return { text: `○ ${how}connecting for ${showSince(odd.sinceMs)}`, color: 'yellow' };
  const again =
    odd.retryAtMs === undefined
      ? ''
      : `, again in ${showDuration(Math.max(0, odd.retryAtMs - monotonicMs))}`;
  const message = clean((odd.message ?? '').slice(0, 500));
  return { text: `○ ${how}lost for ${showSince(odd.sinceMs)}${again}: ${message}`, color: 'red' };
}
