// Which transitions there are, where each may start and end, and what else it asks for (interface.md section 3.1).
import type { BICYCLE_STATES } from '../api/bicycle.js';
import type { TRANSITIONS } from '../api/transitions.js';

export type SandboxState = (typeof BICYCLE_STATES)[number];

export type ServedTransition = (typeof TRANSITIONS)[number];

const ANY_TO_MAINTENANCE: readonly SandboxState[] = [
  'available',
  'lost',
  'in_maintenance',
  'unrecoverable',
];

export interface TransitionRule {
  from: readonly SandboxState[];
  to: SandboxState;
  /** Section 3.1 calls two automatic: the service runs them by itself. Assumed: a renter may run what is for riding. */
  by?: 'service' | 'renter';
  /** Observed: only the user may run it who rents or has reserved the bicycle. */
  isOwn?: true;
  /** Observed: it is announced with the state that is left. */
  isAnnounced?: true;
  /** interface.md does not name it. */
  isObserved?: true;
}

/**
 * Where each transition may start and where it ends; the first that leads to a state usually does. Assumed: the whole table; section 3.1 says
 * "Source states, target states and conditions of each transition: not shown", and section 5 "Which role may call which operation: not shown".
 */
export const TRANSITION_TABLE: { [name in ServedTransition]: TransitionRule } = {
  declare_available: { from: ['in_maintenance', 'lost', 'unrecoverable'], to: 'available' },
  reserve: { from: ['available'], to: 'reserved', by: 'renter', isAnnounced: true },
  cancel_reservation: { from: ['reserved'], to: 'available', by: 'renter', isOwn: true },
  expire_reservation: { from: ['reserved'], to: 'available', by: 'service' },
  rent: { from: ['available', 'reserved'], to: 'rented', by: 'renter', isAnnounced: true },
  return: { from: ['rented'], to: 'available', by: 'renter', isOwn: true },
  expire_rental_session: { from: ['rented'], to: 'available', by: 'service' },
  declare_lost: { from: ['in_maintenance', 'available', 'unrecoverable'], to: 'lost' },
  declare_unrecoverable: { from: ['available', 'lost'], to: 'unrecoverable' },
  take_over: { from: ANY_TO_MAINTENANCE, to: 'in_maintenance', isAnnounced: true },
  put_in_maintenance: {
    from: ['available', 'lost', 'unrecoverable'],
    to: 'in_maintenance',
    isAnnounced: true,
    isObserved: true,
  },
  force_put_in_maintenance: { from: ['reserved', 'rented', 'retired'], to: 'in_maintenance' },
  retire: { from: ['in_maintenance'], to: 'retired' },
};

const NAMES = Object.keys(TRANSITION_TABLE) as ServedTransition[];

/** Whether a transition may start in a state; a state the document does not know allows none. */
export function allowsTransition(state: string, transition: ServedTransition): boolean {
  return TRANSITION_TABLE[transition].from.some((source) => source === state);
}

/** The transitions that may start in a state, those left out that run by themselves. */
export function availableTransitions(state: string): ServedTransition[] {
  return NAMES.filter(
    (name) => TRANSITION_TABLE[name].by !== 'service' && allowsTransition(state, name),
  );
}

/** The transition that usually leads into a state, for the history of a bicycle that began in it. */
export function usualTransitionInto(state: string): ServedTransition | null {
  return NAMES.find((name) => TRANSITION_TABLE[name].to === state) ?? null;
}
