// After Ctrl-C, waits one second for the answers to changes in flight. Afterwards their outcome is
// unknown.

import type { Context } from '../context.js';
import { asFleetError, FleetError } from '../errors.js';
import type { Client } from '../http/client.js';
import { count as countOf } from '../terminal/count.js';

/**
 * How long changes in flight may take after the first signal. The program must end within two
 * seconds (cli.md section 4, promise 8).
 */
const GRACE_MS = 1000;

const UNANSWERED = 'no answer came before the program ended; whether it was carried out is unknown';

/** The message when a signal arrives while changes are in flight. */
export function waitingFor(count: number): string {
  return `waiting ${GRACE_MS / 1000} s for ${countOf(count, 'request')} in flight; Ctrl-C again does not wait`;
}

/** Whether a run was stopped by Ctrl-C, SIGTERM or SIGHUP. */
export function isSignal(reason: unknown): reason is FleetError {
  return (
    reason instanceof FleetError && ['interrupted', 'terminated', 'hangup'].includes(reason.kind)
  );
}

/**
 * Lets requests in flight finish for a moment after the first signal. Gives them up after that time
 * or at the second signal.
 */
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
    /**
     * Aborted when fleet stops waiting for answers. The reason says that the outcome is unknown.
     */
    givenUp: given.signal,
    close() {
      cancel();
      signal.removeEventListener('abort', begin);
      urgentSignal.removeEventListener('abort', giveUp);
    },
  };
}

/**
 * Sends one change with a client that continues for one second after Ctrl-C. A change without an
 * answer by then has an unknown outcome. Throws the client's errors, or the signal's reason when
 * the signal came before.
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
    // An end by a signal prints no error, so the unknown outcome is printed here.
    if (isSignal(thrown)) await context.notice(thrown.message);
    throw thrown;
  } finally {
    close();
  }
}
