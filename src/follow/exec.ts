// Runs the `--exec` command for each alert, with a time limit. The command gets the alert as JSON
// on stdin. Its output is printed.

import type { Clock } from '../system/clock.js';
import { describeEnd, readShellLines, runShell } from '../system/shell.js';

export interface ExecOptions {
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** When this signal is aborted, the command gets SIGTERM and is killed soon afterwards. */
  signal: AbortSignal;
  /** Receives each line of output. The line may contain control characters. */
  say(line: string): void;
}

/** The maximum run time of the command. */
export const EXEC_LIMIT_MS = 30_000;
/** The maximum output of one run. Further output is dropped with a notice. */
const OUTPUT_LIMIT_CHARACTERS = 64 * 1024;
/** Longer lines are printed in several parts. */
const LINE_LIMIT_CHARACTERS = 4_000;

/**
 * Runs a command through the shell. Resolves with the reason for a failure, or with undefined on
 * success. Never rejects.
 */
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
        ? `more than ${OUTPUT_LIMIT_CHARACTERS / 1024} kB: the rest of the output was omitted`
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
