// Runs the command that prints the access token.

import { configError, lastingError } from '../errors.js';
import type { Tokens } from '../http/types.js';
import { hideJwts } from '../secrets.js';
import { describeEnd, readShellLines, runShell } from '../shell.js';
import { shared, TOKEN_LIMIT_BYTES, type TokenInput, type TokenPlace } from './token-place.js';
import { readExpiry, readToken } from './token-text.js';

/** A line of its stderr that is longer is passed on in parts. */
const LINE_LIMIT_CHARACTERS = 10_000;
/** The exit codes of a shell for a command that is not executable, or not found. */
const NOT_STARTED_CODES: readonly number[] = [126, 127];
/** Set for a token command, to its own text: a command that calls fleet, which calls it again, would never end. */
const INSIDE_VARIABLE = 'FLEET_INSIDE_TOKEN_COMMAND';

/** A token that ends sooner is fetched anew before it is used: clocks differ, and a request takes its time. */
const RENEW_BEFORE_EXPIRY_MS = 60_000;

/** Keeps the token that the command printed until it is about to end, or was refused. */
export function openCommand(place: TokenPlace, input: TokenInput): Tokens {
  const { clock, signal } = input;
  let kept: { token: string; freshUntilMs: number } | undefined;
  const run = shared(async () => {
    const output = await runTokenCommand(place, input);
    const token = readToken(output, `the output of the token command (${place.origin})`, place.refusalHint, input);
    kept = { token, freshUntilMs: findFreshUntil(token, clock.wallMs()) };
    return token;
  });
  return {
    async get() {
      if (kept !== undefined && clock.wallMs() < kept.freshUntilMs) return kept.token;
      const old = kept?.token;
      try {
        return await run();
      } catch (error) {
        // It was asked ahead of time: until its end the old token is as good as before.
        if (old === undefined || signal.aborted || (readExpiry(old) ?? 0) <= clock.wallMs()) throw error;
        return old;
      }
    },
    async renew(refused) {
      // Another worker was refused before and has already fetched a newer one.
      if (kept !== undefined && kept.token !== refused) return kept.token;
      const token = await run();
      return token === refused ? undefined : token;
    },
  };
}

/** When the token should be fetched anew: a minute before its end, or at half its life when it lives less than two. */
function findFreshUntil(token: string, now: number): number {
  const expiry = readExpiry(token);
  if (expiry === undefined) return Number.POSITIVE_INFINITY;
  return expiry - Math.min(RENEW_BEFORE_EXPIRY_MS, Math.max(0, expiry - now) / 2);
}

/**
 * Runs the command through the shell and returns its stdout. It reads nothing, so that it cannot eat what is piped into
 * fleet; a question it has can go to /dev/tty. Its stderr is passed on line by line, its stdout shown nowhere.
 * It may take as long as a request (`--timeout`).
 */
async function runTokenCommand(place: TokenPlace, input: TokenInput): Promise<string> {
  const { env, signal, notice, clock, settings } = input;
  const timeoutMs = settings.timeoutMs.value;
  const failure = (what: string, cause?: unknown) =>
    configError(`the token command (${place.origin}) ${what}`, place.refusalHint, cause);
  if (env[INSIDE_VARIABLE] === place.text) {
    const message = `the token command (${place.origin}) runs fleet, which would run the same command again`;
    throw lastingError(message, place.refusalHint);
  }
  signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let length = 0;
  let lastLine = '';
  const tooMuch = new AbortController();
  const end = await runShell(place.text, {
    env: { ...env, [INSIDE_VARIABLE]: place.text },
    clock,
    signal: AbortSignal.any([signal, tooMuch.signal]),
    limitMs: timeoutMs,
    mayAsk: true,
    onOutput(stdout, stderr) {
      stdout.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > TOKEN_LIMIT_BYTES) tooMuch.abort();
        else chunks.push(chunk);
      });
      readShellLines(stderr, LINE_LIMIT_CHARACTERS, (line) => {
        // A command with tracing (set -x) may show the token before it prints it, when fleet does not know it yet.
        lastLine = hideJwts(line.trim());
        void notice(lastLine);
      });
    },
  });
  signal.throwIfAborted();
  if (tooMuch.signal.aborted) throw failure('printed more than a token');
  if (end.why === 'late') throw failure(`gave no token within ${timeoutMs / 1000} s (--timeout)`);
  if (end.error !== undefined) throw failure(`could not be started: ${end.error.message}`, end.error);
  if (end.code === 0) return Buffer.concat(chunks).toString('utf8');
  const how = describeEnd(end, 'failed');
  const { message, hint } = failure(lastLine === '' ? how : `${how}: ${lastLine}`);
  throw NOT_STARTED_CODES.includes(end.code ?? 0) ? lastingError(message, hint) : configError(message, hint);
}
