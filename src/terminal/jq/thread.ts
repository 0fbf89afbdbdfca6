// The thread that jq runs in: asked one run at a time, and ended when a run does not end by itself.

import { Worker } from 'node:worker_threads';
import type { Clock } from '../../clock.js';
import { FleetError } from '../../errors.js';
import { BUN_VERSION, distPath } from '../../program-files.js';

/** How long a run may go on after the signal, so that results in flight are still printed. */
const GRACE_MS = 500;

/** What the thread answers: what jq wrote, or why it was stopped. Mirrors `jq-worker.cjs`. */
export type Reply = { stdout: string; stderr: string; exitCode: number } | { failure: 'output' | 'memory' };

export interface Thread {
  ask(request: { program: string; input: string; limitBytes: number }, signal: AbortSignal | undefined): Promise<Reply>;
  close(): Promise<void>;
}

/** One question at a time; a thread that had to be stopped is started anew for the next one. */
export function openThread(clock: Clock): Thread {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();
  /** Signals whose half second is over: what waits behind a run that was stopped gets none of its own. */
  const expired = new WeakSet<AbortSignal>();

  function start(): Worker {
    // Without the environment, which holds the token.
    const started = new Worker(distPath('jq-worker.cjs'), {
      env: {},
      execArgv: [],
      workerData: distPath('jq.wasm'),
    });
    // Idle, it keeps no program from ending.
    started.unref();
    return started;
  }

  async function stop(): Promise<void> {
    const stopped = worker;
    worker = undefined;
    // Bun cannot end WebAssembly that loops, and would wait for it at its exit once it was asked to; left alone it ends with the program.
    if (BUN_VERSION === undefined) await stopped?.terminate();
    else stopped?.unref();
  }

  function answer(request: object, signal: AbortSignal | undefined): Promise<Reply> {
    if (signal !== undefined && expired.has(signal)) return Promise.reject(signal.reason);
    worker ??= start();
    const asked = worker;
    return new Promise((resolve, reject) => {
      let cancelGrace = () => {};
      const onAbort = () => {
        cancelGrace = clock.after(GRACE_MS, () => {
          if (signal !== undefined) expired.add(signal);
          settle(() => void stop().then(() => reject(signal?.reason)));
        });
      };
      const onMessage = (reply: Reply) => settle(() => resolve(reply));
      const onError = (error: Error) =>
        settle(
          () =>
            void stop().then(() => reject(new FleetError('internal', `jq ended: ${error.message}`, { cause: error }))),
        );
      function settle(action: () => void): void {
        cancelGrace();
        signal?.removeEventListener('abort', onAbort);
        asked.off('message', onMessage).off('error', onError).unref();
        action();
      }
      asked.on('message', onMessage).on('error', onError).ref();
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted === true) onAbort();
      asked.postMessage(request);
    });
  }

  return {
    ask(request, signal) {
      const reply = last.then(() => answer(request, signal));
      last = reply.catch(() => {});
      return reply;
    },
    close: stop,
  };
}
