// Random numbers for tests, which are the same for the same seed.

/** Opens a generator of random numbers. */
export function openLuck(seed: number) {
  let state = (seed * 2_654_435_761 + 1) % 2_147_483_647;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  for (let index = 0; index < 5; index++) next();
  const below = (count: number) => Math.floor(next() * count);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  return { next, below, pick, chance: (share: number) => next() < share };
}
