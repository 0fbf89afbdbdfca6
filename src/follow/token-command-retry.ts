// Retries the token source (such as a token command) when it fails. Also warns about a token that
// will expire.

import type { Context } from '../context.js';
import { asFleetError } from '../errors.js';
import { readExpiry, type TokenSource } from '../settings/token.js';
import { doublingPauseMs, sleep } from '../system/clock.js';
import { showLocalTime } from '../system/time-zone.js';
import { showDuration } from '../terminal/time.js';
import { openStderr } from './stderr.js';

/**
 * The first and the longest pause between attempts to get a token. Each pause is twice as long as
 * the previous pause, up to the longest one.
 */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Fleet warns about a token that cannot be renewed and expires within this time, or before the end
 * of `--for`.
 */
const SOON_MS = 3_600_000;

/**
 * Warns about a token that expires soon. Then returns the context for a follow command, as
 * `withTokenRetries` does. `forMs` is the value of `--for`.
 */
export async function beginFollowing(context: Context, forMs?: number): Promise<Context> {
  await warnOfEnd(context, await context.token(), forMs);
  return withTokenRetries(context, forMs);
}

/**
 * Returns a context whose requests wait until a token is available. Throws a FleetError of kind
 * `config` when no token source is configured. When waiting cannot help, a request throws the error
 * of the token source.
 */
export async function withTokenRetries(context: Context, forMs?: number): Promise<Context> {
  const source = await context.token();
  const token: TokenSource = { ...source, get: () => waitForToken(context, source, forMs) };
  return {
    ...context,
    token: async () => token,
    client: (overrides) => context.client({ ...overrides, token }),
  };
}

async function warnOfEnd(
  { clock, zone, notice }: Context,
  source: TokenSource,
  forMs = SOON_MS,
): Promise<void> {
  const endsAtMs = source.isRenewable ? undefined : readExpiry(await source.get());
  const leftMs = (endsAtMs ?? 0) - clock.wallMs();
  if (endsAtMs === undefined || leftMs <= 0 || leftMs >= forMs) return;
  const end = `in ${showDuration(leftMs)}, at ${showLocalTime(endsAtMs, zone)}`;
  await notice(
    `warning: the token (${source.origin}) ends ${end}, and nothing renews it; "fleet auth login --email ADDRESS" or a token_command does`,
  );
}

/**
 * Asks for a token until one is available. Throws when the time limit is reached, or when waiting
 * cannot help.
 */
async function waitForToken(
  context: Context,
  source: TokenSource,
  forMs = Number.POSITIVE_INFINITY,
): Promise<string> {
  const { clock, signal, io } = context;
  const startMs = clock.monotonicMs();
  const stderr = openStderr(context, { form: io.isJson ? 'json' : 'lines', namesTopic: false });
  for (let attempt = 1; ; attempt++) {
    try {
      return await source.get();
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asFleetError(thrown);
      if (error.isLasting || error.kind === 'internal') throw error;
      const monotonicMs = clock.monotonicMs();
      const downMs = monotonicMs - startMs;
      if (downMs >= forMs)
        throw error.with({ kind: 'network', message: `could not get a token: ${error.message}` });
      const longestMs = doublingPauseMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      const retryInMs = Math.round(
        Math.min(forMs - downMs, (0.5 + 0.5 * clock.random()) * longestMs),
      );
      const at = {
        topic: '',
        atMs: clock.wallMs(),
        monotonicMs,
        lastLifeWallMs: undefined,
        downMs: 0,
      };
      stderr.stream({ type: 'lost', cause: 'token', error, ...at, attempt, retryInMs });
      await sleep(clock, retryInMs, signal);
    }
  }
}
