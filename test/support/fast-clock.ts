// A clock that simulates hours in seconds: it advances to the next timer when nothing is in flight.

import { randomFill } from 'node:crypto';
import { type Clock, systemClock } from '../../src/system/clock.js';

export interface FastClock extends Clock {
  /**
   * Sets both clocks forward without running the timers that are due, as after the sleep of a
   * machine with a monotonic clock that counts the sleep.
   */
  jump(milliseconds: number): void;
  /**
   * Moves only the date, in either direction: a user set it, or the machine slept and its monotonic
   * clock stood still.
   */
  setWall(milliseconds: number): void;
  stop(): void;
}

/**
 * A real clock that runs `speed` times as fast, so that `--settle` takes less time. `wallMs` is its
 * date; by default that of the machine. At higher speeds a slow disk looks like a suspended
 * process.
 */
export function openQuickClock(speed = 10, wallMs?: () => number): Clock {
  const real = systemClock(wallMs);
  return {
    ...real,
    monotonicMs: () => performance.now() * speed,
    after: (milliseconds, action) => real.after(milliseconds / speed, action),
  };
}

/**
 * The number of turns of the event loop for sockets between two advances. A slow machine gets the
 * same number.
 */
const TURNS_BETWEEN_LEAPS = 30;
/**
 * Each of these turns waits for a thread of the pool, so that zlib, which uses the pool, keeps up
 * on a busy machine.
 */
const TURNS_A_THREAD = 5;
/** A larger number only makes the tests slower. */
const LEAP_EVERY_MS = 1;

/** Prevents that an operation with many turns reaches a time limit at once. */
const LONGEST_LEAP_MS = 5_000;

const ONE_BYTE = Buffer.alloc(1);

export function openFastClock(startAt = Date.UTC(2026, 10, 21, 12)): FastClock {
  let time = 0;
  let wallOffset = startAt;
  let seed = 1;
  const timers = new Set<{ due: number; action: () => void }>();
  const leap = () => {
    let next: { due: number; action: () => void } | undefined;
    for (const timer of timers) if (next === undefined || timer.due < next.due) next = timer;
    if (next === undefined) return;
    if (next.due - time > LONGEST_LEAP_MS) {
      time += LONGEST_LEAP_MS;
      return;
    }
    time = Math.max(time, next.due);
    timers.delete(next);
    next.action();
  };
  let isStopped = false;
  let isTurning = false;
  const turn = (turnsLeft: number) => {
    if (isStopped) return;
    if (turnsLeft > 0) {
      if (turnsLeft % TURNS_A_THREAD === 0) return randomFill(ONE_BYTE, () => turn(turnsLeft - 1));
      return void setImmediate(turn, turnsLeft - 1);
    }
    leap();
    // Without a timer there is nothing to advance to.
    isTurning = timers.size > 0;
    if (isTurning) setTimeout(turn, LEAP_EVERY_MS, TURNS_BETWEEN_LEAPS);
  };
  return {
    monotonicMs: () => time,
    wallMs: () => time + wallOffset,
    after(milliseconds, action) {
      // Timers work as in Node: in whole milliseconds, and at least one. Otherwise the clock would
      // never reach a time that is closer than the precision of a number.
      const timer = { due: time + Math.max(1, Math.trunc(milliseconds)), action };
      timers.add(timer);
      if (!isTurning) turn(TURNS_BETWEEN_LEAPS);
      isTurning = true;
      return () => void timers.delete(timer);
    },
    // The seed makes the random numbers of a run repeatable.
    random() {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    },
    jump(milliseconds) {
      time += milliseconds;
    },
    setWall(milliseconds) {
      wallOffset += milliseconds;
    },
    stop() {
      isStopped = true;
    },
  };
}
