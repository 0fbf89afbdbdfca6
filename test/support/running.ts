// Starts commands that run until they are stopped, and waits for their output.

import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PROGRAM_ARGS, PROGRAM_FILE } from './program.js';
import { type RunOptions, type RunResult, runFleet } from './run.js';

export interface Running {
  stdout(): string;
  stderr(): string;
  /** The lines of stdout as JSON. */
  objects(): { [field: string]: unknown }[];
  /** The lines of stderr as JSON, those of one event. */
  events(name: string): { [field: string]: unknown }[];
  /** Resolves when the condition is true; otherwise fails with the output. */
  until(condition: () => boolean): Promise<void>;
  /** Stops it with a signal. */
  stop(signal?: NodeJS.Signals): Promise<RunResult>;
  readonly ended: Promise<RunResult>;
}

const POLL_MS = 10;
const LIMIT_MS = 120_000;

/** Resolves when the condition is true. Rejects after a long time with the text of `describe`. */
export async function eventually(
  condition: () => boolean,
  describe: () => string = () => '',
): Promise<void> {
  const startedAt = performance.now();
  while (!condition()) {
    if (performance.now() - startedAt > LIMIT_MS)
      throw new Error(`it did not happen:\n${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Returns whether a process exists. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Starts `fleet ARGS` in this process. */
export function startFleet(args: readonly string[], options: RunOptions): Running {
  const signals = new EventEmitter();
  let out = '';
  let err = '';
  const ended = runFleet(args, {
    ...options,
    signals,
    onStdout: (text) => (out += text),
    onStderr: (text) => (err += text),
  });
  return runningOf({
    stdout: () => out,
    stderr: () => err,
    ended,
    signal: (name) => void signals.emit(name, name),
  });
}

/** Starts the built `fleet ARGS` as a separate process. */
export function startProgram(args: readonly string[], env: NodeJS.ProcessEnv): Running {
  const child = spawn(PROGRAM_FILE, [...PROGRAM_ARGS, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (texts.stdout += chunk));
  child.stderr.on('data', (chunk) => (texts.stderr += chunk));
  const ended = new Promise<RunResult>((resolve) =>
    child.on('close', (code) => resolve({ code: code ?? -1, ...texts })),
  );
  const read = { stdout: () => texts.stdout, stderr: () => texts.stderr };
  return runningOf({ ...read, ended, signal: (name) => child.kill(name) });
}

interface RunningParts {
  stdout(): string;
  stderr(): string;
  ended: Promise<RunResult>;
  signal(name: NodeJS.Signals): void;
}

/** Reads the JSON objects of the complete lines of a growing text, each once. */
function openParser(read: () => string): () => { [field: string]: unknown }[] {
  const objects: { [field: string]: unknown }[] = [];
  let seen = 0;
  return () => {
    const text = read();
    const lines = text.slice(seen, text.lastIndexOf('\n') + 1).split('\n');
    for (const line of lines) if (line.startsWith('{')) objects.push(JSON.parse(line));
    seen = Math.max(seen, text.lastIndexOf('\n') + 1);
    return [...objects];
  };
}

function runningOf({ stdout, stderr, ended, signal }: RunningParts): Running {
  const events = openParser(stderr);
  return {
    stdout,
    stderr,
    objects: openParser(stdout),
    events: (name) => events().filter(({ event }) => event === name),
    until: (condition) => eventually(condition, () => `stdout: ${stdout()}\nstderr: ${stderr()}`),
    stop(name = 'SIGINT') {
      signal(name);
      return ended;
    },
    ended,
  };
}
