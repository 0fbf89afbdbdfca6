// `fleet sandbox`: starts the simulated service, saves it as a profile, and renews its token until
// the user presses Ctrl-C.

import type { Context } from '../../context.js';
import { messageOf, usageError } from '../../errors.js';
import type { Recorded, Sandbox, SandboxOptions } from '../../sandbox/index.js';
import { parseFault, parseWebhookUrl, startSandbox } from '../../sandbox/index.js';
import { findPlace, type SettingsFolder } from '../../settings/config-folder.js';
import {
  renewSandboxToken,
  SANDBOX_PROFILE,
  saveSandboxProfile,
} from '../../settings/sandbox-profile.js';
import { readExpiry } from '../../settings/token.js';
import { sleep } from '../../system/clock.js';
import { setVariables } from '../../system/shell-words.js';
import { drawList } from '../../terminal/list.js';
import type { SandboxFlags } from './flags.js';

/**
 * Runs the sandbox until a signal ends it. Throws a FleetError of kind `usage` when another program
 * uses one of the ports.
 */
export async function runSandbox(context: Context, flags: SandboxFlags): Promise<void> {
  const { replay, since, speed, ...others } = flags;
  if (replay === undefined) {
    if (since !== undefined) throw usageError('--since needs --replay');
    if (speed !== undefined)
      throw usageError(
        '--speed needs --replay',
        'without --replay, set the number of events per second, for example: --rate 20',
      );
    return serve(context, others);
  }
  const { withPast } = await import('./replay.js');
  await withPast(context, { to: replay, since, speed: speed ?? 1 }, (recorded, play) =>
    serve(context, others, { recorded, play }),
  );
}

interface Replay {
  recorded: Recorded;
  play(sandbox: Sandbox): Promise<void>;
}

async function serve(
  context: Context,
  { fault, webhook, webhookSecret, ...given }: Omit<SandboxFlags, 'replay' | 'since' | 'speed'>,
  replay?: Replay,
): Promise<void> {
  // The global flag `--page-size` has the same name as the sandbox's own flag, so commander stores
  // the value with the global flags.
  const served = { ...given, pageSize: context.flags.pageSize ?? given.pageSize };
  const options = replay === undefined ? served : { ...served, rate: 0, recorded: replay.recorded };
  const faults = (fault ?? []).map((text) => orUsageError(() => parseFault(text)));
  const sandbox = await start(context, {
    ...options,
    ...readWebhook(webhook, webhookSecret),
    faults,
  });
  try {
    const token = await sandbox.token();
    const place = findPlace(context.io.env);
    const isSaved = await saveAsProfile(context, place, sandbox, token);
    await announce(context, sandbox, token, isSaved);
    await Promise.all([keepToken(context, place, sandbox, token), replay?.play(sandbox)]);
  } finally {
    await sandbox.close();
  }
}

function readWebhook(
  url: string | undefined,
  secret: string | undefined,
): Pick<SandboxOptions, 'webhook'> {
  if (url === undefined) {
    if (secret === undefined) return {};
    throw usageError('--webhook-secret needs --webhook, the address that receives the webhooks');
  }
  const { href } = orUsageError(() => parseWebhookUrl(url));
  return { webhook: { url: href, ...(secret === undefined ? {} : { secret }) } };
}

function orUsageError<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw usageError(messageOf(error));
  }
}

async function start(
  context: Context,
  options: Parameters<typeof startSandbox>[0],
): Promise<Sandbox> {
  try {
    return await startSandbox({
      ...options,
      now: context.clock.wallMs,
      onRequest: ({ method, url, status }) => {
        if (context.flags.verbose === true) void context.notice(`${method} ${url} ${status}`);
      },
    });
  } catch (error) {
    const { code, port } = error as NodeJS.ErrnoException & { port?: number };
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    throw usageError(
      `port ${port} cannot be used: ${code === 'EADDRINUSE' ? 'another program is already using this port' : 'this user is not allowed to use it'}`,
      'check whether a sandbox is already running, or choose other ports with --port and --sse-port (0 selects a free port)',
    );
  }
}

async function announce(
  { io, flags }: Context,
  sandbox: Sandbox,
  token: string,
  isSaved: boolean,
): Promise<void> {
  const profile = isSaved ? SANDBOX_PROFILE : null;
  const result = {
    base_url: sandbox.baseUrl,
    sse_url: sandbox.sseUrl,
    organization: sandbox.organizations[0]?.uuid,
    token,
    profile,
  };
  if (flags.json === true || flags.output === 'json')
    return io.stdout.write(`${JSON.stringify(result)}\n`);
  const rows = Object.entries(result).map(([name, value]) => [name, value ?? '-']);
  await io.stdout.write(drawList(rows));
}

/**
 * Saves the URLs, the organization and the token as a profile. Prints how to use them in another
 * terminal. Returns whether the profile was saved.
 */
async function saveAsProfile(
  context: Context,
  place: SettingsFolder,
  sandbox: Sandbox,
  token: string,
) {
  const { baseUrl, sseUrl } = sandbox;
  try {
    const values = {
      base_url: baseUrl,
      sse_url: sseUrl,
      organization: sandbox.organizations[0]?.uuid ?? '',
    };
    await saveSandboxProfile(place, values, token);
    await context.notice(`saved as the profile "${SANDBOX_PROFILE}"; in another terminal, run:`);
    await context.notice(`  fleet --profile ${SANDBOX_PROFILE} bicycles list`);
    return true;
  } catch (error) {
    await context.notice(`the profile "${SANDBOX_PROFILE}" was not saved: ${messageOf(error)}`);
    // fleet hides the token in everything that it prints on stderr. A printed command with the token
    // would therefore not work when it is pasted.
    const variables = { FLEET_BASE_URL: baseUrl, FLEET_SSE_URL: sseUrl };
    await context.notice(`in another terminal, run: ${setVariables(variables)}`);
    await context.notice('there, also set FLEET_TOKEN to the token in the output');
    return false;
  }
}

/**
 * Renews the stored token before it expires. A watch in another terminal can therefore run for
 * longer than the lifetime of one token. Rejects with the signal's reason when the signal is
 * aborted.
 */
async function keepToken(
  context: Context,
  place: SettingsFolder,
  sandbox: Sandbox,
  firstToken: string,
): Promise<never> {
  const { signal, clock } = context;
  let token = firstToken;
  for (;;) {
    // The token is renewed after half of its remaining time, but not before one second.
    const expiry = readExpiry(token) ?? Number.POSITIVE_INFINITY;
    await sleep(clock, Math.max(1000, (expiry - clock.wallMs()) / 2), signal);
    token = await sandbox.token();
    // Another sandbox or a login may have changed the profile. In this case the token is not
    // renewed. This is not an error.
    await renewSandboxToken(place, sandbox.baseUrl, token).catch(() => {});
  }
}
