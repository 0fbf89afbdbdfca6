// Makes the monotonic clock and the timers of the process that loads this file run faster by a
// factor.

export function speedUp(times) {
  // The functions that src/system/clock.ts reads.
  const nanoseconds = process.hrtime.bigint;
  process.hrtime.bigint = () => BigInt(Math.round(Number(nanoseconds()) * times));
  const later = globalThis.setTimeout;
  const sooner = (action, milliseconds = 0, ...rest) =>
    later(action, milliseconds / times, ...rest);
  globalThis.setTimeout = Object.assign(sooner, later);
}
