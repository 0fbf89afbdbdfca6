// The warnings in the confirmation question before a transition.

/** Observed: force_put_in_maintenance is the only transition that a retired bicycle allows. */
export const TRANSITION_WARNINGS: { readonly [transition: string]: string } = {
  retire: 'Only force_put_in_maintenance brings a retired bicycle back.',
};
