// What the push channel says while another writer keeps the mirror: what it had not written yet, the next one writes.

import type { Message, StreamEvent } from '../../http/stream/events.js';
import { LEASE_MS } from '../../mirror/engine.js';

/** A writer that died is replaced within 20 s: what was sent since is held, and a little more. */
const HELD_MS = 4 * LEASE_MS;
const MOST_HELD_CHARACTERS = 64 * 1024 * 1024;
/** The clocks of two hosts, and the ways of a message to them, differ by no more. */
export const SKEW_MS = 2_000;

/** What the push channel said lately, of the topics that stand. */
export function openHeld() {
  /** How each topic was opened. */
  const opened = new Map<string, StreamEvent[]>();
  let messages: Message[] = [];
  let size = 0;
  let fromMs = Number.NEGATIVE_INFINITY;
  let closed: StreamEvent | undefined;
  /** Forgets what is too old or too much, now and then. */
  const trim = ({ atMs, data }: Message) => {
    size += data.length;
    if (size < MOST_HELD_CHARACTERS && atMs - (messages[0]?.atMs ?? atMs) < 2 * HELD_MS) return;
    const half = messages[Math.floor(messages.length / 2)]?.atMs ?? atMs;
    fromMs = size < MOST_HELD_CHARACTERS ? atMs - HELD_MS : half;
    messages = messages.filter((message) => message.atMs >= fromMs);
    size = messages.reduce((sum, message) => sum + message.data.length, 0);
  };
  return {
    add(event: StreamEvent) {
      const { topic } = event;
      if (event.type === 'message') {
        messages.push(event);
        trim(event);
      } else if (event.type === 'lost') {
        opened.delete(topic);
        messages = messages.filter((message) => message.topic !== topic);
      } else if (event.type === 'closed') closed = event;
      else if (event.type === 'open') opened.set(topic, [event]);
      else if (event.type === 'resync') opened.get(topic)?.push({ ...event, sinceWallMs: undefined });
    },
    isClosed: () => closed !== undefined,
    /** Whether it is all that came since a moment of another machine's date. */
    covers: (topics: Iterable<string>, wallMs: number) =>
      [...topics].every((topic) => Math.max(opened.get(topic)?.[0]?.atMs ?? Infinity, fromMs) < wallMs - SKEW_MS),
    /** In the order of a connection; nothing is held any more. */
    release(): StreamEvent[] {
      const all = [...opened.values()].flat();
      return closed === undefined ? [...all, ...messages.splice(0)] : [...all, closed];
    },
  };
}
