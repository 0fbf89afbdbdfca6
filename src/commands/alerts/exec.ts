// `--exec`: runs one command an alert, the alert as JSON on its stdin, in bounded time; what it prints is passed on.

import type { Clock } from '../../system/clock.js';
import { describeEnd, readShellLines, runShell } from '../../system/shell.js';

export interface ExecOptions {
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** Stops the command: it is asked to end, and ended for good soon after. */
  signal: AbortSignal;
  /** Takes what it prints, line by line, not cleaned. */
  say(line: string): void;
}

/** How long a command may run. */
export const EXEC_LIMIT_MS = 30_000;
/** What one run may print; the rest is left out, which is said. */
const OUTPUT_LIMIT_CHARACTERS = 64 * 1024;
/** A line that is longer comes in parts. */
const LINE_LIMIT_CHARACTERS = 4_000;

/** Runs the command through the shell; resolves with why it failed, undefined when it did not. Never rejects. */
export async function runCommand(
  command: string,
  input: string,
  options: ExecOptions,
): Promise<string | undefined> {
  const { say, ...rest } = options;
  let left = OUTPUT_LIMIT_CHARACTERS;
  const take = (line: string) => {
    if (left < 0) return;
    left -= line.length;
    say(
      left < 0
        ? `more than ${OUTPUT_LIMIT_CHARACTERS / 1024} kB: the rest of the output was left out`
        : line,
    );
  };
  const end = await runShell(command, {
    ...{ ...rest, limitMs: EXEC_LIMIT_MS, input: `${input}\n`, mayAsk: false },
    onOutput(...streams) {
      for (const stream of streams) readShellLines(stream, LINE_LIMIT_CHARACTERS, take);
    },
  });
  if (end.why === 'late') return `it did not end within ${EXEC_LIMIT_MS / 1000} s`;
  if (end.why === 'stopped') return 'it was stopped at the end';
  if (end.error !== undefined) return `it could not be started: ${end.error.message}`;
  return end.code === 0 ? undefined : `it ${describeEnd(end, 'ended')}`;
}
