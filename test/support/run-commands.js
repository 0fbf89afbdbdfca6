// Runs commands side by side for `npm test`, and ends them when this process gets a signal to end.

import { spawn } from 'node:child_process';

/** npm ends its shell, and the shell does not pass the signal on. */
const LOOK_EVERY_MS = 300;

/**
 * Runs the commands and returns the highest exit code. They end when this process gets SIGTERM, SIGHUP
 * or SIGINT, or when its parent process ends.
 * @param {readonly (readonly string[])[]} commands the file and the arguments of each
 * @returns {Promise<number>}
 */
export async function runCommands(commands) {
  const parent = process.ppid;
  const env = { ...process.env, FLEET_TEST_STARTER: String(process.pid) };
  const children = commands.map(([file = '', ...args]) =>
    spawn(file, args, { stdio: 'inherit', env }),
  );
  const end = (/** @type {NodeJS.Signals} */ signal) => {
    for (const child of children) child.kill(signal);
  };
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, end);
  const looking = setInterval(() => {
    if (process.ppid !== parent) end('SIGTERM');
  }, LOOK_EVERY_MS);
  const codes = await Promise.all(
    children.map(
      (child) =>
        new Promise((resolve) => {
          child.on('error', () => resolve(1));
          child.on('close', (code) => resolve(code ?? 1));
        }),
    ),
  );
  clearInterval(looking);
  for (const signal of signals) process.off(signal, end);
  return Math.max(...codes);
}
