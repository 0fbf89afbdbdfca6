// The whole screen: what is written for a canvas is only what differs from the one that the terminal shows.

import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { openCanvas, put } from '../../src/terminal/canvas.js';
import { NO_PAINT } from '../../src/terminal/colour.js';
import { openScreen } from '../../src/terminal/screen.js';

function canvasOf(text: string, width = 20) {
  const canvas = openCanvas(width, 3);
  put(canvas, 2, 1, text);
  return canvas;
}

test('whole at first, then what differs, and whole again after lines, another size and a resize', () => {
  const stdout = new PassThrough();
  const changes: string[] = [];
  const screen = openScreen({ stdout, stdin: Readable.from([]), onChange: () => changes.push('changed'), onKey() {} });
  const draw = (text: string, width?: number) => screen.draw(canvasOf(text, width), NO_PAINT);
  const isWhole = (text: string) => text.split('\u001b[2K').length - 1 === 3;
  try {
    expect(isWhole(draw('one'))).toBe(true);
    expect(draw('one')).toBe('');
    expect(draw('ono')).toBe('\u001b[?2026h\u001b[2;5Ho\u001b[?2026l');
    expect(isWhole(screen.frame(['a', 'b', 'c']))).toBe(true);
    expect(isWhole(draw('ono'))).toBe(true);
    expect(isWhole(draw('ono', 21))).toBe(true);
    stdout.emit('resize');
    expect(changes).toEqual(['changed', 'changed']);
    expect(isWhole(draw('ono', 21))).toBe(true);
  } finally {
    screen.close();
  }
  expect(draw('later')).toBe('');
});

describe('a key that means a signal', () => {
  /** Presses keys on a screen where `process.kill` would end the program at once, as it does on Windows. */
  async function press(keys: string): Promise<string[]> {
    const did: string[] = [];
    const listen = (signal: string) => did.push(`heard ${signal}`);
    const kill = vi.spyOn(process, 'kill').mockImplementation((_pid, signal) => {
      did.push(`killed by ${signal}`);
      return true;
    });
    process.on('SIGINT', listen);
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const screen = openScreen({
      stdout: new PassThrough(),
      stdin,
      onChange() {},
      onKey: (key) => did.push(`pressed ${key}`),
    });
    stdin.write(keys);
    await new Promise((resolve) => setImmediate(resolve));
    screen.close();
    process.off('SIGINT', listen);
    kill.mockRestore();
    return did;
  }

  test('Ctrl-C is heard by who listens to the signal', async () => {
    expect(await press('\x03q')).toEqual(['heard SIGINT', 'pressed q']);
  });

  test('Ctrl-Z does nothing where there is no such signal', async () => {
    const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('win32');
    expect(await press('\x1aq').finally(() => platform.mockRestore())).toEqual(['pressed q']);
  });
});
