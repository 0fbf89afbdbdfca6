// Parses the bytes of a terminal in raw mode into keys.

/** A typed character, or the name of a special key in SEQUENCES, such as `page-up`. */
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

/** The keys for which a terminal sends a signal when it is not in raw mode. */
export const SIGNAL_KEYS: ReadonlyMap<Key, NodeJS.Signals> = new Map([
  ['\x03', 'SIGINT'],
  ['\x1a', 'SIGTSTP'],
  ['\x1c', 'SIGQUIT'],
]);

/** Matches one key: an escape sequence or a character. Unknown sequences are ignored. */
const KEY = /\x1b(?:\[[\d;]{0,16}[A-Za-z~]|O[A-Za-z])|[\s\S]/gu;

/**
 * Parses a chunk of input into keys. A chunk with more than 100 keys was pasted, and only its first
 * 100 keys are returned.
 */
export function readKeys(input: string): Key[] {
  const keys: Key[] = [];
  for (const [text] of input.slice(0, 1_000).matchAll(KEY)) {
    const key = SEQUENCES.get(text) ?? (text.startsWith('\x1b') ? undefined : text);
    if (key !== undefined && keys.length < 100 && (key >= ' ' || SIGNAL_KEYS.has(key)))
      keys.push(key);
  }
  return keys;
}
