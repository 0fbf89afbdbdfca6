// Waits for something until a signal ends the waiting.

/** What a promise brings, or undefined when the signal comes first. */
export function unlessAborted<V>(promise: Promise<V>, signal: AbortSignal): Promise<V | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    // Also one that nobody waits for any more may reject.
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}
