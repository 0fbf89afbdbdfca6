// Runs one command line from its arguments to its exit code; the only catch that ends a program.

import type { Interruption, World } from './context.js';
import { asFleetError, EXIT_CODES, errorJson, errorLines, FleetError } from './errors.js';
import { programVersion } from './place.js';
import { clean, cleanMultiline, escapeJson } from './terminal/clean.js';
import { type Io, openIo, ReaderLeft } from './terminal/io.js';

const VERSION_FLAGS: readonly string[] = ['--version', '-V', 'version'];

export { systemClock } from './clock.js';

/** Runs one command line. Resolves with the exit code of cli.md section 3; never rejects. */
export async function main(argv: readonly string[], world: World): Promise<number> {
  const io = openIo(world, argv.includes('--no-color'));
  const interruption = listenForSignals(world.signals);
  try {
    // Scripts ask for the version at each start, and need no commander for it.
    if (argv.length === 1 && VERSION_FLAGS.includes(argv[0] ?? '')) await io.stdout.write(`${programVersion()}\n`);
    else await (await import('./program.js')).runProgram(argv, world, io, interruption);
    return 0;
  } catch (thrown) {
    return await report(thrown, argv, world, io);
  } finally {
    interruption.stop();
  }
}

/** The first signal asks to end, the second urges; after it nobody listens, so a third ends the process by itself. */
function listenForSignals(signals: World['signals']): Interruption {
  const first = new AbortController();
  const second = new AbortController();
  const listeners = (['SIGINT', 'SIGTERM'] as const).map((name) => {
    const reason =
      name === 'SIGINT' ? new FleetError('interrupted', 'interrupted') : new FleetError('terminated', 'terminated');
    const listener = () => {
      if (!first.signal.aborted) return first.abort(reason);
      second.abort(reason);
      stop();
    };
    signals.on(name, listener);
    return [name, listener] as const;
  });
  function stop(): void {
    for (const [name, listener] of listeners) signals.off(name, listener);
  }
  return { signal: first.signal, urgentSignal: second.signal, stop };
}

/** Tells what ended the program, as people or programs read it, and gives the exit code. */
async function report(thrown: unknown, argv: readonly string[], world: World, io: Io): Promise<number> {
  if (thrown instanceof ReaderLeft) return 0;
  const error = asFleetError(thrown);
  // The one who pressed Ctrl-C knows.
  if (error.kind === 'interrupted' || error.kind === 'terminated') return error.exitCode;
  const lines = wantsJson(argv, world.env) ? [escapeJson(errorJson(error, io.secrets))] : errorLines(error).map(clean);
  if (error.exitCode === EXIT_CODES.internal && (argv.includes('--verbose') || argv.includes('-v'))) {
    const { stack } = error.cause instanceof Error ? error.cause : error;
    lines.push(cleanMultiline(stack ?? ''));
  }
  await io.stderr.write(`${lines.join('\n')}\n`);
  return error.exitCode;
}

/** Whether errors are wanted as JSON; read from the bare arguments, for the error may be that they cannot be parsed. */
function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const asked = argv.flatMap((argument, index) => {
    if (argument === '--json') return ['json'];
    // `-o`, also behind other short flags (`-qo json`) and with its value joined to it.
    const format = /^(?:--output(?:=|$)|-[qvV]*o=?)(.*)$/.exec(argument)?.[1];
    if (format === undefined) return [];
    return [format === '' ? (argv[index + 1] ?? '') : format];
  });
  return ['json', 'jsonl'].includes(asked.at(-1) ?? env['FLEET_OUTPUT'] ?? '');
}
