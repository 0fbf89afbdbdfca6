// Who runs the program, by the system's list of users rather than by the environment.

import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { isWholePath } from './folder.js';
import { BUN_VERSION } from './program-files.js';

/** The name of the user; undefined for one without a name. */
export function nameOfUser(): string | undefined {
  try {
    return (BUN_VERSION === undefined ? undefined : nameInList(process.geteuid?.())) ?? userInfo().username;
  } catch {
    return undefined;
  }
}

/** Bun takes the name from USER. Where users are kept elsewhere than in this file, that has to do. */
function nameInList(uid: number | undefined): string | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  return lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0];
}

/** The user's home folder: HOME, or what the system keeps where it is not set (cron, systemd); undefined for a path that is not absolute. */
export function homeOfUser(env: NodeJS.ProcessEnv): string | undefined {
  const home = env['HOME'] ?? systemHome();
  return home !== undefined && isWholePath(home) ? home : undefined;
}

function systemHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}
