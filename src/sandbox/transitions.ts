// The transitions: their source and target states and further conditions (interface.md section
// 3.1).
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
  /**
   * Who may run the transition besides operators. Section 3.1 calls two transitions automatic,
   * which means that only the service itself runs them. Assumed: renters may run the transitions of
   * a ride.
   */
  by?: 'service' | 'renter';
  /** Observed: only the user who rents or has reserved the bicycle may run the transition. */
  isOwn?: true;
  /** Observed: before the transition, a message with the old state announces it. */
  isAnnounced?: true;
  /** Whether the transition is missing from interface.md. */
  isObserved?: true;
}

/**
 * The source and target states of each transition. The first transition into a state is the usual
 * one. Assumed: all entries of the table. Section 3.1 says "Source states, target states and
 * conditions of each transition: not shown", and section 5 "Which role may call which operation:
 * not shown".
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

/** Whether a transition may start in a state. An undocumented state allows no transitions. */
export function allowsTransition(state: string, transition: ServedTransition): boolean {
  return TRANSITION_TABLE[transition].from.some((source) => source === state);
}

/** Returns the transitions that may start in a state, except automatic ones. */
export function availableTransitions(state: string): ServedTransition[] {
  return NAMES.filter(
    (name) => TRANSITION_TABLE[name].by !== 'service' && allowsTransition(state, name),
  );
}

/**
 * Returns the usual transition into a state. It is the first entry in the history of a bicycle that
 * was created in this state.
 */
export function usualTransitionInto(state: string): ServedTransition | null {
  return NAMES.find((name) => TRANSITION_TABLE[name].to === state) ?? null;
}
