// Asks the token source again when it failed at the start (a token command is run again), and warns of a token that will expire.

import type { Context } from '../../../context.js';
import { asFleetError, FleetError } from '../../../errors.js';
import { readExpiry, type TokenSource } from '../../../settings/token.js';
import { doublingPauseMs, sleep } from '../../../system/clock.js';
import { showLocalTime } from '../../../system/time-zone.js';
import { showDuration } from '../../../terminal/time.js';
import { openStderr } from './stderr.js';

/** The pauses between two tries for a token; each is twice as long as the one before. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** A token that nothing renews is announced when it ends sooner than this, or than `--for`. */
const SOON_MS = 3_600_000;

/**
 * The context in which what follows something is planned, as `patiently` gives it; says first when the token will end. `forMs` is when the
 * command ends by itself.
 */
export async function beginFollowing(context: Context, forMs?: number): Promise<Context> {
  await warnOfEnd(context, await context.token(), forMs);
  return patiently(context, forMs);
}

/**
 * A context whose requests wait for a token, as connections do later. Throws a FleetError of kind `config` where there is none, and so do its
 * requests where no waiting can bring one.
 */
export async function patiently(context: Context, forMs?: number): Promise<Context> {
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

/** Asks until there is a token, the time is up, or no waiting can help. */
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
        throw new FleetError('network', `no token came: ${error.message}`, { hint: error.hint });
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
