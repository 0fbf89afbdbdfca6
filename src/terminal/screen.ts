// The alternate screen and its keys; restores the terminal at the end.

import type { Streams } from './io.js';
import { type Key, readKeys, SIGNAL_KEYS } from './keys.js';

const ESCAPE = '\x1b';
/** The alternate screen without a cursor; leaving brings back the shell's screen and its cursor. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l`;
const LEAVE = `${ESCAPE}[?25h${ESCAPE}[?1049l`;
/** Synchronized output: terminals that know these two draw what is between them at once; others ignore them. */
const BEGIN_FRAME = `${ESCAPE}[?2026h`;
const END_FRAME = `${ESCAPE}[?2026l`;

export interface Screen {
  /** The text that draws these lines from the top, those that differ from the last frame; '' while the terminal is the shell's. */
  frame(lines: readonly string[]): string;
  /** Gives the terminal back. */
  close(): void;
}

export interface ScreenOptions {
  stdout: Streams['stdout'];
  stdin: Streams['stdin'] & { setRawMode?: (isRaw: boolean) => void };
  /** The terminal has another size, or came back from Ctrl-Z, and wants to be drawn anew. */
  onChange(): void;
  onKey(key: Key): void;
}

/** Takes over the terminal. */
export function openScreen({ stdout, stdin, onChange, onKey }: ScreenOptions): Screen {
  let isOurs = false;
  /** What the terminal shows. */
  let shown: readonly string[] = [];
  // On a terminal Node writes at once, so that this works in the last moment of a crash, too.
  const leave = () => {
    if (!isOurs) return;
    isOurs = false;
    setRaw(stdin, false);
    stdout.write(LEAVE);
  };
  const suspend = () => {
    leave();
    process.kill(process.pid, 'SIGSTOP');
  };
  const enter = () => {
    isOurs = true;
    shown = [];
    setRaw(stdin, true);
    stdout.write(ENTER);
    onChange();
  };
  // Who was stopped without warning (kill -STOP) still holds the screen, but the shell has set the terminal's mode meanwhile.
  const resume = () => {
    setRaw(stdin, false);
    enter();
  };
  const onResize = () => {
    shown = [];
    onChange();
  };
  const onData = (chunk: Buffer | string) => handKeys(chunk.toString(), onKey);
  const close = () => {
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
  enter();
  return {
    frame(lines) {
      // Between Ctrl-Z and `fg` nothing may be drawn: it would stay on the shell's own screen.
      if (!isOurs) return '';
      const before = lines.length === shown.length ? shown : [];
      shown = lines;
      return drawChanges(lines, before);
    },
    close,
  };
}

function drawChanges(lines: readonly string[], before: readonly string[]): string {
  // Each line is erased before it is written: afterwards, at the right edge, its last character would go.
  const changed = lines.map((line, row) =>
    line === before[row] ? '' : `${ESCAPE}[${row + 1};1H${ESCAPE}[2K${line}`,
  );
  const text = changed.join('');
  return text === '' ? '' : `${BEGIN_FRAME}${text}${END_FRAME}`;
}

/** Hands on the keys; those that are signals are raised. */
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
    // A terminal that has gone has no mode to set.
  }
}

/** Does what the key does outside raw mode. On Windows `process.kill` ends the program at once whoever listens, and Ctrl-Z stops none. */
function raise(signal: NodeJS.Signals): void {
  if (signal === 'SIGTSTP' && process.platform === 'win32') return;
  if (!process.emit(signal, signal)) process.kill(process.pid, signal);
}
