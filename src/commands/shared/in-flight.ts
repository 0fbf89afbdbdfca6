// Gives changes in flight one second for their answer after Ctrl-C; then their outcome is unknown.

import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { count as countOf } from '../../terminal/count.js';

/** How long what is in flight may take after the first signal, which ends the program within two seconds (cli.md section 4, promise 8). */
const GRACE_MS = 1000;

const UNANSWERED = 'no answer came before the program ended; whether it was carried out is unknown';

/** What is said when a signal finds so many changes in flight. */
export function waitingFor(count: number): string {
  return `waiting ${GRACE_MS / 1000} s for ${countOf(count, 'request')} in flight; Ctrl-C again does not wait`;
}

/** Whether a run was stopped by Ctrl-C, SIGTERM or SIGHUP. */
export function isSignal(reason: unknown): reason is FleetError {
  return (
    reason instanceof FleetError && ['interrupted', 'terminated', 'hangup'].includes(reason.kind)
  );
}

/** Lets what is in flight finish for a moment after the first signal, and gives it up then, or at the second signal. */
export function openPatience({ clock, signal, urgentSignal }: Context, onSignal: () => void) {
  const given = new AbortController();
  let cancel = () => {};
  const giveUp = () => {
    const { kind } = asFleetError(signal.reason);
    given.abort(new FleetError(kind, UNANSWERED));
  };
  const begin = () => {
    onSignal();
    cancel = clock.after(GRACE_MS, giveUp);
  };
  signal.addEventListener('abort', begin);
  urgentSignal.addEventListener('abort', giveUp);
  return {
    /** Aborted when no answer is waited for any longer; the reason says that the outcome is unknown. */
    givenUp: given.signal,
    close() {
      cancel();
      signal.removeEventListener('abort', begin);
      urgentSignal.removeEventListener('abort', giveUp);
    },
  };
}

/**
 * Sends one change with a client that goes on for one second after Ctrl-C; a change that has no answer by then is reported as unknown.
 * Throws what sending throws, and the signal's reason when it came before.
 */
export async function sendChange<Answer>(
  context: Context,
  send: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  context.signal.throwIfAborted();
  const { givenUp, close } = openPatience(context, () => void context.notice(waitingFor(1)));
  try {
    return await send(await context.client({ signal: givenUp }));
  } catch (thrown) {
    // The end by a signal is not reported, and this is more than that.
    if (isSignal(thrown)) await context.notice(thrown.message);
    throw thrown;
  } finally {
    close();
  }
}
