// One change sent: the request, its second try after a concurrent edit, and what the answer means.

import type { Clock } from '../../clock.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { HttpAnswer, HttpRequest } from '../../http/types.js';
import {
  type Exchanged,
  isConcurrentEdit,
  judgeFailure,
  readChange,
  type Subject,
  unclearAnswer,
  type Verdict,
} from './answer.js';

/** Thrown by a pause that a stop of the run ended: the service had not taken the request. */
export class StoppedWaiting extends Error {
  readonly failure: FleetError;

  constructor(failure: FleetError) {
    super('stopped before it could be sent again');
    this.name = 'StoppedWaiting';
    this.failure = failure;
  }
}

/** Waits before a request is tried again; throws StoppedWaiting when the run was stopped meanwhile. */
export type Pause = (milliseconds: number, failure: FleetError) => Promise<void>;

export interface Change extends Subject {
  request: HttpRequest;
  /** Whether the service is only asked whether it would be allowed (`dry_run`). */
  isDryRun: boolean;
  /** A failure in better words. */
  explain?(error: FleetError): FleetError;
}

export interface ExchangeOptions {
  /** A client that the first signal to end leaves alone. */
  client: Client;
  /** How often a request is tried again that the service provably did not take. */
  patience: number;
  clock: Clock;
  /** Gives up what is in flight. */
  urgentSignal: AbortSignal;
}

/** The pause before a request is sent again that met another save of the same bicycle. */
const CONCURRENT_EDIT_PAUSE_MS = 250;

/** Makes the sender of a run. It throws what is no FleetError: a bug. */
export function openExchange({ client, patience, clock, urgentSignal }: ExchangeOptions) {
  return async function exchange(change: Change, pause: Pause): Promise<Exchanged> {
    let startedAt = clock.monotonicMs();
    const send = (): Promise<HttpAnswer> =>
      client.send({
        ...change.request,
        retries: patience,
        async pause(milliseconds, failure) {
          await pause(milliseconds, failure);
          startedAt = clock.monotonicMs();
        },
      });
    try {
      const answer = await send().catch(async (error: unknown) => {
        if (!(error instanceof FleetError) || !isConcurrentEdit(error)) throw error;
        await pause(CONCURRENT_EDIT_PAUSE_MS, error);
        startedAt = clock.monotonicMs();
        return send();
      });
      const milliseconds = Math.round(clock.monotonicMs() - startedAt);
      return { ...judgeAnswer(answer, change), milliseconds };
    } catch (thrown) {
      if (thrown instanceof StoppedWaiting) {
        return { outcome: 'not-sent', error: thrown.failure, isWell: false, isFatal: false, milliseconds: null };
      }
      if (!(thrown instanceof FleetError)) throw thrown;
      const milliseconds = Math.round(clock.monotonicMs() - startedAt);
      return { ...judgeFailure(change.explain?.(thrown) ?? thrown, urgentSignal.aborted), milliseconds };
    }
  };
}

function judgeAnswer(answer: HttpAnswer, change: Change): Verdict {
  const { request, isDryRun } = change;
  const { one } = change.resource;
  const reading = readChange(answer, change);
  const asked = request.subject ?? 'it';
  if (reading.kind === 'unclear') {
    const error = unclearAnswer(answer, reading.what, {
      expected: one,
      what: `${asked} was carried out`,
      hint: `look at the ${one} before you try again; check that the base URL is that of the service`,
    });
    return { outcome: 'unknown', error, isWell: false, isFatal: false };
  }
  const isAllowed = isDryRun && answer.text.trim() === '';
  if (!isDryRun || isAllowed) {
    return { outcome: isAllowed ? 'allowed' : 'done', answer, named: reading.named, isWell: true, isFatal: false };
  }
  // Assumed: a dry run is answered with nothing. A bicycle in the answer may mean that it was carried out.
  const error = new FleetError('service', `the service may not know dry_run: it answered ${asked} with the ${one}`, {
    status: answer.status,
    trace: answer.trace,
    hint: `look at the state of the ${one}; nothing more was asked`,
  });
  return { outcome: 'unknown', error, isWell: true, isFatal: true };
}
