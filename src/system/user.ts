// Who runs the program, and the home folder.

import { userInfo } from 'node:os';
import { isWholePath } from './folder.js';

/** The name of the user; undefined for one without a name. */
export function nameOfUser(): string | undefined {
  return entryOfUser()?.username;
}

/** The user's home folder: HOME, or what the system keeps where it is not set (cron, systemd); undefined for a path that is not absolute. */
export function homeOfUser(env: NodeJS.ProcessEnv): string | undefined {
  const home = env['HOME'] ?? entryOfUser()?.homedir;
  return home !== undefined && isWholePath(home) ? home : undefined;
}

function entryOfUser() {
  try {
    return userInfo();
  } catch {
    return undefined;
  }
}
