// The thread that runs jq. The thread handles one run at a time. If a run does not end, the thread
// is terminated.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FleetError, reasonOf } from '../../errors.js';
import type { Clock } from '../../system/clock.js';
import { BUN_VERSION, distPath } from '../../system/program-files.js';

/**
 * How long jq may continue after the signal, so that it can print the results that it has found.
 */
const GRACE_MS = 500;

/**
 * The reply of the thread: jq's output, or the reason why it was stopped. `jq-worker.cjs` has the
 * same type.
 */
export type Reply =
  | { stdout: string; stderr: string; exitCode: number }
  | { failure: 'output' | 'memory' };

/** Opens the thread. It handles one request at a time, and is restarted after it was stopped. */
export function openThread(clock: Clock) {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    // The thread does not get the environment, which contains the token.
    const started = new Worker(distPath('jq-worker.cjs'), {
      env: {},
      execArgv: [],
      workerData: distPath('jq.wasm'),
    });
    // An idle thread does not keep the program alive.
    started.unref();
    return started;
  }

  async function stop(): Promise<void> {
    const stopped = worker;
    worker = undefined;
    // Bun cannot terminate a worker while WebAssembly runs in a loop, so the program would wait for
    // the worker before it exits. With `unref`, the program exits without waiting, which also ends
    // the worker.
    if (BUN_VERSION === undefined) await stopped?.terminate();
    else stopped?.unref();
  }

  async function answer(request: object, signal: AbortSignal | undefined): Promise<Reply> {
    worker ??= start();
    const asked = worker;
    const late = new AbortController();
    let cancelGrace = () => {};
    const onAbort = () => {
      cancelGrace = clock.after(GRACE_MS, () => late.abort());
    };
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    asked.ref();
    asked.postMessage(request);
    try {
      const [reply] = await once(asked, 'message', { signal: late.signal });
      return reply;
    } catch (error) {
      await stop();
      if (late.signal.aborted) throw signal?.reason;
      throw new FleetError('internal', `jq ended: ${reasonOf(error)}`, { cause: error });
    } finally {
      cancelGrace();
      signal?.removeEventListener('abort', onAbort);
      asked.unref();
    }
  }

  return {
    ask(
      request: { program: string; input: string; limitBytes: number },
      signal: AbortSignal | undefined,
    ): Promise<Reply> {
      // If the signal stopped the previous run, waiting runs with the same signal are rejected
      // immediately. Stopping each of these runs would take half a second.
      const before = last.catch((reason: unknown) => {
        if (signal?.aborted === true && reason === signal.reason) throw reason;
      });
      const reply = before.then(() => answer(request, signal));
      last = reply;
      reply.catch(() => {});
      return reply;
    },
    close: stop,
  };
}
