// `--exec`: runs one command an alert, the alert as JSON on its stdin, in bounded time; what it prints is passed on.

import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Clock } from '../../clock.js';

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
/** From being asked to end until it is ended. */
const KILL_AFTER_MS = 1_000;
/** How long its last output may take to arrive. */
const LAST_OUTPUT_MS = 500;
/** What one run may print; the rest is left out, which is said. */
const OUTPUT_LIMIT_CHARACTERS = 64 * 1024;
/** A line that is longer comes in parts. */
const LINE_LIMIT_CHARACTERS = 4_000;

/** Runs the command through the shell; resolves with why it failed, undefined when it did not. Never rejects. */
export function runCommand(command: string, input: string, options: ExecOptions): Promise<string | undefined> {
  const { env, clock, signal, say } = options;
  return new Promise((resolve) => {
    // A group of its own, so that what the shell starts ends with it, and Ctrl-C is ours to pass on.
    const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'pipe'], env, detached: true });
    let why: string | undefined;
    let cancelKill = () => {};
    let isSettled = false;
    const kill = (name: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, name);
      } catch {
        child.kill(name);
      }
    };
    const stop = (reason: string) => {
      if (why !== undefined) return;
      why = reason;
      kill('SIGTERM');
      cancelKill = clock.after(KILL_AFTER_MS, () => {
        kill('SIGKILL');
        // What has left the group may hold the pipes: nobody waits for it.
        settle(reason);
      });
    };
    const settle = (reason: string | undefined) => {
      if (isSettled) return;
      isSettled = true;
      cancelLimit();
      cancelKill();
      signal.removeEventListener('abort', onAbort);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      child.unref();
      resolve(reason);
    };
    const onAbort = () => stop('it was stopped at the end');
    const cancelLimit = clock.after(EXEC_LIMIT_MS, () => stop(`it did not end within ${EXEC_LIMIT_MS / 1000} s`));
    signal.addEventListener('abort', onAbort, { once: true });
    passOn([child.stdout, child.stderr], say);
    child.on('error', (error) => settle(`it could not be started: ${error.message}`));
    const finish = (code: number | null, killedBy: NodeJS.Signals | null) => {
      const how = code === null ? `it was ended by ${killedBy}` : `it ended with exit code ${code}`;
      settle(why ?? (code === 0 ? undefined : how));
    };
    // What it left in the background may hold its outputs open: nobody waits for that.
    child.on('exit', (code, killedBy) => {
      cancelKill();
      cancelKill = clock.after(LAST_OUTPUT_MS, () => finish(code, killedBy));
    });
    child.on('close', finish);
    // A command that does not read its input has no need of it.
    child.stdin.on('error', () => {});
    child.stdin.end(`${input}\n`);
    if (signal.aborted) onAbort();
  });
}

/** The lines of both outputs as they come, up to a limit for both together. */
function passOn(streams: readonly Readable[], say: (line: string) => void): void {
  let left = OUTPUT_LIMIT_CHARACTERS;
  const take = (line: string) => {
    if (left < 0 || line.trim() === '') return;
    left -= line.length;
    say(left < 0 ? `more than ${OUTPUT_LIMIT_CHARACTERS / 1024} kB: the rest of the output was left out` : line);
  };
  for (const stream of streams) {
    let pending = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (pending + chunk).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) take(line);
      if (pending.length < LINE_LIMIT_CHARACTERS) return;
      take(pending);
      pending = '';
    });
    stream.on('end', () => take(pending));
    stream.on('error', () => {});
  }
}
