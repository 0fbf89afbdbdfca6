// Runs one command line and returns its exit code. Errors that end the program are caught only
// here.

import { wantsJson } from './cli/wants-json.js';
import type { Signals, World } from './context.js';
import {
  asFleetError,
  type ErrorKind,
  EXIT_CODES,
  errorJson,
  errorLines,
  FleetError,
} from './errors.js';
import { isHangupIgnored } from './system/hangup.js';
import { programVersion } from './system/program-files.js';
import { hideJwts } from './system/secrets.js';
import { clean, cleanMultiline, escapeJson } from './terminal/clean.js';
import { ReaderLeft, ReaderStopped } from './terminal/delivery.js';
import { type Io, openIo } from './terminal/io.js';

const VERSION_FLAGS: readonly string[] = ['--version', '-V', 'version'];

/** The signals that ask the program to end, with the kind of the resulting error. */
const END_SIGNALS: readonly (readonly [signal: NodeJS.Signals, kind: ErrorKind])[] = [
  ['SIGINT', 'interrupted'],
  // Ctrl-Break on Windows.
  ['SIGBREAK', 'interrupted'],
  ['SIGTERM', 'terminated'],
  ['SIGHUP', 'hangup'],
];

export { systemClock } from './system/clock.js';

/** Runs one command line. Resolves with the exit code of cli.md section 3; never rejects. */
export async function main(typed: readonly string[], world: World): Promise<number> {
  const { argv, failure } = await expand(typed, world.env);
  const io = openIo(world, {
    noColor: argv.includes('--no-color'),
    isJson: wantsJson(argv, world.env),
    clock: world.clock,
    argv,
  });
  const isVerbose = argv.includes('--verbose') || argv.includes('-v');
  const signals = listenForSignals(world, io.beginEnd);
  const stopWarnings = listenForWarnings(world.signals, io, isVerbose);
  try {
    const thrown = failure ?? (await run(argv, world, io, signals));
    await io.stdout.settled();
    const ending = await closePager(io, signals);
    const exitCode = await end(thrown ?? ending, io, signals, isVerbose);
    await io.stderrSettled();
    return exitCode;
  } finally {
    signals.leaveSignals();
    stopWarnings();
    if (io.undeliveredBytes() > 0) world.abandon?.();
  }
}

/**
 * The first words of command lines that ask for help or the version. Such command lines need no
 * settings.
 */
const HELP_WORDS: readonly string[] = [...VERSION_FLAGS, '--help', '-h', 'help'];

/**
 * Expands an alias and adds the command's defaults. When the expansion fails, returns the typed
 * line, and the error as `failure`.
 */
async function expand(
  typed: readonly string[],
  env: World['env'],
): Promise<{ argv: readonly string[]; failure?: unknown }> {
  const [first] = typed;
  if (first === undefined || HELP_WORDS.includes(first)) return { argv: typed };
  try {
    return { argv: await (await import('./program.js')).expandTyped(typed, env) };
  } catch (failure) {
    return { argv: typed, failure };
  }
}

/**
 * Waits until the operator closes the pager. If a signal asks fleet to end while the pager is open,
 * resolves with the signal's reason. Ctrl-C is ignored, because it is meant for the pager.
 */
async function closePager(io: Io, { signal }: Signals): Promise<unknown> {
  const wasAborted = signal.aborted;
  await io.closePager();
  const isEnded =
    signal.aborted && !wasAborted && asFleetError(signal.reason).kind !== 'interrupted';
  return isEnded ? signal.reason : undefined;
}

