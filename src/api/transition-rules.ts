// The source and target states of each transition, as far as they were observed.
//
// The whole table is an assumption. Section 3.1 of the interface says "Source states, target states
// and conditions of each transition: not shown". The service decides; fleet uses the table only for
// previews, and to find the transition that undoes another one.

import type { Transition } from './transitions.js';

interface TransitionRule {
  readonly from: readonly string[];
  readonly to: string;
}

const RULES: { readonly [transition in Transition]: TransitionRule } = {
  declare_available: { from: ['in_maintenance', 'lost', 'unrecoverable'], to: 'available' },
  rent: { from: ['available', 'reserved'], to: 'rented' },
  return: { from: ['rented'], to: 'available' },
  declare_lost: { from: ['in_maintenance', 'available', 'unrecoverable'], to: 'lost' },
  declare_unrecoverable: { from: ['available', 'lost'], to: 'unrecoverable' },
  take_over: {
    from: ['available', 'lost', 'in_maintenance', 'unrecoverable'],
    to: 'in_maintenance',
  },
  put_in_maintenance: { from: ['available', 'lost', 'unrecoverable'], to: 'in_maintenance' },
  force_put_in_maintenance: { from: ['reserved', 'rented', 'retired'], to: 'in_maintenance' },
  retire: { from: ['in_maintenance'], to: 'retired' },
  reserve: { from: ['available'], to: 'reserved' },
  expire_rental_session: { from: ['rented'], to: 'available' },
  expire_reservation: { from: ['reserved'], to: 'available' },
  cancel_reservation: { from: ['reserved'], to: 'available' },
};

function ruleOf(transition: string): TransitionRule | undefined {
  return Object.hasOwn(RULES, transition) ? RULES[transition as Transition] : undefined;
}

/**
 * Whether a transition may start from a state. Undefined when the transition or the state is
 * unknown.
 */
export function mayStartIn(transition: string, state: string): boolean | undefined {
  const isKnownState = Object.values(RULES).some(
    ({ from, to }) => to === state || from.includes(state),
  );
  return isKnownState ? ruleOf(transition)?.from.includes(state) : undefined;
}

/** Returns the state that a transition leads to; undefined when the transition is unknown. */
export function targetStateOf(transition: string): string | undefined {
  return ruleOf(transition)?.to;
}

/**
 * For each transition, the transitions that undo it, keyed by the bicycle's earlier state. `retire`
 * and `force_put_in_maintenance` cannot be undone: no transition restores a decommissioned bicycle
 * or an ended rental.
 */
const WAYS_BACK: readonly (readonly [
  from: string,
  transitions: readonly Transition[],
  back: Transition,
])[] = [
  ['available', ['put_in_maintenance', 'take_over'], 'declare_available'],
  ['available', ['declare_lost'], 'declare_available'],
  ['available', ['declare_unrecoverable'], 'declare_available'],
  ['available', ['reserve'], 'cancel_reservation'],
  ['available', ['rent'], 'return'],
  ['lost', ['put_in_maintenance', 'take_over', 'declare_available'], 'declare_lost'],
  ['lost', ['declare_unrecoverable'], 'declare_lost'],
  ['in_maintenance', ['declare_available', 'declare_lost'], 'put_in_maintenance'],
  ['unrecoverable', ['declare_available', 'declare_lost'], 'declare_unrecoverable'],
];

/**
 * Returns the transition that restores the state that a bicycle had before another transition.
 * Undefined when no single transition does this.
 */
export function transitionBack(before: string, transition: string): Transition | undefined {
  return WAYS_BACK.find(
    ([from, transitions]) => from === before && transitions.some((name) => name === transition),
  )?.[2];
}

/**
 * Transitions that are hard to undo. fleet always asks for confirmation, and the user must type a
 * word.
 */
export const GRAVE_TRANSITIONS: readonly string[] = ['retire', 'declare_unrecoverable'];
