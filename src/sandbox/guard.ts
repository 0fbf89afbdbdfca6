// Refuses requests from web pages, so that a browser cannot reach the sandbox's tokens.
import { type Problem, refuse } from './problem.js';

export const LOOPBACK_NAMES: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Returns an error for two kinds of requests: requests that were not addressed to this port on
 * loopback, and requests from a web page. Returns undefined for other requests.
 */
export function refusalOf(
  headers: { host?: string | undefined; origin?: string | undefined },
  port: number,
): Problem | undefined {
  if (!isOwnHost(headers.host ?? '', port)) {
    return refuse(
      421,
      `The sandbox only answers to 127.0.0.1:${port} and localhost:${port}.`,
      'misdirected_request',
    );
  }
  // Only web pages send an Origin. The sandbox has no web pages, so such a request comes from the
  // page of another server.
  if (headers.origin !== undefined) {
    return refuse(
      403,
      'The sandbox answers no web page: the request has an Origin.',
      'origin_not_allowed',
    );
  }
  return undefined;
}

function isOwnHost(host: string, port: number): boolean {
  const name = host.toLowerCase();
  return LOOPBACK_NAMES.some((loopback) => name === `${loopback}:${port}`);
}
