// `fleet sandbox`: starts the service, saves it as a profile, and keeps both alive until Ctrl-C.

import { sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { type Fault, parseFault, type Sandbox, startSandbox } from '../../sandbox/index.js';
import { findPlace } from '../../settings/place.js';
import { saveProfile, saveToken } from '../../settings/store.js';
import { readExpiry } from '../../settings/token.js';
import { drawList } from '../../terminal/list.js';

export interface SandboxFlags {
  port: number;
  ssePort: number;
  bicycles: number;
  seed: number;
  rate: number;
  pageSize: number;
  fault?: string[];
}

/** The profile that the sandbox is saved as. */
const PROFILE = 'sandbox';

/** Runs the sandbox service until the signal ends it. Throws a FleetError of kind `usage` when a port is taken. */
export async function runSandbox(context: Context, flags: SandboxFlags): Promise<void> {
  const { fault, ...options } = flags;
  const faults = (fault ?? []).map(readFault);
  const sandbox = await start(context, { ...options, faults });
  try {
    const token = await sandbox.token();
    await announce(context, sandbox, token);
    await keepProfile(context, sandbox, token);
  } finally {
    await sandbox.close();
  }
}

function readFault(text: string): Fault {
  try {
    return parseFault(text);
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error));
  }
}

async function start(context: Context, options: Parameters<typeof startSandbox>[0]): Promise<Sandbox> {
  try {
    return await startSandbox({
      ...options,
      now: context.clock.wallMs,
      onRequest: ({ method, path, status }) => {
        if (context.flags.verbose === true) void context.notice(`${method} ${path} ${status}`);
      },
    });
  } catch (error) {
    const { code, port } = error as NodeJS.ErrnoException & { port?: number };
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    throw usageError(
      `port ${port} cannot be used: ${code === 'EADDRINUSE' ? 'another program listens there' : 'not allowed'}`,
      'is a sandbox running already? else choose others with --port and --sse-port, 0 for any free one',
    );
  }
}

async function announce({ io, flags }: Context, sandbox: Sandbox, token: string): Promise<void> {
  const organization = sandbox.organizations[0]?.uuid ?? '';
  const facts = { base_url: sandbox.baseUrl, sse_url: sandbox.sseUrl, organization, token, profile: PROFILE };
  if (flags.json === true || flags.output === 'json') return io.stdout.write(`${JSON.stringify(facts)}\n`);
  const rows = Object.entries(facts).map(([name, value]) => [name, value]);
  await io.stdout.write(drawList(rows));
}

/**
 * Saves addresses, organization and token as the profile, and the token anew before it ends, so that a watch in the
 * next terminal can live longer than one token. Ends when the signal does, with its reason.
 */
async function keepProfile(context: Context, sandbox: Sandbox, firstToken: string): Promise<never> {
  const { signal, clock } = context;
  const place = findPlace(context.io.env);
  let token = firstToken;
  try {
    await saveProfile(place, PROFILE, {
      base_url: sandbox.baseUrl,
      sse_url: sandbox.sseUrl,
      organization: sandbox.organizations[0]?.uuid,
    });
    await saveToken(place, PROFILE, token);
    await context.notice(
      `saved as the profile "${PROFILE}"; in another terminal: fleet --profile ${PROFILE} bicycles list`,
    );
  } catch (error) {
    await context.notice(
      `the profile "${PROFILE}" could not be saved: ${error instanceof Error ? error.message : error}`,
    );
    await context.notice(
      `in another terminal: export FLEET_BASE_URL=${sandbox.baseUrl} FLEET_SSE_URL=${sandbox.sseUrl} FLEET_TOKEN=${token}`,
    );
  }
  for (;;) {
    await sleep(clock, halfOfLife(token, clock.wallMs()), signal);
    token = await sandbox.token();
    await saveToken(place, PROFILE, token).catch(() => {});
  }
}

/** The longest that a timer of Node can wait, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Half of what is left of a token's life, a second at least. */
function halfOfLife(token: string, now: number): number {
  const expiry = readExpiry(token);
  return expiry === undefined ? LONGEST_TIMER_MS : Math.min(LONGEST_TIMER_MS, Math.max(1000, (expiry - now) / 2));
}
