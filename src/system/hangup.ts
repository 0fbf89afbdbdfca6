// Detects whether the caller of fleet ignores SIGHUP, as in `nohup fleet watch`.

import { fstatSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** The bit of SIGHUP (1) in the masks of /proc/PID/status. */
const SIGHUP_BIT = 1n;
/**
 * The mask for the access mode in the flags of an open file, and the mode "write only" (O_ACCMODE
 * and O_WRONLY in fcntl.h).
 */
const ACCESS_MODE = 0o3;
const WRITE_ONLY = 0o1;

/**
 * Returns whether SIGHUP was ignored when fleet was started. Node resets every ignored signal to
 * its default action at startup (PlatformInit in node.cc), so a Node process cannot see this
 * directly. The executable that `npm run build:binary` creates can see it. For Node, any of these
 * three signs is enough:
 *
 * - The parent process ignores SIGHUP, for example after `trap '' HUP` in a script.
 * - The shell's `$_` shows that it started the program `nohup`.
 * - stdin is /dev/null, opened only for writing. GNU nohup does this when stdin is a terminal.
 */
export function isHangupIgnored(env: NodeJS.ProcessEnv): boolean {
  if (process.platform === 'win32') return false;
  return (
    basename(env['_'] ?? '') === 'nohup' ||
    ignoresHangup('self') ||
    ignoresHangup(String(process.ppid)) ||
    isStdinOfNohup()
  );
}

/** Returns false on systems that have no /proc. */
function ignoresHangup(process: string): boolean {
  const [, mask] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readText(`/proc/${process}/status`)) ?? [];
  return mask !== undefined && (BigInt(`0x${mask}`) & SIGHUP_BIT) !== 0n;
}

function isStdinOfNohup(): boolean {
  const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readText('/proc/self/fdinfo/0')) ?? [];
  if (flags === undefined) return false;
  const isWriteOnly = (Number.parseInt(flags, 8) & ACCESS_MODE) === WRITE_ONLY;
  return isWriteOnly && fstatSync(0).isCharacterDevice();
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
