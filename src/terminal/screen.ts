// The alternate screen and its keys. The terminal is restored at the end.

import type { Streams } from './io.js';
import { suspendJob } from './job-control.js';
import { type Key, readKeys, SIGNAL_KEYS } from './keys.js';

const ESCAPE = '\x1b';
/** Enters the alternate screen and hides the cursor. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l`;
const LEAVE = `${ESCAPE}[?25h${ESCAPE}[?1049l`;
/**
 * Synchronized output: a terminal that supports it shows everything between these two sequences at
 * once. Other terminals ignore the sequences.
 */
const BEGIN_FRAME = `${ESCAPE}[?2026h`;
const END_FRAME = `${ESCAPE}[?2026l`;

export interface Screen {
  /**
   * Returns the text that redraws the changed lines. It is empty while fleet is suspended and the
   * shell uses the terminal.
   */
  frame(lines: readonly string[]): string;
  /** Restores the terminal. */
  close(): void;
}

export interface ScreenOptions {
  stdout: Streams['stdout'];
  stdin: Streams['stdin'] & { setRawMode?: (isRaw: boolean) => void };
  /** Called when the terminal was resized or continued after Ctrl-Z. */
  onChange(): void;
  onKey(key: Key): void;
}

/** Switches the terminal to the alternate screen, and draws on it. */
export function openScreen({ stdout, stdin, onChange, onKey }: ScreenOptions): Screen {
  let isOurs = false;
  let isClosed = false;
  /** The lines on the terminal. */
  let shown: readonly string[] = [];
  // Node writes to a terminal synchronously, so the terminal is restored even when the program
  // crashes.
  const leave = () => {
    if (!isOurs) return;
    isOurs = false;
    setRaw(stdin, false);
    stdout.write(LEAVE);
  };
  const suspend = () => {
    leave();
    // The listener is removed, because otherwise SIGTSTP would not suspend this process.
    process.off('SIGTSTP', suspend);
    suspendJob(resume);
  };
  const enter = () => {
    isOurs = true;
    shown = [];
    setRaw(stdin, true);
    stdout.write(ENTER);
    onChange();
  };
  // After `kill -STOP` the alternate screen is still active, but the shell has changed the
  // terminal's mode.
  const resume = () => {
    if (isClosed) return;
    process.off('SIGTSTP', suspend).on('SIGTSTP', suspend);
    setRaw(stdin, false);
    enter();
  };
  const onResize = () => {
    shown = [];
    onChange();
  };
  const onData = (chunk: Buffer | string) => handKeys(chunk.toString(), onKey);
  const close = () => {
    isClosed = true;
    stdout.off('resize', onResize);
    stdin.off('data', onData);
    process.off('exit', leave);
    process.off('SIGTSTP', suspend).off('SIGCONT', resume).off('SIGQUIT', quit);
    leave();
    stdin.pause();
  };
  const quit = () => {
    close();
    process.kill(process.pid, 'SIGQUIT');
  };
  process.on('SIGTSTP', suspend).on('SIGCONT', resume).on('SIGQUIT', quit);
  stdout.on('resize', onResize);
  process.on('exit', leave);
  if (stdin.isTTY === true) stdin.on('data', onData);
  // Reading fails when the terminal was closed. The program then ends because of SIGHUP, so this
  // error is ignored.
  stdin.on('error', () => {});
  enter();
  return {
    frame(lines) {
      // Between Ctrl-Z and `fg` the shell uses the screen, so nothing is drawn.
      if (!isOurs) return '';
      const before = lines.length === shown.length ? shown : [];
      shown = lines;
      return drawChanges(lines, before);
    },
    close,
  };
}

function drawChanges(lines: readonly string[], before: readonly string[]): string {
  // Each line is erased before it is written. Erasing afterwards would remove the last character at
  // the right edge.
  const changed = lines.map((line, row) =>
    line === before[row] ? '' : `${ESCAPE}[${row + 1};1H${ESCAPE}[2K${line}`,
  );
  const text = changed.join('');
  return text === '' ? '' : `${BEGIN_FRAME}${text}${END_FRAME}`;
}

/**
 * Passes typed keys to `onKey`. A key that stands for a signal, such as Ctrl-C, sends this signal
 * to the process instead.
 */
function handKeys(text: string, onKey: (key: Key) => void): void {
  for (const key of readKeys(text)) {
    const signal = SIGNAL_KEYS.get(key);
    if (signal === undefined) onKey(key);
    else raise(signal);
  }
}

function setRaw(stdin: ScreenOptions['stdin'], isRaw: boolean): void {
  try {
    if (stdin.isTTY === true) stdin.setRawMode?.(isRaw);
  } catch {
    // The error is ignored, because the mode of a closed terminal does not need to be restored.
  }
}

/**
 * Does what a key such as Ctrl-C does when the terminal is not in raw mode. Windows is an
 * exception: `process.kill` would end the program immediately there, and Ctrl-Z does nothing.
 */
function raise(signal: NodeJS.Signals): void {
  if (signal === 'SIGTSTP' && process.platform === 'win32') return;
  if (!process.emit(signal, signal)) process.kill(process.pid, signal);
}
