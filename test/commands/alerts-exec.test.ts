// Tests the command of `--exec`: its limits, its output, and that all of its processes end.

import { expect, test } from 'vitest';
import { runCommand } from '../../src/follow/exec.js';
import { systemClock } from '../../src/system/clock.js';
import { openQuickClock } from '../support/fast-clock.js';

async function run(
  command: string,
  input = '{}',
  { hurry = 1, signal = new AbortController().signal } = {},
) {
  const lines: string[] = [];
  const clock = hurry === 1 ? systemClock() : openQuickClock(hurry);
  const say = (line: string) => void lines.push(line);
  const reason = await runCommand(command, input, {
    env: { PATH: process.env['PATH'] },
    clock,
    signal,
    say,
  });
  return { reason, lines };
}

test.each([
  ['cat', undefined, ['{"a":1}']],
  ['exit 3', 'it ended with exit code 3', []],
  ['kill -9 $$', 'it was ended by SIGKILL', []],
  ['echo out; echo err >&2; printf last', undefined, ['err', 'last', 'out']],
  // `true` does not read its input.
  ['true', undefined, []],
  ['/nonexistent/command 2> /dev/null', 'it ended with exit code 127', []],
])('%s: %s', async (command, reason, lines) => {
  const ended = await run(command, '{"a":1}');
  expect([ended.reason, ended.lines.sort()]).toEqual([reason, lines]);
});

test('accepts an --exec command that exits without reading its input', async () => {
  expect((await run('true', 'x'.repeat(1e6))).reason).toBeUndefined();
  expect((await run('wc -c', 'x'.repeat(1e6))).lines).toEqual(['1000001']);
});

test('an --exec command that ignores SIGTERM is killed after 30 s', async () => {
  expect((await run('sleep 1000', '{}', { hurry: 60 })).reason).toBe('it did not end within 30 s');
  expect((await run("trap '' TERM; while :; do sleep 0.1; done", '{}', { hurry: 60 })).reason).toBe(
    'it did not end within 30 s',
  );
});

test('does not wait for background processes of the --exec command', async () => {
  expect((await run('sleep 1000 & echo done')).lines).toEqual(['done']);
});

test('stops a newly started --exec command when the watch ends', async () => {
  const over = new AbortController();
  const running = run('sleep 1000', '{}', { signal: over.signal });
  setTimeout(() => over.abort(new Error('over')), 100);
  expect((await running).reason).toBe('it was stopped at the end');
  expect((await run('sleep 1000', '{}', { signal: over.signal })).reason).toBe(
    'it was stopped at the end',
  );
});

test('truncates endless output of the --exec command and reports the truncation', async () => {
  const { lines, reason } = await run(
    'head -c 1000000 /dev/zero | tr "\\0" x; yes | head -n 100000',
  );
  expect(reason).toBeUndefined();
  expect(lines.join('').length).toBeLessThan(80_000);
  expect(lines.at(-1)).toMatch(/the rest of the output was omitted/);
});
