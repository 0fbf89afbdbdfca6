// Runs the command that prints the access token.

import { configError, lastingError } from '../errors.js';
import { describeEnd, readShellLines, runShell } from '../system/shell.js';
import { hideInOutput } from '../system/typed-secrets.js';
import { readExpiry, readToken } from './parse-token.js';
import {
  TOKEN_LIMIT_BYTES,
  type TokenInput,
  type TokenPlace,
  type TokenReader,
} from './token-place.js';

/** A line of stderr that is longer than this is printed in parts. */
const LINE_LIMIT_CHARACTERS = 10_000;
/** A shell exits with these codes when the command is not executable or not found. */
const NOT_STARTED_CODES: readonly number[] = [126, 127];
/**
 * While the token command runs, this environment variable contains the text of the command. If the
 * variable already contains the command that fleet is about to run, this command has started fleet.
 * In that case, fleet must not run the command again, because the recursion would not end.
 */
const INSIDE_VARIABLE = 'FLEET_INSIDE_TOKEN_COMMAND';

/**
 * A token that expires sooner than this is renewed before it is used. This margin is needed because
 * clocks differ and a request takes some time.
 */
const RENEW_BEFORE_EXPIRY_MS = 60_000;

/**
 * Reads tokens from the token command. Keeps a token in memory until it is about to expire or the
 * service refuses it.
 */
export function openCommand(place: TokenPlace, input: TokenInput): TokenReader {
  let kept: Awaited<ReturnType<TokenReader['read']>>;
  return {
    read: async () => kept,
    async fetch() {
      const output = await runTokenCommand(place, input);
      const what = `the output of the token command (${place.origin})`;
      const token = readToken(output, what, place.refusalHint, input.secrets);
      kept = { token, dueMs: findDue(token, input.clock.wallMs()) };
      return token;
    },
  };
}

/**
 * Returns when to run the token command again. This is one minute before the token expires, or
 * after half of the remaining time if the token is valid for less than two minutes.
 */
function findDue(token: string, now: number): number {
  const expiry = readExpiry(token);
  if (expiry === undefined) return Number.POSITIVE_INFINITY;
  return expiry - Math.min(RENEW_BEFORE_EXPIRY_MS, Math.max(0, expiry - now) / 2);
}

/**
 * Runs the token command in the shell. Returns the stdout of the command without printing it, and
 * prints its stderr line by line.
 *
 * The command cannot read fleet's input, because its stdin is empty. It can ask questions on
 * /dev/tty. It has the same time limit as a request (`--timeout`).
 */
async function runTokenCommand(place: TokenPlace, input: TokenInput): Promise<string> {
  const { env, signal, notice, clock, settings } = input;
  const timeoutMs = settings.timeout.value;
  const refuse = (what: string, failure = configError): never => {
    throw failure(`the token command (${place.origin}) ${what}`, place.refusalHint);
  };
  if (env[INSIDE_VARIABLE] === place.text)
    refuse('runs fleet, which would run the same command again', lastingError);
  signal.throwIfAborted();
  let output = '';
  let lastLine = '';
  const tooMuch = new AbortController();
  const end = await runShell(place.text, {
    env: { ...env, [INSIDE_VARIABLE]: place.text },
    clock,
    signal: AbortSignal.any([signal, tooMuch.signal]),
    limitMs: timeoutMs,
    mayAsk: true,
    onOutput(stdout, stderr) {
      stdout.setEncoding('utf8').on('data', (text: string) => {
        output += tooMuch.signal.aborted ? '' : text;
        if (output.length > TOKEN_LIMIT_BYTES) tooMuch.abort();
      });
      readShellLines(stderr, LINE_LIMIT_CHARACTERS, (line) => {
        // A command with tracing (set -x, curl -v) may print a password, or the token before fleet
        // knows it. Secrets are therefore removed from the command's errors, which appear in
        // results and logs.
        lastLine = hideInOutput(line.trim());
        void notice(lastLine);
      });
    },
  });
  signal.throwIfAborted();
  if (tooMuch.signal.aborted) refuse('printed more than a token');
  if (end.why === 'late') refuse(`gave no token within ${timeoutMs / 1000} s (--timeout)`);
  if (end.error !== undefined) refuse(`could not be started: ${end.error.message}`);
  if (end.code === 0) return output;
  const how = `${describeEnd(end, 'failed')}${lastLine === '' ? '' : `: ${lastLine}`}`;
  return refuse(how, NOT_STARTED_CODES.includes(end.code ?? 0) ? lastingError : configError);
}
