// What the push channel says while another writer keeps the mirror: what it had not written yet, the next one writes.

import type { Message, StreamEvent } from '../../http/stream/events.js';
import { LEASE_MS } from '../../mirror/writers.js';

/** A writer that died is replaced within 20 s: what was sent since is held, and a little more. */
const HELD_MS = 4 * LEASE_MS;
const MOST_HELD_CHARACTERS = 64 * 1024 * 1024;
/** The clocks of two hosts, and the ways of a message to them, differ by no more. */
export const SKEW_MS = 2_000;

/** What the push channel said lately, of the topics that stand. */
export function openHeld() {
  /** How topics were opened, and their messages since. */
  let events: StreamEvent[] = [];
  let size = 0;
  /** Since when no message was forgotten, and when the first came that is held. */
  let [fromMs, firstMs] = [-Infinity, Infinity];
  /** Forgets what is too old or too much, now and then. */
  const trim = ({ atMs, data }: Message) => {
    size += data.length;
    firstMs = Math.min(firstMs, atMs);
    if (size < MOST_HELD_CHARACTERS && atMs - firstMs < 2 * HELD_MS) return;
    const half = events[Math.floor(events.length / 2)]?.atMs ?? atMs;
    fromMs = size < MOST_HELD_CHARACTERS ? atMs - HELD_MS : half;
    firstMs = fromMs;
    events = events.filter((event) => event.type !== 'message' || event.atMs >= fromMs);
    size = events.reduce((sum, event) => sum + (event.type === 'message' ? event.data.length : 0), 0);
  };
  return {
    add(event: StreamEvent) {
      const { topic } = event;
      if (event.type === 'lost') events = events.filter((each) => each.topic !== topic);
      else if (event.type === 'resync') events.push({ ...event, sinceWallMs: undefined });
      else if (event.type !== 'gap') events.push(event);
      if (event.type === 'message') trim(event);
    },
    /** What the push channel was closed with for good; undefined while it is not. */
    closed: () => events.find((event) => event.type === 'closed'),
    /** Whether it is all that came since a moment of another machine's date. */
    covers(topics: Iterable<string>, wallMs: number) {
      const isOpen = (topic: string) =>
        events.some((event) => event.type === 'open' && event.topic === topic && event.atMs < wallMs - SKEW_MS);
      return fromMs < wallMs - SKEW_MS && [...topics].every(isOpen);
    },
    /** Nothing is held any more. */
    release: () => events.splice(0),
  };
}
