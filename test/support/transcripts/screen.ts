// A terminal in memory: shows the output of a command as a user sees it.

import type { Terminal } from '@xterm/headless';
import xterm from '@xterm/headless';

export interface ScreenSize {
  columns: number;
  rows: number;
}

export interface ScreenContent {
  lines: string[];
  /** The lines, without the breaks of lines that are longer than the terminal is wide. */
  unbroken: string[];
  cursor: number;
  /** Whether a board or a pager draws the whole screen. */
  isAlternate: boolean;
}

export interface Screen {
  write(text: string): void;
  /** Returns all lines, also those that were scrolled out, and the number of the cursor's line. */
  read(): Promise<ScreenContent>;
  close(): void;
}

const SCROLLBACK = 10_000;

export function openScreen({ columns, rows }: ScreenSize): Screen {
  const terminal: Terminal = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: SCROLLBACK,
    convertEol: true,
    allowProposedApi: true,
  });
  return {
    write: (text) => terminal.write(text),
    async read() {
      // The terminal processes its input later, and calls back in order.
      await new Promise<void>((resolve) => terminal.write('', resolve));
      const { active } = terminal.buffer;
      const lines: string[] = [];
      const unbroken: string[] = [];
      for (let index = 0; index < active.length; index += 1) {
        const line = active.getLine(index);
        const text = line?.translateToString(true) ?? '';
        lines.push(text.trimEnd());
        if (line?.isWrapped === true) unbroken.push(`${unbroken.pop()}${text}`);
        else unbroken.push(text);
      }
      while (lines.at(-1) === '') lines.pop();
      const isAlternate = active.type === 'alternate';
      return { lines, unbroken, cursor: active.baseY + active.cursorY, isAlternate };
    },
    close: () => terminal.dispose(),
  };
}
