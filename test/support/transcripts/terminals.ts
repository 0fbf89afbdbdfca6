// Runs the command lines of a transcript: in this process if they only need fleet, otherwise with
// bash and the built program.

import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { Clock } from '../../../src/system/clock.js';
import { runFleet } from '../run.js';
import { eventually } from '../running.js';
import { type PlainCommand, readPlainLine } from './plain-line.js';
import { openScreen, type Screen, type ScreenSize } from './screen.js';

/** A command that was started in a terminal. */
export interface RunningCommand {
  stdout(): string;
  stderr(): string;
  /** The screen, if the command runs in a terminal. It shows both streams. */
  screen: Screen | undefined;
  /** The exit code; undefined while the command runs. */
  code(): number | undefined;
  signal(name: NodeJS.Signals): void;
  /** Presses keys. Only possible in a terminal of the built program. */
  press(keys: string): void;
  /**
   * Resolves when the condition is true, or when the command has ended. `describe` returns what the
   * caller waits for.
   */
  until(condition: () => boolean, describe?: () => string): Promise<void>;
}

/** The parts that all commands of a transcript share. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  /** The folder in which bash runs. The current folder of this process must be the same. */
  folder: string;
  now: () => number;
  /** Replaces the clock of lines that run in this process. */
  clock?: Clock;
}

export interface StartOptions {
  stdin: string | undefined;
  /** Whether the line must run with bash and the built program. */
  isBuilt: boolean;
  /** The size of the terminal; undefined for pipes. */
  terminal: ScreenSize | undefined;
  /** `bash` by default. */
  shell?: string;
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
  surroundings: Surroundings,
  line: string,
  options: StartOptions,
): RunningCommand {
  const plain = options.isBuilt ? undefined : readPlainLine(line);
  const isFleet = plain?.every(({ words }) => words[0] === 'fleet') === true;
  if (isFleet) return startPlain(plain, surroundings, options);
  return options.terminal === undefined
    ? startBash(line, surroundings, options)
    : startInTerminal(line, surroundings, options.terminal);
}

interface State {
  stdout: string;
  stderr: string;
  code: number | undefined;
  error: unknown;
  screen: Screen | undefined;
}

function openState(terminal: ScreenSize | undefined): State {
  const screen = terminal === undefined ? undefined : openScreen(terminal);
  return { stdout: '', stderr: '', code: undefined, error: undefined, screen };
}

function commandOf(state: State, hands: Pick<RunningCommand, 'signal' | 'press'>): RunningCommand {
  return {
    stdout: () => state.stdout,
    stderr: () => state.stderr,
    screen: state.screen,
    code: () => state.code,
    ...hands,
    async until(condition, describe = () => 'the command must end') {
      const isDone = () => state.code !== undefined || state.error !== undefined || condition();
      await eventually(
        isDone,
        () => `${describe()}\nstdout: ${state.stdout}\nstderr: ${state.stderr}`,
      );
      if (state.error !== undefined) throw state.error;
    },
  };
}

function refuseKeys(): never {
  throw new Error('keys can only be pressed in a block with "console terminal"');
}

function startPlain(
  commands: readonly PlainCommand[],
  { env, now, clock }: Surroundings,
  { stdin = '', terminal }: StartOptions,
): RunningCommand {
  const signals = new EventEmitter();
  const state = openState(terminal);
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
        ...(clock === undefined ? {} : { clock }),
        ...(terminal === undefined || !isLast ? {} : { terminal }),
        onStdout: (text) => {
          if (!isLast) return;
          state.stdout += text;
          state.screen?.write(text);
        },
        onStderr: (text) => {
          state.stderr += text;
          state.screen?.write(text);
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
    press: refuseKeys,
  });
}

function startBash(
  line: string,
  { env, folder }: Surroundings,
  { stdin, shell = 'bash' }: StartOptions,
): RunningCommand {
  const state = openState(undefined);
  const text = stdin === undefined ? line : withoutHereDocument(line);
  const script = shell === 'bash' ? `set -o pipefail; ${text}` : text;
  const child = spawn(shell, ['-c', script], {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  // A command that does not read its input may end before the input is written.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin ?? '');
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    state.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    state.stderr += text;
  });
  return childCommand(child, state, refuseKeys);
}

function startInTerminal(
  line: string,
  { env, folder }: Surroundings,
  size: ScreenSize,
): RunningCommand {
  const state = openState(size);
  const shell = `stty cols ${size.columns} rows ${size.rows}; exec bash -c ${quote(`set -o pipefail; ${line}`)}`;
  const child = spawn('script', ['-qefc', shell, '/dev/null'], {
    cwd: folder,
    env: { ...env, SHELL: '/bin/sh', TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  child.stdin.on('error', () => {});
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    state.stdout += text;
    state.screen?.write(text);
  });
  return childCommand(child, state, (keys) => void child.stdin.write(keys));
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function childCommand(
  child: ChildProcess,
  state: State,
  press: RunningCommand['press'],
): RunningCommand {
  child.on('error', (error) => {
    state.error = error;
  });
  child.on('close', (code, signal) => {
    state.code = code ?? SIGNAL_CODE + (SIGNAL_NUMBERS[signal ?? ''] ?? 0);
  });
  return commandOf(state, {
    press,
    signal: (name) => {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    },
  });
}

/** The runner passes the text on stdin itself. */
function withoutHereDocument(line: string): string {
  return line.replace(/\s*<<'?\w+'?/, '');
}
