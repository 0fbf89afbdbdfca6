// A state's mark: a shape and a colour, which style.css defines.

import { type ComponentChild, h } from 'preact';
import { CHARGE_EMPTY_PERCENT, CHARGE_LOW_PERCENT } from './groups.js';
import { OUTLINES, type PageLook, pageLookOf } from './outlines.js';

export const LOOKS = Object.keys(OUTLINES) as readonly PageLook[];

/** Returns the colour of a state for a style. */
export function colourOf(state: string): string {
  return `var(--${pageLookOf(state)})`;
}

/** Formats a state: `in maintenance`. */
export function pageState(state: string): string {
  return state.replaceAll('_', ' ');
}

/** Returns a state's coloured mark. A screen reader reads the word next to the mark. */
export function stateMark(state: string): ComponentChild {
  const path = h('path', { d: OUTLINES[pageLookOf(state)], 'fill-rule': 'evenodd' });
  const style = { fill: colourOf(state) };
  return h('svg', { viewBox: '0 0 16 16', class: 'mark', 'aria-hidden': 'true', style }, path);
}

/** Returns the current value of a colour in style.css, which depends on the theme. */
export function readColour(name: string): string {
  const { documentElement: root } = document;
  root.style.color = `var(--${name})`;
  return getComputedStyle(root).color;
}

/** Returns the level of a charge, using the terminal's thresholds. */
export function chargeLevel(percent: number): 'empty' | 'low' | 'good' {
  return percent < CHARGE_EMPTY_PERCENT ? 'empty' : percent < CHARGE_LOW_PERCENT ? 'low' : 'good';
}
