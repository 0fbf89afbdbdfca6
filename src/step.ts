// One step of a pure machine, and how steps follow each other.

/** The state after an event, and what is to be done. */
export interface Step<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

/** Nothing is to be done. */
export function same<State>(state: State): Step<State, never> {
  return { state, effects: [] };
}

/** A step, and the one after it unless all is over with the effect `end`. */
export function followedBy<State, Effect extends { readonly type: string }>(
  step: Step<State, Effect>,
  next: (state: State) => Step<State, Effect>,
): Step<State, Effect> {
  if (step.effects.length === 0) return next(step.state);
  if (isOver(step)) return step;
  const { state, effects } = next(step.state);
  return effects.length === 0 ? { state, effects: step.effects } : { state, effects: [...step.effects, ...effects] };
}

/** Effects that come before a step's own. */
export function after<State, Effect>(effects: readonly Effect[], step: Step<State, Effect>): Step<State, Effect> {
  return { state: step.state, effects: [...effects, ...step.effects] };
}

/** A step for each item in turn, until all is over. */
export function forEach<State, Effect extends { readonly type: string }, Item>(
  before: State,
  items: Iterable<Item>,
  take: (state: State, item: Item) => Step<State, Effect>,
): Step<State, Effect> {
  const effects: Effect[] = [];
  let state = before;
  for (const item of items) {
    const step = take(state, item);
    state = step.state;
    for (const effect of step.effects) effects.push(effect);
    if (isOver(step)) break;
  }
  return { state, effects };
}

function isOver({ effects }: Step<unknown, { readonly type: string }>): boolean {
  return effects.at(-1)?.type === 'end';
}

/** The state with these counts added to its own. */
export function add<State extends { readonly counts: { readonly [Name in keyof State['counts']]: number } }>(
  state: State,
  more: Partial<State['counts']>,
): State {
  const sums: { -readonly [Name in keyof State['counts']]: number } = { ...state.counts };
  for (const name in more) sums[name] += more[name] ?? 0;
  return { ...state, counts: sums };
}
