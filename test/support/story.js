// Functions that the stories of an installed program share: a check, and a program that is followed
// until it has written a text.

export function check(is, wanted, what) {
  if (String(is) !== String(wanted)) throw new Error(`${what}: ${wanted} was expected, not ${is}`);
}

/**
 * Waits until a child process has written a text. `ended` resolves with its end. Rejects when the
 * process ends before that.
 */
export async function untilTold(child, text, line) {
  let told = '';
  const ended = new Promise((resolve) => child.on('close', (code) => resolve({ code, told })));
  const ready = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        told += chunk;
        if (told.includes(text)) resolve();
      });
  });
  await Promise.race([
    ready,
    ended.then(() => Promise.reject(new Error(`"${line}" ended early: ${told}`))),
  ]);
  return { ended };
}
