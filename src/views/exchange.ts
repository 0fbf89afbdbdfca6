// Formats requests and answers on stderr for `--trace`, `--verbose` and retries: as lines, or as
// objects with `--json`.

import type { HttpLog } from '../http/client.js';
import { redact, redactAddress, traceOf } from '../http/headers.js';
import { clean, escapeJson } from '../terminal/clean.js';

/** Bodies that are longer than this are cut by `--verbose`. */
const BODY_LENGTH_CHARACTERS = 2000;

export interface LogOptions {
  trace?: boolean;
  verbose?: boolean;
  quiet?: boolean;
  /**
   * Whether each line is an object with one of the keys `request`, `response`, `trace` and `retry`.
   */
  isJson: boolean;
}

/** Creates the log of the HTTP client. `write` receives each line without control characters. */
export function openHttpLog(
  { trace, verbose, quiet, isJson }: LogOptions,
  write: (line: string) => void,
): HttpLog {
  const print = (kind: string, record: object, lines: readonly string[]) => {
    if (isJson) write(escapeJson(JSON.stringify({ [kind]: record })));
    else for (const line of lines) write(clean(line));
  };
  const listed = (mark: string, headers: { [name: string]: string }) =>
    Object.entries(headers).map(([name, value]) => `${mark} ${name}: ${value}`);
  return {
    request(method, url, headers, body) {
      if (verbose !== true) return;
      const shown = redact(headers);
      const address = redactAddress(url.href);
      const end = (body?.length ?? 0) > BODY_LENGTH_CHARACTERS ? '…' : '';
      const sent = body === undefined ? {} : { body: body.slice(0, BODY_LENGTH_CHARACTERS) + end };
      const lines = [
        `> ${method} ${address}`,
        ...listed('>', shown),
        ...Object.values(sent).map((text) => `> ${text}`),
      ];
      print('request', { method, url: address, headers: shown, ...sent }, lines);
    },
    response(method, url, status, headers, milliseconds) {
      if (trace !== true && verbose !== true) return;
      const where = { method, url: redactAddress(url.href), status, milliseconds };
      if (trace === true) {
        const { from, requestId, version } = traceOf(headers);
        const record = {
          ...where,
          from: from ?? null,
          request_id: requestId ?? null,
          version: version ?? null,
        };
        print('trace', record, [
          `trace: ${method} ${redactAddress(url.pathname + url.search)} ${status} in ${milliseconds} ms, from ${from ?? '-'}, request ${requestId ?? '-'}, version ${version ?? '-'}`,
        ]);
      }
      if (verbose !== true) return;
      const shown = redact(headers);
      print('response', { ...where, headers: shown }, [
        `< ${status} in ${milliseconds} ms`,
        ...listed('<', shown),
      ]);
    },
    detail(text) {
      if (verbose === true) print('log', { message: text }, [text]);
    },
    retry(reason, pauseMs, attempt, most) {
      if (quiet === true) return;
      print('retry', { reason, pause_ms: Math.round(pauseMs), attempt, most }, [
        `${reason}; trying again in ${(pauseMs / 1000).toFixed(1)} s (${attempt} of ${most})`,
      ]);
    },
  };
}
