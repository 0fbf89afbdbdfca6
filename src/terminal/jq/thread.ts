// The thread that jq runs in: asked one run at a time, and ended when a run does not end by itself.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FleetError, reasonOf } from '../../errors.js';
import type { Clock } from '../../system/clock.js';
import { BUN_VERSION, distPath } from '../../system/program-files.js';

/** How long a run may go on after the signal, so that results in flight are still printed. */
const GRACE_MS = 500;

/** What the thread answers: what jq wrote, or why it was stopped. Mirrors `jq-worker.cjs`. */
export type Reply =
  | { stdout: string; stderr: string; exitCode: number }
  | { failure: 'output' | 'memory' };

/** One question at a time; a thread that had to be stopped is started anew for the next one. */
export function openThread(clock: Clock) {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

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
      // What waits behind a run that was stopped gets no half second of its own.
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