/** Runs the command. Resolves with the thrown error, or with undefined on success. */
async function run(
  argv: readonly string[],
  world: World,
  io: Io,
  signals: Signals,
): Promise<unknown> {
  try {
    // The version is printed without loading commander, because some scripts read it each time they
    // start.
    const [word = '', ...others] = argv;
    const isVersion =
      VERSION_FLAGS.includes(word) && (others.length === 0 || others.join(' ') === '--json');
    const version = programVersion();
    if (isVersion) await io.stdout.write(`${io.isJson ? JSON.stringify({ version }) : version}\n`);
    else await (await import('./program.js')).runProgram(argv, world, io, signals, main);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/**
 * Listens for signals. The first signal requests a graceful shutdown, and the second one an
 * immediate exit. Fleet does not handle a third signal. A third signal therefore ends the process.
 * SIGHUP is ignored when the caller of fleet ignores it, for example with `nohup`.
 */
function listenForSignals({ signals: source, env }: World, onFirst: () => void): Signals {
  const first = new AbortController();
  const second = new AbortController();
  const ignoresHangup = isHangupIgnored(env);
  const listeners = END_SIGNALS.map(([name, kind]) => {
    const reason = new FleetError(kind, kind);
    const listener = () => {
      if (name === 'SIGHUP' && ignoresHangup) return;
      if (!first.signal.aborted) {
        first.abort(reason);
        return onFirst();
      }
      second.abort(reason);
      leaveSignals();
    };
    source.on(name, listener);
    return [name, listener] as const;
  });
  function leaveSignals(): void {
    for (const [name, listener] of listeners) {
      // The listener for SIGHUP must stay. Without it, SIGHUP would end the process.
      if (name !== 'SIGHUP' || !ignoresHangup) source.off(name, listener);
    }
  }
  return { signal: first.signal, urgentSignal: second.signal, leaveSignals };
}

/** Shows Node's own warnings, for example about an experimental feature, only with --verbose. */
function listenForWarnings(signals: World['signals'], io: Io, isVerbose: boolean): () => void {
  const listener = ({ name, message }: Error) => {
    if (!isVerbose) return;
    const line = io.isJson
      ? escapeJson(JSON.stringify({ warning: `${name}: ${message}` }))
      : clean(`${name}: ${message}`);
    void io.stderr.write(`${line}\n`);
  };
  signals.on('warning', listener);
  return () => signals.off('warning', listener);
}

/**
 * Reports the error that ended the program and any undelivered output. Resolves with the exit code.
 */
async function end(thrown: unknown, io: Io, signals: Signals, isVerbose: boolean): Promise<number> {
  const undelivered = io.stdout.undeliveredBytes();
  const lost =
    undelivered === 0
      ? undefined
      : new FleetError(
          'output',
          `up to ${undelivered} bytes of output were not delivered: the reader stopped reading`,
        );
  // After a signal, a write error or a closed pipe is not reported. The exit code is that of the
  // signal.
  const isOutputGone =
    thrown instanceof ReaderLeft || thrown instanceof ReaderStopped || isOutputError(thrown);
  const ending = signals.signal.aborted && isOutputGone ? signals.signal.reason : thrown;
  if (lost !== undefined) await report(lost, io, isVerbose);
  if (ending === undefined || ending instanceof ReaderStopped) return lost?.exitCode ?? 0;
  if (ending instanceof ReaderLeft) return 0;
  const error = asFleetError(ending);
  // Signals are not reported, because the operator sent them. SIGQUIT is checked separately,
  // because only prompts handle it.
  const isSignal = error.kind === 'quit' || END_SIGNALS.some(([, kind]) => kind === error.kind);
  if (!isSignal) await report(error, io, isVerbose);
  return error.exitCode;
}

function isOutputError(thrown: unknown): boolean {
  return thrown instanceof FleetError && thrown.kind === 'output';
}

async function report(error: FleetError, io: Io, isVerbose: boolean): Promise<void> {
  // Tokens are hidden here because the user may have typed a token in the wrong place. Fleet does
  // not know such a token as a secret yet.
  const lines = io.isJson
    ? [escapeJson(hideJwts(errorJson(error, io.secrets.hide)))]
    : errorLines(error).map(hideJwts).map(clean);
  if (error.exitCode === EXIT_CODES.internal && isVerbose) {
    const { stack = '' } = error.cause instanceof Error ? error.cause : error;
    lines.push(io.isJson ? escapeJson(JSON.stringify({ stack })) : cleanMultiline(stack));
  }
  await io.stderr.write(`${lines.join('\n')}\n`);
}
