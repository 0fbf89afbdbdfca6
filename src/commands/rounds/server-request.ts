// Sends requests to the server of `--router` or `--solver`. Never sends the service token.

import type { Context } from '../../context.js';
import { reasonOf } from '../../errors.js';
import { readWhole } from '../../http/exchange.js';
import { isObject, parseJson } from '../../json/parse.js';
import { programVersion } from '../../system/program-files.js';

export interface ServerRequest {
  readonly url: URL;
  /** The JSON body of a POST. Undefined for a GET. */
  readonly body?: string;
  /** The time limit for the complete response. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** An error for an unusable response. The caller puts the server's name before the message. */
export class ServerFailure extends Error {}

/** The maximum length of a reason from a server. Longer reasons are truncated. */
const LONGEST_REASON_CHARACTERS = 200;

/**
 * Sends a request once, and returns the response's JSON object. Does not follow redirects. Throws a
 * ServerFailure, or the reason of the context's signal when the user interrupts the command.
 */
export async function askServer(
  context: Context,
  { url, body, limitMs, signal }: ServerRequest,
): Promise<{ [field: string]: unknown }> {
  const { clock } = context;
  try {
    const dispatcher = (await context.network()).dispatcherTo(url);
    const request = {
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers: {
        accept: 'application/json',
        'user-agent': `fleet/${programVersion()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body,
      signal,
      timeoutMs: limitMs,
    };
    const answer = await readWhole(dispatcher, request, { clock, milliseconds: limitMs });
    return readAnswer(context, answer.status, answer.body.toString('utf8'));
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof ServerFailure) throw error;
    throw new ServerFailure(quoteReason(context, reasonOf(error)));
  }
}

/**
 * Prepares text from the server for an error message. The text may contain a key from the server's
 * URL. The key is hidden before the text is truncated, because a truncated key would not be
 * recognised.
 */
export function quoteReason({ io }: Context, text: string): string {
  return io.secrets.hide(text).slice(0, LONGEST_REASON_CHARACTERS);
}

function readAnswer(context: Context, status: number, text: string): { [field: string]: unknown } {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    value = undefined;
  }
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && isObject(value)) return value;
  if (isSuccess) throw new ServerFailure('its answer is not a JSON object');
  // OSRM sends the reason in the field "message", and VROOM in "error".
  const fields: { [field: string]: unknown } = isObject(value) ? value : {};
  const reason = fields['message'] ?? fields['error'];
  const shown = typeof reason === 'string' ? `: ${quoteReason(context, reason)}` : '';
  throw new ServerFailure(`HTTP ${status}${shown}`);
}

/** Creates the failure for a response with an unexpected code. */
export function codeFailure(context: Context, code: unknown): ServerFailure {
  // JSON.stringify also handles an object with its own "toString", on which String() would fail.
  const shown = typeof code === 'string' ? code : JSON.stringify(code ?? 'none');
  return new ServerFailure(`its answer has the code ${quoteReason(context, shown)}`);
}
