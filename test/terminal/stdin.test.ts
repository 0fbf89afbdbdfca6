// Tests unreadable and oversized stdin, and the splitting into lines.

import { spawn } from 'node:child_process';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { splitLines } from '../../src/input/lines.js';
import { decodeText } from '../../src/input/text-decoding.js';
import { inputChunks, readStdin } from '../../src/terminal/stdin.js';
import { isLong } from '../support/often.js';
import { PROGRAM_ARGS, PROGRAM_FILE } from '../support/program.js';
import { refusal } from '../support/refusal.js';
import { runFleet } from '../support/run.js';
import { makeHome, runLine } from '../support/shell.js';
import { openTerminal, PROMPT } from '../support/terminal.js';
import { hasTool } from '../support/tools.js';

/** No server listens at this URL. */
const ENV = { FLEET_BASE_URL: 'http://127.0.0.1:9', FLEET_TOKEN: 'secret-token' };

describe('an unreadable stdin causes a usage error with the reason', () => {
  it.each([
    'bicycles act - rent --yes',
    ...(isLong
      ? ['bicycles create --from - --yes', 'auth login --with-token --base-url http://127.0.0.1:9']
      : []),
  ])('of fleet %s', async (args) => {
    const home = await makeHome({
      ...ENV,
      FLEET_ORGANIZATION: '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11',
    });
    const text = expect.stringContaining('stdin cannot be read: bad file descriptor');
    expect(await runLine(home, `fleet ${args} 0> written > /dev/null`)).toEqual({ code: 2, text });
  });

  it('treats an empty file and /dev/null as empty input', async () => {
    const line = (file: string) =>
      `touch empty; fleet api /bicycles/ --input - < ${file} > /dev/null`;
    for (const file of ['empty', '/dev/null'])
      expect((await runLine(await makeHome(ENV), line(file))).text).toContain(
        '--input is not JSON',
      );
  });
});

describe('input errors', () => {
  it('stops reading at an error while the writer is running', async () => {
    const child = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, 'bicycles', 'act', '-', 'rent'], {
      env: { ...process.env, ...ENV },
    });
    child.stdin.write('no UUID\n');
    const ended = new Promise((resolve) => child.on('exit', resolve));
    expect(
      await Promise.race([
        ended,
        new Promise((resolve) => setTimeout(resolve, 20_000, 'it waits')),
      ]),
    ).toBe(2);
  });

  it.runIf(hasTool('script'))(
    'an error ends reading from a user who could continue to type',
    async () => {
      const home = await makeHome(ENV);
      const terminal = await openTerminal(home);
      onTestFinished(terminal.close);
      terminal.press('fleet bicycles act - rent; echo "code $?"\n');
      await terminal.until(/rent; echo/);
      terminal.press('no UUID\n');
      expect(await terminal.until(PROMPT)).toContain('code 2');
    },
  );
});

describe('stdin limits', () => {
  const context = (stdin: Readable, signal = new AbortController().signal) =>
    ({ io: { stdin }, signal }) as unknown as Parameters<typeof inputChunks>[0];

  it('reads at most 64 MB', async () => {
    const megabyte = Buffer.alloc(1024 * 1024, 0x20);
    const pieces = (count: number) => Readable.from(Array.from({ length: count }, () => megabyte));
    expect(await readStdin(context(pieces(64)))).toHaveLength(64 * megabyte.length);
    await expect(readStdin(context(pieces(65)))).rejects.toMatchObject(refusal('usage', /64 MB/));
    const run = await runFleet(['api', '/x/', '--input', '-'], { env: ENV, stdin: pieces(65) });
    expect(run).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('stdin has more than 64 MB'),
    });
  });

  it('a signal ends the wait for input', async () => {
    const abort = new AbortController();
    const reading = readStdin(context(new PassThrough(), abort.signal));
    abort.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });

  const linesOf = async (pieces: readonly (string | Uint8Array)[]) => {
    const lines: string[] = [];
    const chunks = inputChunks(context(Readable.from(pieces)), '-');
    const text = await decodeText(chunks, 'stdin', undefined);
    for await (const { text: line, end } of splitLines(text.pieces, 'stdin'))
      lines.push(line + end);
    return lines;
  };

  it('splits input into the same lines for any chunk size', async () => {
    const text = '\uFEFFa\r\nb\n\nc\rd\r\re\r\r\nŽ🚲\nlast';
    const lines = ['a\r\n', 'b\n', '\n', 'c\r', 'd\r', '\r', 'e\r', '\r\n', 'Ž🚲\n', 'last'];
    const bytes = [...Buffer.from(text)].map((byte) => Uint8Array.of(byte));
    expect(await linesOf(bytes)).toEqual(lines);
    expect(await linesOf([Buffer.from(text)])).toEqual(lines);
    expect(await linesOf([Buffer.from('a\rb\r')])).toEqual(['a\r', 'b\r']);
    expect(await linesOf([])).toEqual([]);
  });

  it('rejects a line of more than a megabyte', async () => {
    const long = 'x'.repeat(1024 * 1024);
    expect(await linesOf([`${long}\na`])).toEqual([`${long}\n`, 'a']);
    await expect(linesOf([`${long}x\n`])).rejects.toThrow('longer than a megabyte');
    await expect(linesOf([long, 'x'])).rejects.toThrow('longer than a megabyte');
  });
});
