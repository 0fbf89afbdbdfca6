// Runs the command that prints the access token; loaded only where one is set, for it starts processes.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { configError } from '../errors.js';
import { HIDDEN } from '../secrets.js';
import type { CommandPlace, TokenFacts, TokenPlace } from './token.js';

/** A person may have to touch a key or confirm in a browser; longer than this nobody waits. */
const COMMAND_LIMIT_MS = 60_000;
/** Far above any token; a command that prints more prints something else. */
const OUTPUT_LIMIT_BYTES = 65_536;
/** Set for a token command, to its own text: a command that calls fleet, which calls it again, would never end. */
const INSIDE_VARIABLE = 'FLEET_INSIDE_TOKEN_COMMAND';

/**
 * Runs the command through the shell and returns its stdout. It reads nothing, so that it cannot eat what is piped into
 * fleet; a question it has can go to /dev/tty. Its stderr is passed on line by line, its stdout shown nowhere.
 */
export function runTokenCommand(place: TokenPlace & CommandPlace, facts: TokenFacts): Promise<string> {
  const { env, signal, notice } = facts;
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
      clearTimeout(timer);
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
    const timer = setTimeout(
      () => giveUp(failure(`gave no token within ${COMMAND_LIMIT_MS / 1000} s`)),
      COMMAND_LIMIT_MS,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > OUTPUT_LIMIT_BYTES) giveUp(failure('printed more than a token'));
    });
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.trim() === '') return;
      lastLine = hideJwts(line.trim());
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
