// `fleet demo`: starts a sandbox and runs fleet's own commands against it, in sequence.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { splitLine } from '../../cli/split.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { type Sandbox, startSandbox } from '../../sandbox/index.js';
import { every } from '../../system/clock.js';
import { ownCommand } from '../../system/program-files.js';
import { loadPaint } from '../../terminal/colour.js';

/**
 * A small number of bicycles keeps the lists readable. The rate of events is high enough that a
 * short watch shows some of them.
 */
const BICYCLES = 60;
const EVENTS_PER_SECOND = 3;

/** How often the demo checks whether the watch is connected. */
const LOOK_EVERY_MS = 100;

/** A small map, so that the demo stays readable. */
const MAP_COLUMNS = 80;
const MAP_ROWS = 20;

/** The name of the bicycle that the demo creates. */
const NAME = 'Demo 0001';

/**
 * The lock of the bicycle that the demo creates. A bicycle needs a lock before it can be made
 * available.
 */
const LOCK = '5f0c1d2e-3b4a-4958-8677-6a5b4c3d2e1f';

/**
 * Runs the main commands in sequence. Throws a FleetError of kind `internal` when one of them
 * fails.
 */
export async function runDemo(context: Context, { seconds }: { seconds: number }): Promise<void> {
  const sandbox = await startSandbox({ bicycles: BICYCLES, rate: EVENTS_PER_SECOND });
  const folder = await mkdtemp(join(tmpdir(), 'fleet-demo-'));
  const organization = sandbox.organizations[0]?.uuid ?? '';
  const env = {
    // The demo must not use the operator's own settings, such as a profile or a token command.
    ...Object.fromEntries(
      Object.entries(context.io.env).filter(([name]) => !name.startsWith('FLEET_')),
    ),
    FLEET_CONFIG_DIR: folder,
    FLEET_BASE_URL: sandbox.baseUrl,
    FLEET_SSE_URL: sandbox.sseUrl,
    FLEET_ORGANIZATION: organization,
    FLEET_TOKEN: await sandbox.token(),
  };
  try {
    await say(
      context,
      'A sandbox service is running on this machine; every command below is the real one.',
    );
    const show = (purpose: string, line: string) => showRun(context, env, purpose, line);
    await show(
      'The five bicycles with the lowest charge:',
      'bicycles list --ordering state_of_charge --limit 5',
    );
    await show(
      'A new bicycle with a lock, and its UUID:',
      `bicycles create --name "${NAME}" --lock ${LOCK} -o uuid`,
    );
    const uuid = sandbox.bicycles().find(({ name }) => name === NAME)?.uuid ?? '';
    await show(
      'It starts in maintenance; make it available:',
      `bicycles act ${uuid} declare_available`,
    );
    await show('The alerts that need attention:', 'alerts list --state new --limit 5');
    const stopRent = rentWhenWatched(context, sandbox, uuid);
    await show(
      `The fleet for ${seconds} seconds, while a user rents the new bicycle:`,
      `watch ${organization} --for ${seconds}s`,
    );
    stopRent();
    const columns = Math.min(MAP_COLUMNS, context.io.stdout.width() ?? MAP_COLUMNS);
    await show(
      'A map of the fleet; a number is the count of bicycles in one place:',
      `map --size ${columns},${MAP_ROWS}`,
    );
    await say(
      context,
      'Next: "fleet sandbox" keeps such a service running; "fleet --help" shows every command.',
    );
  } finally {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Rents the bicycle as soon as a watch is connected, even if simulated riders of the sandbox have
 * changed the bicycle in the meantime. Returns a function that stops waiting for the watch.
 */
function rentWhenWatched({ clock }: Context, sandbox: Sandbox, uuid: string): () => void {
  const over = new AbortController();
  every(clock, LOOK_EVERY_MS, over.signal, () => {
    if (sandbox.streamCount() === 0) return;
    over.abort();
    if (sandbox.bicycle(uuid)?.state !== 'available')
      sandbox.changeBicycle(uuid, { state: 'available' });
    sandbox.act(uuid, 'rent');
  });
  return () => over.abort();
}

async function say({ io }: Context, text: string): Promise<void> {
  const paint = await loadPaint(io.stdout.colorLevel);
  await io.stdout.write(`${paint.bold(text)}\n`);
}

/** Prints a command, and runs it. The command's output goes to fleet's own output. */
async function showRun(
  context: Context,
  env: NodeJS.ProcessEnv,
  purpose: string,
  line: string,
): Promise<void> {
  const { io, signal } = context;
  const paint = await loadPaint(io.stdout.colorLevel);
  await io.stdout.write(`\n${purpose}\n${paint.cyan(`$ fleet ${line}`)}\n`);
  const isReal = io.streams.stdout === process.stdout;
  const [file, ...first] = ownCommand();
  const child = spawn(file, [...first, ...splitLine(line)], {
    env,
    signal,
    stdio: ['ignore', isReal ? 'inherit' : 'pipe', isReal ? 'inherit' : 'pipe'],
  });
  child.stdout?.on('data', (chunk: Buffer) => void io.stdout.write(chunk));
  child.stderr?.on('data', (chunk: Buffer) => void io.stderr.write(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
  if (signal.aborted) throw signal.reason;
  if (code !== 0) throw new FleetError('internal', `"fleet ${line}" exited with ${code}`);
}
