// Which transitions there are, where each may start and end, and what else it asks for (interface.md section 3.1).
import type { BICYCLE_STATES, TRANSITIONS } from '../api/bicycle.js';

export type SandboxState = (typeof BICYCLE_STATES)[number];

export type ServedTransition = (typeof TRANSITIONS)[number];

const ANY_TO_MAINTENANCE: readonly SandboxState[] = ['available', 'lost', 'in_maintenance', 'unrecoverable'];

/**
 * Where each transition may start and where it ends. Assumed: the whole table; section 3.1 says "Source states, target
 * states and conditions of each transition: not shown".
 */
export const TRANSITION_TABLE: { [name in ServedTransition]: { from: readonly SandboxState[]; to: SandboxState } } = {
  declare_available: { from: ['in_maintenance', 'lost', 'unrecoverable'], to: 'available' },
  reserve: { from: ['available'], to: 'reserved' },
  cancel_reservation: { from: ['reserved'], to: 'available' },
  expire_reservation: { from: ['reserved'], to: 'available' },
  rent: { from: ['available', 'reserved'], to: 'rented' },
  return: { from: ['rented'], to: 'available' },
  expire_rental_session: { from: ['rented'], to: 'available' },
  declare_lost: { from: ['in_maintenance', 'available', 'unrecoverable'], to: 'lost' },
  declare_unrecoverable: { from: ['available', 'lost'], to: 'unrecoverable' },
  take_over: { from: ANY_TO_MAINTENANCE, to: 'in_maintenance' },
  put_in_maintenance: { from: ['available', 'lost', 'unrecoverable'], to: 'in_maintenance' },
  force_put_in_maintenance: { from: ['reserved', 'rented', 'retired'], to: 'in_maintenance' },
  retire: { from: ['in_maintenance'], to: 'retired' },
};

/** Section 3.1 calls these two automatic; they are the service's own. */
export const AUTOMATIC_TRANSITIONS: readonly ServedTransition[] = ['expire_rental_session', 'expire_reservation'];

/** Assumed: what a renter may run; section 5 says "Which role may call which operation: not shown". */
export const RENTER_TRANSITIONS: readonly ServedTransition[] = ['rent', 'return', 'reserve', 'cancel_reservation'];

/** Observed: what only the user may run who rents or has reserved the bicycle. */
export const OWN_TRANSITIONS: readonly ServedTransition[] = ['return', 'cancel_reservation'];

/** Observed: the transitions that are announced with the state that is left. */
export const ANNOUNCED_TRANSITIONS: readonly ServedTransition[] = [
  'reserve',
  'rent',
  'take_over',
  'put_in_maintenance',
];

/** Transitions that interface.md does not name. */
export const OBSERVED_TRANSITIONS: readonly ServedTransition[] = ['put_in_maintenance'];

/** Whether a transition may start in a state; a state the document does not know allows none. */
export function allowsTransition(state: string, transition: ServedTransition): boolean {
  return TRANSITION_TABLE[transition].from.some((source) => source === state);
}

/** The transitions that may start in a state, those left out that run by themselves. */
export function availableTransitions(state: string): ServedTransition[] {
  const names = Object.keys(TRANSITION_TABLE) as ServedTransition[];
  return names.filter((name) => !AUTOMATIC_TRANSITIONS.includes(name) && allowsTransition(state, name));
}

/** The transition that usually leads into a state, for the history of a bicycle that began in it. */
export function usualTransitionInto(state: string): ServedTransition | null {
  const usual: { [state: string]: ServedTransition } = {
    available: 'declare_available',
    reserved: 'reserve',
    rented: 'rent',
    lost: 'declare_lost',
    unrecoverable: 'declare_unrecoverable',
    in_maintenance: 'take_over',
    retired: 'retire',
  };
  return usual[state] ?? null;
}
