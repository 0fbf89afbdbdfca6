// Suspends the job of this process, as Ctrl-Z does.

/**
 * Suspends every process of the job, as Ctrl-Z does on a terminal in its usual mode. This includes
 * a script that runs fleet. `fg` continues the job and sends SIGCONT. When the job has no parent
 * shell, for example after `ssh -t host fleet watch --live`, the kernel does not suspend it, because
 * nothing would later send SIGCONT. `resume` is then called soon.
 *
 * This process must have no listener for SIGTSTP.
 */
export function suspendJob(resume: () => void): void {
  let wasSuspended = false;
  const onContinue = () => {
    wasSuspended = true;
  };
  process.once('SIGCONT', onContinue);
  process.kill(0, 'SIGTSTP');
  setImmediate(() => {
    process.off('SIGCONT', onContinue);
    if (!wasSuspended) resume();
  });
}
