// Runs a shell command of the operator in bounded time, and reads its output line by line.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from './clock.js';

export interface ShellOptions {
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** Stops the command: it is asked to end, and ended for good soon after. */
  signal: AbortSignal;
  /** How long it may run. */
  limitMs: number;
  /** What it reads; without it nothing, so that it cannot eat what is piped into fleet. */
  input?: string;
  /** Where there is a terminal it may ask there. Else it has a group of its own: what it starts ends with it, and Ctrl-C is ours to pass on. */
  mayAsk: boolean;
  onOutput(stdout: Readable, stderr: Readable): void;
}

/** How a command ended. */
export interface ShellEnd {
  code: number | null;
  killedBy: NodeJS.Signals | null;
  /** Why it was ended, when it was. */
  why?: 'late' | 'stopped';
  /** Why it could not be started. */
  error?: Error;
}

const isWindows = process.platform === 'win32';

/** From SIGTERM until it is killed. */
const KILL_AFTER_MS = 1_000;
/** How long its last output may take to arrive. */
const LAST_OUTPUT_MS = 500;

/** Runs a command; never rejects. What it leaves in the background is not waited for. */
export function runShell(command: string, options: ShellOptions): Promise<ShellEnd> {
  const { env, clock, signal, limitMs, input, mayAsk, onOutput } = options;
  return new Promise((resolve) => {
    const isGroup = !isWindows && !(mayAsk && hasTerminal());
    const child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env,
      detached: isGroup,
      windowsHide: !mayAsk,
    });
    let why: ShellEnd['why'];
    let cancelNext = () => {};
    const settle = (end: Omit<ShellEnd, 'why'>) => {
      cancelLimit();
      cancelNext();
      signal.removeEventListener('abort', onAbort);
      // What it started may go on although the shell itself went at the first signal.
      if (why !== undefined && isGroup) kill(child, 'SIGKILL', isGroup);
      // A process that left the group may hold the pipes.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      child.unref();
      resolve(why === undefined ? end : { ...end, why });
    };
    const stop = (reason: ShellEnd['why']) => {
      if (why !== undefined) return;
      why = reason;
      kill(child, 'SIGTERM', isGroup);
      cancelNext = clock.after(KILL_AFTER_MS, () => {
        kill(child, 'SIGKILL', isGroup);
        settle({ code: null, killedBy: 'SIGKILL' });
      });
    };
    const onAbort = () => stop('stopped');
    const cancelLimit = clock.after(limitMs, () => stop('late'));
    signal.addEventListener('abort', onAbort, { once: true });
    onOutput(child.stdout, child.stderr);
    child.on('error', (error) => settle({ code: null, killedBy: null, error }));
    child.on('exit', (code, killedBy) => {
      cancelNext();
      cancelNext = clock.after(LAST_OUTPUT_MS, () => settle({ code, killedBy }));
    });
    child.on('close', (code, killedBy) => settle({ code, killedBy }));
    // A command need not read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    if (signal.aborted) onAbort();
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Ends a command, and what it started. Windows has no groups and no SIGTERM: taskkill ends the tree at once. */
function kill(child: ChildProcess, signal: NodeJS.Signals, isGroup: boolean): void {
  const alone = () => void child.kill(signal);
  if (child.pid === undefined) return;
  try {
    if (isWindows)
      endTree(child.pid)
        .on('error', alone)
        .on('exit', (code) => code !== 0 && alone());
    else if (isGroup) process.kill(-child.pid, signal);
    else alone();
  } catch {
    alone();
  }
}

function endTree(pid: number): ChildProcess {
  return spawn(windowsProgram('taskkill.exe'), ['/t', '/f', '/pid', String(pid)], {
    stdio: 'ignore',
    windowsHide: true,
  });
}

/** A program of Windows by its whole path: by its name alone, Windows looks for it in the current directory first. */
export function windowsProgram(...names: string[]): string {
  return join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', ...names);
}

/** `ended by SIGTERM`, or with `failed`: `failed with exit code 1`. */
export function describeEnd({ code, killedBy }: ShellEnd, failed: string): string {
  return code === null ? `was ended by ${killedBy}` : `${failed} with exit code ${code}`;
}

/** Calls with each non-empty line of a stream; one that is longer than the limit comes in parts. */
export function readShellLines(
  stream: Readable,
  limitCharacters: number,
  take: (line: string) => void,
): void {
  let pending = '';
  const flush = (lines: readonly string[]) => {
    for (const line of lines) if (line.trim() !== '') take(line);
  };
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop() ?? '';
    flush(lines);
    if (pending.length < limitCharacters) return;
    flush([pending]);
    pending = '';
  });
  stream.on('end', () => flush([pending]));
  stream.on('error', () => {});
}
