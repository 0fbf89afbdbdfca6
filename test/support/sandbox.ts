// Starts sandboxes for tests on free ports, without simulated life, and always closes them.
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.js';

/** Nothing changes by itself, so that only the test causes changes. */
const STILL: SandboxOptions = { rate: 0 };

/** Runs `use` with its own sandbox and closes it afterwards. Returns the result of `use`. */
export async function withSandbox<Result>(
  options: SandboxOptions,
  use: (sandbox: Sandbox) => Promise<Result>,
): Promise<Result> {
  const sandbox = await startSandbox({ ...STILL, ...options });
  try {
    return await use(sandbox);
  } finally {
    await sandbox.close();
  }
}

/** Starts a sandbox until the end of the test. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox({ ...STILL, ...options });
  onTestFinished(sandbox.close);
  return sandbox;
}

/**
 * Starts one sandbox for all tests of a file or a `describe` block. Call the result only inside
 * tests.
 */
export function useSandbox(options: SandboxOptions = {}): () => Sandbox {
  let started: Sandbox | undefined;
  beforeAll(async () => {
    started = await startSandbox({ ...STILL, ...options });
  });
  afterAll(() => started?.close());
  return () => {
    if (started === undefined)
      throw new Error('the sandbox starts before the first test; ask for it inside a test');
    return started;
  };
}

/** The two headers that every request needs (interface.md sections 5 and 9). */
export async function headersFor(
  sandbox: Sandbox,
  options?: Parameters<Sandbox['token']>[0],
): Promise<{ Authorization: string; Accept: string }> {
  return {
    Authorization: `JWT ${await sandbox.token(options)}`,
    Accept: 'application/json; version=1.0',
  };
}

/** The first bicycles in a state. */
export function inState(sandbox: Sandbox, state: string, most = 1000): string[] {
  return sandbox
    .bicycles()
    .filter((bicycle) => bicycle.state === state)
    .slice(0, most)
    .map(({ uuid }) => uuid);
}
