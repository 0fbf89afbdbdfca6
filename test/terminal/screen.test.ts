// Tests the full-screen output, which writes only changed lines.

import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { openScreen } from '../../src/terminal/screen.js';

test('redraws only changed lines unless the size or line count changes', () => {
  const stdout = new PassThrough();
  const changes: string[] = [];
  const screen = openScreen({
    stdout,
    stdin: Readable.from([]),
    onChange: () => changes.push('changed'),
    onKey() {},
  });
  const linesIn = (text: string) => text.split('\u001b[2K').length - 1;
  try {
    expect(linesIn(screen.frame(['a', 'b', 'c']))).toBe(3);
    expect(screen.frame(['a', 'b', 'c'])).toBe('');
    expect(screen.frame(['a', 'x', 'c'])).toBe('\u001b[?2026h\u001b[2;1H\u001b[2Kx\u001b[?2026l');
    expect(linesIn(screen.frame(['a', 'x']))).toBe(2);
    stdout.emit('resize');
    expect(changes).toEqual(['changed', 'changed']);
    expect(linesIn(screen.frame(['a', 'x']))).toBe(2);
  } finally {
    screen.close();
  }
  expect(screen.frame(['later'])).toBe('');
});

describe('keys that send a signal', () => {
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

  test('Ctrl-C sends SIGINT to the listeners of that signal', async () => {
    expect(await press('\x03q')).toEqual(['heard SIGINT', 'pressed q']);
  });

  test('Ctrl-Z does nothing on a platform that cannot suspend processes', async () => {
    const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('win32');
    expect(await press('\x1aq').finally(() => platform.mockRestore())).toEqual(['pressed q']);
  });
});
