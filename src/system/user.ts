// The current user and the home folder.

import { userInfo } from 'node:os';
import { isWholePath } from './folder.js';

/** Returns the name of the user, or undefined when the system has no name. */
export function nameOfUser(): string | undefined {
  return entryOfUser()?.username;
}

/**
 * Returns the user's home folder: HOME, or the folder that the system has for the user when HOME is
 * not set (cron, systemd). Undefined when the path is not absolute.
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
