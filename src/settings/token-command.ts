// Runs the command that prints the access token.

import { configError, lastingError } from '../errors.js';
import { hideJwts } from '../system/secrets.js';
import { describeEnd, readShellLines, runShell } from '../system/shell.js';
import { readExpiry, readToken } from './parse-token.js';
import {
  TOKEN_LIMIT_BYTES,
  type TokenInput,
  type TokenPlace,
  type TokenReader,
} from './token-place.js';

/** A line of its stderr that is longer is passed on in parts. */
const LINE_LIMIT_CHARACTERS = 10_000;
/** The exit codes of a shell for a command that is not executable, or not found. */
const NOT_STARTED_CODES: readonly number[] = [126, 127];
/** Set for a token command, to its own text: a command that calls fleet, which calls it again, would never end. */
const INSIDE_VARIABLE = 'FLEET_INSIDE_TOKEN_COMMAND';

/** A token that ends sooner is fetched anew before it is used: clocks differ, and a request takes its time. */
const RENEW_BEFORE_EXPIRY_MS = 60_000;

/** Keeps the token that the command printed until it is about to end, or was refused. */
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

/** When the token should be fetched anew: a minute before its end, or at half its life when it lives less than two. */
function findDue(token: string, now: number): number {
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
        // A command with tracing (set -x) may show the token before it prints it, when fleet does not know it yet.
        lastLine = hideJwts(line.trim());
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
