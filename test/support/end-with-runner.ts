// Ends the programs and databases that tests started when the test runner ends, whatever ends it.

import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const WATCHDOG = fileURLToPath(new URL('watchdog.js', import.meta.url));

/**
 * Starts a watchdog for this process, the test runner. When the runner ends, the watchdog ends its
 * descendants within two seconds and removes the folders. Call it in the runner before the first test.
 * A parent-death signal (`setpriv --pdeathsig`) would reach the direct children only, and tests start
 * shells and terminals that start programs.
 */
export function startWatchdog(folders: readonly string[]): void {
  if (process.platform !== 'linux') return;
  const starter = process.env['FLEET_TEST_STARTER'] ?? '0';
  const args = [WATCHDOG, String(process.pid), starter, JSON.stringify(folders)];
  // Detached: the signals of a closed terminal reach the runner, but not the watchdog.
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  // It is a socket, although its type does not say so. An open one would keep the runner alive.
  if (child.stdin instanceof Socket) child.stdin.unref();
}
