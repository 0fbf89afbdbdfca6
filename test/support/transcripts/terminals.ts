// Runs the command lines of a transcript: in this process if they only need fleet, otherwise with
// bash and the built program.

import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { runFleet } from '../run.js';
import { eventually } from '../running.js';
import { type PlainCommand, readPlainLine } from './plain-line.js';

/** A command that was started in a terminal. */
export interface RunningCommand {
  stdout(): string;
  stderr(): string;
  /** The exit code; undefined while the command runs. */
  code(): number | undefined;
  signal(name: NodeJS.Signals): void;
  type(text: string): void;
  /** Resolves when the condition is true, or when the command has ended. */
  until(condition: () => boolean): Promise<void>;
}

/** The parts that all commands of a transcript share. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  /** The folder in which bash runs. The current folder of this process must be the same. */
  folder: string;
  now: () => number;
}

export interface StartOptions {
  stdin: string | undefined;
  /** Whether the line must run with bash and the built program. */
  isBuilt: boolean;
}

/** The exit code that a shell reports for a process that a signal ended. */
const SIGNAL_CODE = 128;
const SIGNAL_NUMBERS: { readonly [name: string]: number } = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGKILL: 9,
  SIGTERM: 15,
};

export function startCommand(
  { env, folder, now }: Surroundings,
  line: string,
  { stdin, isBuilt }: StartOptions,
): RunningCommand {
  const plain = isBuilt ? undefined : readPlainLine(line);
  return plain?.every(({ words }) => words[0] === 'fleet') === true
    ? startPlain(plain, env, now, stdin)
    : startBash(line, env, folder, stdin);
}

interface State {
  stdout: string;
  stderr: string;
  code: number | undefined;
  error: unknown;
}

function commandOf(state: State, hands: Pick<RunningCommand, 'signal' | 'type'>): RunningCommand {
  return {
    stdout: () => state.stdout,
    stderr: () => state.stderr,
    code: () => state.code,
    ...hands,
    async until(condition) {
      const isDone = () => state.code !== undefined || state.error !== undefined || condition();
      await eventually(isDone, () => `stdout: ${state.stdout}\nstderr: ${state.stderr}`);
      if (state.error !== undefined) throw state.error;
    },
  };
}

function startPlain(
  commands: readonly PlainCommand[],
  env: NodeJS.ProcessEnv,
  now: () => number,
  stdin = '',
): RunningCommand {
  const signals = new EventEmitter();
  const state: State = { stdout: '', stderr: '', code: undefined, error: undefined };
  const run = async () => {
    let piped = stdin;
    let code = 0;
    for (const [index, command] of commands.entries()) {
      const isLast = index === commands.length - 1;
      const result = await runFleet(command.words.slice(1), {
        env: { ...env, ...command.env },
        stdin: piped,
        now,
        signals,
        onStdout: (text) => {
          if (isLast) state.stdout += text;
        },
        onStderr: (text) => {
          state.stderr += text;
        },
      });
      piped = result.stdout;
      if (result.code !== 0) code = result.code;
    }
    state.code = code;
  };
  run().catch((error: unknown) => {
    state.error = error;
  });
  return commandOf(state, {
    signal: (name) => void signals.emit(name, name),
    type: () => {
      throw new Error('a line that types needs a terminal');
    },
  });
}

function startBash(
  line: string,
  env: NodeJS.ProcessEnv,
  folder: string,
  stdin: string | undefined,
): RunningCommand {
  const state: State = { stdout: '', stderr: '', code: undefined, error: undefined };
  const script = stdin === undefined ? line : withoutHereDocument(line);
  const child = spawn('bash', ['-c', `set -o pipefail; ${script}`], {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  // A command that does not read its input may end before the input is written.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin ?? '');
  child.stdout.setEncoding('utf8').on('data', (text: string) => (state.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (state.stderr += text));
  child.on('error', (error) => (state.error = error));
  child.on('close', (code, signal) => {
    state.code = code ?? SIGNAL_CODE + (SIGNAL_NUMBERS[signal ?? ''] ?? 0);
  });
  return commandOf(state, {
    signal: (name) => {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    },
    type: () => {
      throw new Error('a line that types needs a terminal');
    },
  });
}

/** The runner passes the text on stdin itself. */
function withoutHereDocument(line: string): string {
  return line.replace(/\s*<<'?\w+'?/, '');
}
