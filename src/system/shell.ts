// Runs a shell command of the operator with a time limit, and reads its output line by line.

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from './clock.js';

export interface ShellOptions {
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** Stops the command: sends SIGTERM, and kills the command soon afterwards. */
  signal: AbortSignal;
  /** The time limit. */
  limitMs: number;
  /** The command's stdin. Empty by default, so that the command cannot consume fleet's input. */
  input?: string;
  /**
   * Whether the command may ask questions on the terminal. Otherwise the command runs in its own
   * process group, so that fleet can end all processes of the command. In this case, fleet forwards
   * Ctrl-C to the process group.
   */
  mayAsk: boolean;
  onOutput(stdout: Readable, stderr: Readable): void;
}

/** How a command ended. */
export interface ShellEnd {
  code: number | null;
  killedBy: NodeJS.Signals | null;
  /** Why fleet ended the command. */
  why?: 'late' | 'stopped';
  /** Why the command could not be started. */
  error?: Error;
}

const isWindows = process.platform === 'win32';

/** The time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 1_000;
/** How long to wait for the last output after the command has ended. */
const LAST_OUTPUT_MS = 500;

/** Runs a command. Never rejects, and does not wait for background processes of the command. */
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
      // Processes that the command started may still run after the shell has ended.
      if (why !== undefined && isGroup) kill(child, 'SIGKILL', isGroup);
      // A background process that left the process group may keep the pipes open.
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
    // This error is ignored, because a command may exit or close its stdin without reading the
    // input.
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

/**
 * Ends a command and its processes. Windows has neither process groups nor SIGTERM, so taskkill
 * ends the process tree immediately.
 */
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

/**
 * Returns the absolute path of a Windows program. For a plain name, Windows would search the
 * current directory first.
 */
export function windowsProgram(...names: string[]): string {
  return join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', ...names);
}

/**
 * Describes how a command ended, such as `was ended by SIGTERM`. With `failed`, describes an exit
 * code as `failed with exit code 1`.
 */
export function describeEnd({ code, killedBy }: ShellEnd, failed: string): string {
  return code === null ? `was ended by ${killedBy}` : `${failed} with exit code ${code}`;
}

/**
 * Calls `take` with each non-empty line of a stream. A line longer than the limit is passed in
 * parts.
 */
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
