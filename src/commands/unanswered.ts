// What a signal leaves behind when it ends the wait for the answer to one change.

import type { Context } from '../context.js';
import { isSignal, UNANSWERED } from './bulk/run.js';

/** The answer to a change; where a signal ends the wait for it, a notice says that its outcome is unknown. */
export async function awaitAnswer<Answer>({ notice }: Context, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (thrown) {
    // The end by a signal is not reported, and this is more than that.
    if (isSignal(thrown)) await notice(UNANSWERED);
    throw thrown;
  }
}
