// Runs an interactive shell in its own terminal, for tests of job control: Ctrl-Z, fg, signals and
// the restored screen.

import { spawn } from 'node:child_process';
import type { Home } from './shell.js';

export interface Terminal {
  /** Presses keys. */
  press(keys: string): void;
  /** Resolves with the output since the last call as soon as it matches. */
  until(pattern: RegExp): Promise<string>;
  /**
   * Returns whether the alternate screen is shown and whether the cursor is hidden, according to
   * all output.
   */
  screen(): { isAlternate: boolean; isCursorHidden: boolean };
  close(): Promise<void>;
}

/** The prompt of the shell. */
export const PROMPT = /ready> $/;

const LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 20;

/** Opens a terminal of 80 columns and 24 rows; needs `script` and `bash`. */
export async function openTerminal(home: Home): Promise<Terminal> {
  const child = spawn(
    'script',
    ['-qefc', 'stty cols 80 rows 24; exec bash --norc --noprofile -i', '/dev/null'],
    {
      cwd: home.folder,
      // Disables bracketed paste, so that the prompt is the last output.
      env: { ...home.env, SHELL: '/bin/sh', TERM: 'xterm', PS1: 'ready> ', INPUTRC: '/dev/null' },
      detached: true,
    },
  );
  const closed = new Promise((resolve) => child.on('close', resolve));
  let text = '';
  let seenTo = 0;
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const terminal: Terminal = {
    press: (keys) => child.stdin.write(keys),
    async until(pattern) {
      for (let leftMs = LIMIT_MS; leftMs > 0; leftMs -= LOOK_EVERY_MS) {
        const seen = text.slice(seenTo);
        if (pattern.test(seen)) {
          seenTo = text.length;
          return seen;
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
      throw new Error(
        `${pattern} did not come; what came ends in ${JSON.stringify(text.slice(-400))}`,
      );
    },
    screen: () => ({
      isAlternate: text.lastIndexOf('\u001b[?1049h') > text.lastIndexOf('\u001b[?1049l'),
      isCursorHidden: text.lastIndexOf('\u001b[?25l') > text.lastIndexOf('\u001b[?25h'),
    }),
    async close() {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The terminal ended by itself, because its last program ended.
      }
      await closed;
    },
  };
  await terminal.until(/ready> /);
  terminal.press("bind 'set enable-bracketed-paste off'\n");
  await terminal.until(PROMPT);
  return terminal;
}
