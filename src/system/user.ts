// The current user and the home folder.

import { userInfo } from 'node:os';
import { isWholePath } from './folder.js';

/** Returns the name of the user, or undefined when the system has no name. */
export function nameOfUser(): string | undefined {
  return entryOfUser()?.username;
}

/**
 * Returns the user's home folder. This is HOME or, when HOME is not set (as with cron and systemd),
 * the home folder that the system has stored for the user. Undefined when the path is not absolute.
 */
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
