// The transitions of bicycles (interface.md section 3), by name.

/**
 * The transitions of section 3.1 and their meanings. The name of a transition is the value of
 * `type` in the action request. Assumed: `put_in_maintenance` is also a transition. It was
 * observed, but section 3.1 does not list it. It cannot replace `force_put_in_maintenance`, which
 * ends a rental.
 */
export const TRANSITION_MEANINGS = {
  declare_available: 'make it visible to renters',
  rent: 'a renter starts a rental',
  return: 'a renter ends a rental',
  declare_lost: 'its location is unknown',
  declare_unrecoverable: 'its location is known, but it cannot be recovered',
  take_over: 'a crew recovered it outside the service area',
  put_in_maintenance: 'take it out of service; refused while it is rented',
  force_put_in_maintenance: 'the same, and end a rental in progress',
  retire: 'take it out of service for good; only force_put_in_maintenance brings it back',
  reserve: 'a renter reserves it',
  expire_rental_session: 'automatic: a rental took too long',
  expire_reservation: 'automatic: a reservation took too long',
  cancel_reservation: 'a renter cancels a reservation',
} as const;

export type Transition = keyof typeof TRANSITION_MEANINGS;

export const TRANSITIONS = Object.keys(TRANSITION_MEANINGS) as readonly Transition[];
