// How requests and answers look on stderr: `--trace`, `--verbose` and the announcement of a retry.

import type { HttpLog } from '../http/client.js';
import { redact, traceOf } from '../http/headers.js';

/** What `--verbose` shows of a body that is sent; longer ones are cut. */
const BODY_LENGTH_CHARACTERS = 2000;

/**
 * Makes the log of the HTTP client.
 * @param write takes one line, not yet cleaned of control characters
 */
export function openHttpLog(
  flags: { trace?: boolean; verbose?: boolean; quiet?: boolean },
  write: (line: string) => void,
): HttpLog {
  return {
    request(method, url, headers, body) {
      if (flags.verbose !== true) return;
      write(`> ${method} ${url.href}`);
      for (const [name, value] of Object.entries(redact(headers))) write(`> ${name}: ${value}`);
      if (body !== undefined)
        write(`> ${body.length <= BODY_LENGTH_CHARACTERS ? body : `${body.slice(0, BODY_LENGTH_CHARACTERS)}…`}`);
    },
    response(method, url, status, headers, milliseconds) {
      if (flags.trace === true) {
        const { from, requestId, version } = traceOf(headers);
        write(
          `trace: ${method} ${url.pathname}${url.search} ${status} in ${milliseconds} ms, from ${from ?? '-'}, request ${requestId ?? '-'}, version ${version ?? '-'}`,
        );
      }
      if (flags.verbose !== true) return;
      write(`< ${status} in ${milliseconds} ms`);
      for (const [name, value] of Object.entries(redact(headers))) write(`< ${name}: ${value}`);
    },
    retry(reason, pauseMs, attempt, most) {
      if (flags.quiet === true) return;
      write(`${reason}; trying again in ${(pauseMs / 1000).toFixed(1)} s (${attempt} of ${most})`);
    },
  };
}
