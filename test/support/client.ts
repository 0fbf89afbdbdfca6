// Opens HTTP clients of fleet on real sockets for the tests in test/http.

import { onTestFinished } from 'vitest';
import { type Client, type ClientOptions, openClient } from '../../src/http/client.js';
import { openNetwork } from '../../src/http/network.js';
import { systemClock } from '../../src/system/clock.js';
import { openSecrets } from '../../src/system/secrets.js';

export interface TestClient {
  client: Client;
  /** What the client announced: retries and responses. */
  said: string[];
}

/** Opens a client with the token `secret-token` until the test has finished; options override its parts. */
export async function openTestClient(
  baseUrl: string,
  options: Partial<ClientOptions> = {},
  env: NodeJS.ProcessEnv = {},
): Promise<TestClient> {
  const network = await openNetwork(env, options.timeoutMs ?? 60_000, openSecrets());
  onTestFinished(() => network.close());
  const said: string[] = [];
  const client = openClient({
    baseUrl: new URL(baseUrl),
    apiVersion: '1.0',
    timeoutMs: 60_000,
    retries: 3,
    network,
    token: { get: async () => 'secret-token', renew: async () => undefined },
    log: {
      request() {},
      response: (method, url, status) =>
        said.push(`${method} ${url.pathname}${url.search} ${status}`),
      retry: (reason, _pause, attempt, most) => said.push(`retry ${attempt}/${most}: ${reason}`),
    },
    secrets: openSecrets(),
    clock: systemClock(),
    signal: new AbortController().signal,
    ...options,
  });
  return { client, said };
}
