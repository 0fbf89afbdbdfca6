// Parses the bytes of a terminal in raw mode into keys.

/** A character, or a name of SEQUENCES such as `page-up`. */
export type Key = string;

const SEQUENCES: ReadonlyMap<string, Key> = new Map([
  ['\x1b[A', 'up'],
  ['\x1bOA', 'up'],
  ['\x1b[B', 'down'],
  ['\x1bOB', 'down'],
  ['\x1b[C', 'right'],
  ['\x1bOC', 'right'],
  ['\x1b[D', 'left'],
  ['\x1bOD', 'left'],
  ['\t', 'tab'],
  ['\x1b[Z', 'back-tab'],
  ['\x1b[5~', 'page-up'],
  ['\x1b[6~', 'page-down'],
  ['\r', 'enter'],
  ['\n', 'enter'],
  ['\x1b', 'escape'],
  ['\x7f', 'backspace'],
  ['\b', 'backspace'],
]);

/** The keys that a terminal in raw mode turns into signals no more. */
export const SIGNAL_KEYS: ReadonlyMap<Key, NodeJS.Signals> = new Map([
  ['\x03', 'SIGINT'],
  ['\x1a', 'SIGTSTP'],
  ['\x1c', 'SIGQUIT'],
]);

/** One key, an escape sequence or a character; sequences that are not known are left out. */
const KEY = /\x1b(?:\[[\d;]{0,16}[A-Za-z~]|O[A-Za-z])|[\s\S]/gu;

/** What a piece of input holds; more than a hundred keys at once is a paste, and its rest is left out. */
export function readKeys(input: string): Key[] {
  const keys: Key[] = [];
  for (const [text] of input.slice(0, 1_000).matchAll(KEY)) {
    const key = SEQUENCES.get(text) ?? (text.startsWith('\x1b') ? undefined : text);
    if (key !== undefined && keys.length < 100 && (key >= ' ' || SIGNAL_KEYS.has(key)))
      keys.push(key);
  }
  return keys;
}
