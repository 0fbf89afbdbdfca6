// The environment that points fleet at a sandbox.

import type { Sandbox } from '../../src/sandbox/index.js';

/** Address, push address and token of a fleet operator; no organization, so that lists hold both. */
export async function environmentOf(sandbox: Sandbox): Promise<NodeJS.ProcessEnv> {
  return {
    FLEET_BASE_URL: sandbox.baseUrl,
    FLEET_SSE_URL: sandbox.sseUrl,
    FLEET_TOKEN: await sandbox.token(),
  };
}
