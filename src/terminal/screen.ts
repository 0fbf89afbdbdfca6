// A whole screen to draw on, and the terminal left as it was found whatever happens.

import type { Streams } from './io.js';

const ESCAPE = '\x1b';
/** The alternate screen without a cursor; leaving brings back the shell's screen and its cursor. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l`;
const LEAVE = `${ESCAPE}[?25h${ESCAPE}[?1049l`;
/** Terminals that know these two show what stands between them at once; the others ignore them. */
const BEGIN_FRAME = `${ESCAPE}[?2026h`;
const END_FRAME = `${ESCAPE}[?2026l`;

export interface Screen {
  /** The text that draws these lines from the top; each is no wider than the terminal. */
  frame(lines: readonly string[]): string;
  /** Gives the terminal back. */
  close(): void;
}

/**
 * Takes over the terminal. `onChange` is called when it has another size or came back from Ctrl-Z, and wants to be
 * drawn anew.
 */
export function openScreen(stdout: Streams['stdout'], onChange: () => void): Screen {
  // On a terminal Node writes at once, so that this works in the last moment of a crash, too.
  const leave = () => void stdout.write(LEAVE);
  const suspend = () => {
    leave();
    process.kill(process.pid, 'SIGSTOP');
  };
  const quit = () => {
    // Ctrl-\ ends the process with a core dump, as ever; the terminal is given back before.
    leave();
    process.off('SIGQUIT', quit);
    process.kill(process.pid, 'SIGQUIT');
  };
  const resume = () => {
    stdout.write(ENTER);
    onChange();
  };
  stdout.write(ENTER);
  stdout.on('resize', onChange);
  process.on('exit', leave);
  process.on('SIGTSTP', suspend);
  process.on('SIGCONT', resume);
  process.on('SIGQUIT', quit);
  return {
    frame(lines) {
      // Each line is erased before it is written: afterwards, at the right edge, its last character would go.
      const rows = lines.map((line, index) => `${ESCAPE}[${index + 1};1H${ESCAPE}[2K${line}`);
      return `${BEGIN_FRAME}${rows.join('')}${END_FRAME}`;
    },
    close() {
      stdout.off('resize', onChange);
      process.off('exit', leave);
      process.off('SIGTSTP', suspend);
      process.off('SIGCONT', resume);
      process.off('SIGQUIT', quit);
      leave();
    },
  };
}
