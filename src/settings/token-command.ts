// Runs the command that prints the access token; loaded only where one is set, for it starts processes.

import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { configError } from '../errors.js';
import { HIDDEN } from '../secrets.js';
import { type CommandPlace, TOKEN_LIMIT_BYTES, type TokenInput, type TokenPlace } from './token-place.js';

/** A line of its stderr that is longer is passed on in parts. */
const LINE_LIMIT_CHARACTERS = 10_000;
/** Set for a token command, to its own text: a command that calls fleet, which calls it again, would never end. */
const INSIDE_VARIABLE = 'FLEET_INSIDE_TOKEN_COMMAND';

/**
 * Runs the command through the shell and returns its stdout. It reads nothing, so that it cannot eat what is piped into
 * fleet; a question it has can go to /dev/tty. Its stderr is passed on line by line, its stdout shown nowhere.
 * It may take as long as a request (`--timeout`).
 */
export function runTokenCommand(place: TokenPlace & CommandPlace, input: TokenInput): Promise<string> {
  const { env, signal, notice, clock, settings } = input;
  const timeoutMs = settings.timeoutMs.value;
  const failure = (what: string, cause?: unknown) =>
    configError(`the token command (${place.origin}) ${what}`, place.remedy, cause);
  if (env[INSIDE_VARIABLE] === place.command)
    return Promise.reject(failure('runs fleet, which would run the same command again'));
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    // Not a process group of its own: that would cut it off from the terminal, where it may have to ask.
    const child = spawn(place.command, {
      shell: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...env, [INSIDE_VARIABLE]: place.command },
    });
    const chunks: Buffer[] = [];
    let length = 0;
    let lastLine = '';
    const settle = (finish: () => void) => {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    // What the command started may live on and hold the pipes: nobody waits for it.
    const giveUp = (error: unknown) =>
      settle(() => {
        child.kill();
        child.stdout.destroy();
        child.stderr.destroy();
        child.unref();
        reject(error);
      });
    const onAbort = () => giveUp(signal.reason);
    const cancelTimer = clock.after(timeoutMs, () =>
      giveUp(failure(`gave no token within ${timeoutMs / 1000} s (--timeout)`)),
    );
    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > TOKEN_LIMIT_BYTES) giveUp(failure('printed more than a token'));
    });
    readLines(child.stderr, (line) => {
      lastLine = hideJwts(line);
      void notice(lastLine);
    });
    child.on('error', (error) => giveUp(failure(`could not be started: ${error.message}`, error)));
    child.on('close', (code, killedBy) =>
      settle(() => {
        if (code === 0) return resolve(Buffer.concat(chunks).toString('utf8'));
        const how = code === null ? `was ended by ${killedBy}` : `failed with exit code ${code}`;
        reject(failure(lastLine === '' ? how : `${how}: ${lastLine}`));
      }),
    );
  });
}

/** A command that traces itself may show the token before it prints it, when nobody knows it yet: what looks like a JWT is hidden. */
function hideJwts(line: string): string {
  return line.replace(/[\w.-]+/g, (word) => (/eyJ/.test(word) && word.split('.').length > 2 ? HIDDEN : word));
}

/** The lines of a stream that say something; one that is longer than the limit comes in parts. */
function readLines(stream: Readable, take: (line: string) => void): void {
  let pending = '';
  const flush = (lines: readonly string[]) => {
    for (const line of lines) if (line.trim() !== '') take(line.trim());
  };
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop() ?? '';
    flush(lines);
    if (pending.length < LINE_LIMIT_CHARACTERS) return;
    flush([pending]);
    pending = '';
  });
  stream.on('end', () => flush([pending]));
}
