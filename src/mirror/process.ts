// Which machine, or container, a process number belongs to, and whether the process has ended.

import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Writer } from './lease.js';

/** Names the place where process numbers are unique: two containers of one host name are two places. */
function processPlace(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Whether a process of this place has ended; also where its number is that of this process, which came after it. */
function isProcessGone(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** This process as the writer of a mirror; the owner is new for each run. */
export function thisWriter(owner: string): Writer {
  return { owner, host: hostname(), place: processPlace(), pid: process.pid, isGone: isProcessGone };
}
