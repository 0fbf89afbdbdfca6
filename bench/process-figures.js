// Reads the memory and processor time of a running process from /proc. Works only on Linux. The
// memory of a process that has ended is 0, and its processor time is NaN.

import { readFileSync } from 'node:fs';

/** The unit of the times in /proc/PID/stat. Linux uses 100 on every common platform. */
const TICKS_PER_SECOND = 100;

/** Returns the highest memory of a process so far, in MB. */
export function peakMbOf(pid) {
  return memoryOf(pid, 'VmHWM');
}

/** Returns the present memory of a process, in MB. */
export function residentMbOf(pid) {
  return memoryOf(pid, 'VmRSS');
}

/** Returns the user and system seconds of a process so far. */
export function cpuSecondsOf(pid) {
  const fields = read(`/proc/${pid}/stat`).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function memoryOf(pid, name) {
  const found = new RegExp(`${name}:\\s+(\\d+)`).exec(read(`/proc/${pid}/status`));
  return Number(found?.[1] ?? 0) / 1024;
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
