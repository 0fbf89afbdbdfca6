// The environment that points fleet at a sandbox.

import type { Sandbox } from '../../src/sandbox/index.js';

/**
 * URL, push URL and token of a fleet operator without an organization, so that lists contain both
 * organizations.
 */
export async function environmentOf(sandbox: Sandbox): Promise<NodeJS.ProcessEnv> {
  return {
    FLEET_BASE_URL: sandbox.baseUrl,
    FLEET_SSE_URL: sandbox.sseUrl,
    FLEET_TOKEN: await sandbox.token(),
  };
}
