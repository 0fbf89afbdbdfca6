// What stands for a state on a map: its colour, a sign where there is no colour, a letter where there is no more than ASCII.

import type { Color } from '../../terminal/colour.js';
import { stateColor } from '../bicycle.js';

export interface StateSign {
  readonly color: Color | undefined;
  readonly sign: string;
  readonly letter: string;
  /** Red, green and blue, for pictures on white and on black. */
  readonly hex: string;
}

const SIGNS: ReadonlyMap<string, Omit<StateSign, 'color'>> = new Map([
  ['available', { sign: '●', letter: 'A', hex: '#1f9d55' }],
  ['rented', { sign: '▲', letter: 'R', hex: '#3b82f6' }],
  ['reserved', { sign: '◆', letter: 'V', hex: '#0fa3b1' }],
  ['in_maintenance', { sign: '■', letter: 'M', hex: '#d99a00' }],
  ['lost', { sign: '×', letter: 'L', hex: '#dc2f3c' }],
  ['unrecoverable', { sign: '★', letter: 'U', hex: '#b44ac0' }],
  ['retired', { sign: '○', letter: 'X', hex: '#7b8794' }],
]);

const OTHER = { sign: '+', letter: '?', hex: '#4b5563' };

/** The signs of a state; those that the document does not name have one together. */
export function signOf(state: string | undefined): StateSign {
  return { ...stateColor(state), ...(SIGNS.get(state ?? '') ?? OTHER) };
}
