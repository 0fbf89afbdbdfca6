// How a state looks: a colour for each theme and a shape for those who see no colours, as on the terminal.

import type { BICYCLE_STATES } from '../api/bicycle.js';
import { svg } from './dom.js';

export type Theme = 'dark' | 'light';

export type Shape = 'disc' | 'ring' | 'square' | 'triangle' | 'diamond' | 'cross' | 'star' | 'plus';

export interface Look {
  readonly shape: Shape;
  readonly dark: string;
  readonly light: string;
}

/** The shapes and colours of the terminal: green, cyan, yellow, blue, red, magenta, gray. */
const LOOKS: Readonly<Record<(typeof BICYCLE_STATES)[number], Look>> = {
  available: { shape: 'disc', dark: '#3fb950', light: '#1a8f3c' },
  reserved: { shape: 'diamond', dark: '#39c5cf', light: '#0b8a95' },
  in_maintenance: { shape: 'square', dark: '#e3b341', light: '#a86f00' },
  rented: { shape: 'triangle', dark: '#58a6ff', light: '#1f6feb' },
  lost: { shape: 'cross', dark: '#ff6b61', light: '#d1242f' },
  unrecoverable: { shape: 'star', dark: '#e07ae8', light: '#a32cae' },
  retired: { shape: 'ring', dark: '#8b949e', light: '#7a828b' },
};

/** Of a state that the interface does not name. */
const OTHER: Look = { shape: 'plus', dark: '#d7dde4', light: '#3d444d' };

/** In the order in which the points shader knows them. */
export const SHAPES: readonly Shape[] = ['disc', 'ring', 'square', 'triangle', 'diamond', 'cross', 'star', 'plus'];

/** What is drawn over the others: what somebody has to look after. */
const OVER: readonly string[] = [
  'retired',
  'available',
  'rented',
  'reserved',
  'in_maintenance',
  'unrecoverable',
  'lost',
];

export function lookOf(state: string): Look {
  return Object.hasOwn(LOOKS, state) ? LOOKS[state as keyof typeof LOOKS] : OTHER;
}

export function layerOf(state: string): number {
  return OVER.indexOf(state) + 1;
}

/** `in maintenance`. */
export function showState(state: string): string {
  return state.replaceAll('_', ' ');
}

const OUTLINES: Readonly<Record<Shape, string>> = {
  disc: 'M8 3a5 5 0 1 0 0 10a5 5 0 1 0 0-10z',
  ring: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zm0 3a2.5 2.5 0 1 1 0 5a2.5 2.5 0 1 1 0-5z',
  square: 'M3.5 3.5h9v9h-9z',
  triangle: 'M8 2.5L13.7 12.5H2.3z',
  diamond: 'M8 1.8L14.2 8L8 14.2L1.8 8z',
  cross: 'M4.6 2.5L8 5.9L11.4 2.5L13.5 4.6L10.1 8L13.5 11.4L11.4 13.5L8 10.1L4.6 13.5L2.5 11.4L5.9 8L2.5 4.6z',
  star: 'M8 2.1L9.6 6.2L14.1 6.5L10.7 9.4L11.8 13.7L8 11.3L4.2 13.7L5.3 9.4L1.9 6.5L6.4 6.2z',
  plus: 'M6.5 2.5h3v4h4v3h-4v4h-3v-4h-4v-3h4z',
};

/** The mark of a state, in its colour; whoever reads the screen aloud reads the word beside it. */
export function stateMark(state: string): SVGSVGElement {
  const { shape } = lookOf(state);
  return svg(
    'svg',
    {
      viewBox: '0 0 16 16',
      class: 'mark',
      'aria-hidden': 'true',
      'data-state': Object.hasOwn(LOOKS, state) ? state : 'other',
    },
    svg('path', { d: OUTLINES[shape], 'fill-rule': 'evenodd' }),
  );
}

/** `#58a6ff` as red, green and blue from 0 to 1. */
export function rgbOf(colour: string): readonly [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

/** The colour of a charge, by the thresholds of the terminal. */
export function chargeLevel(percent: number): 'empty' | 'low' | 'good' {
  return percent < 20 ? 'empty' : percent < 50 ? 'low' : 'good';
}
