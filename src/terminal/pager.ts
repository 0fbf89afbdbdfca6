// The operator's pager (FLEET_PAGER, PAGER), which stdout goes through as gh's does: started at the first write, waited for at the end.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../system/clock.js';
import { type Delivery, openDelivery } from './delivery.js';

export interface Pager extends Delivery {
  /** Nothing more comes: resolves when the operator has closed it. */
  close(): Promise<void>;
}

/** What less and lv need to show colours; and less ends by itself where everything fits on the screen. */
const DEFAULTS = { LESS: 'FRX', LV: '-c' };

/** How long it may take to end when fleet is asked to. */
const KILL_AFTER_MS = 1_000;

/** The command of the pager as words, quotes taken off; undefined where none is wanted: nothing is named, or `cat`. */
export function pagerCommand({ FLEET_PAGER, PAGER }: NodeJS.ProcessEnv): string[] | undefined {
  const words = (FLEET_PAGER ?? PAGER ?? '').match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  if (words.length === 0 || words.join(' ') === 'cat') return undefined;
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

/** Starts it on the terminal of this process. Rejects when it cannot be started. */
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
  // The terminal is the pager's until it ends, and Ctrl-C goes to both: what fleet does then is main's affair, but it must not end first.
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
