// Runs the user's pager (FLEET_PAGER, PAGER) for stdout, like gh. The pager starts at the first
// write, and fleet waits until the pager exits.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../system/clock.js';
import { type Delivery, openDelivery } from './delivery.js';

export interface Pager extends Delivery {
  /** Closes the pager's input, and resolves when the user has closed the pager. */
  close(): Promise<void>;
}

/**
 * The options with which less and lv show colours. With these options, less also exits when
 * everything fits on the screen.
 */
const DEFAULTS = { LESS: 'FRX', LV: '-c' };

/** How long the pager may take to exit after a signal. */
const KILL_AFTER_MS = 1_000;

/** Returns the words of the pager's command, or undefined when none is set or it is `cat`. */
export function pagerCommand({ FLEET_PAGER, PAGER }: NodeJS.ProcessEnv): string[] | undefined {
  const words = (FLEET_PAGER ?? PAGER ?? '').match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  if (words.length === 0 || words.join(' ') === 'cat') return undefined;
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

/** Starts the pager on the terminal. Rejects when it cannot be started. */
export async function openPager(
  [name = '', ...options]: string[],
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<Pager> {
  const child = spawn(name, options, {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...DEFAULTS, ...env },
  });
  await once(child, 'spawn');
  // The pager uses the terminal, and Ctrl-C reaches both processes. fleet must not exit before the
  // pager does.
  const stay = () => {};
  let cancelKill = stay;
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    cancelKill = clock.after(KILL_AFTER_MS, () => child.kill('SIGKILL'));
  };
  const listeners = [
    ['SIGINT', stay] as const,
    ['SIGTERM', end] as const,
    ['SIGHUP', end] as const,
  ];
  for (const [signal, listener] of listeners) process.on(signal, listener);
  const ended = once(child, 'exit').then(() => {
    cancelKill();
    for (const [signal, listener] of listeners) process.off(signal, listener);
  });
  return {
    ...openDelivery(child.stdin, clock),
    close() {
      child.stdin.end();
      return ended;
    },
  };
}
