// Runs the command that prints the access token.

import { configError, lastingError } from '../errors.js';
import { hideLikelyTokens } from '../system/secrets.js';
import { describeEnd, readShellLines, runShell } from '../system/shell.js';
import { readExpiry, readToken } from './parse-token.js';
import {
  TOKEN_LIMIT_BYTES,
  type TokenInput,
  type TokenPlace,
  type TokenReader,
} from './token-place.js';

/** A longer line of stderr is printed in parts. */
const LINE_LIMIT_CHARACTERS = 10_000;
/** The exit codes of a shell when the command is not executable or not found. */
const NOT_STARTED_CODES: readonly number[] = [126, 127];
/**
 * This variable contains the text of the token command while the command runs. It shows that the
 * token command itself called fleet, which would call the command again without end.
 */
const INSIDE_VARIABLE = 'FLEET_INSIDE_TOKEN_COMMAND';

/**
 * A token that expires within this time is renewed before it is used, because clocks differ and a
 * request takes time.
 */
const RENEW_BEFORE_EXPIRY_MS = 60_000;

/** Keeps the token of the command until it is about to expire or is refused. */
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
 * Returns when to fetch the token again. This is one minute before its expiry, or after half of the
 * remaining time when less than two minutes remain.
 */
function findDue(token: string, now: number): number {
  const expiry = readExpiry(token);
  if (expiry === undefined) return Number.POSITIVE_INFINITY;
  return expiry - Math.min(RENEW_BEFORE_EXPIRY_MS, Math.max(0, expiry - now) / 2);
}

/**
 * Runs the command through the shell and returns its stdout, which is not shown. Its stderr is
 * printed line by line. Its stdin is empty, so that it cannot read the input of fleet; it can ask
 * questions on /dev/tty. Its time limit is the one of a request (`--timeout`).
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
        // A command with tracing (set -x) may print the token on stderr before fleet knows it.
        lastLine = hideLikelyTokens(line.trim());
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
