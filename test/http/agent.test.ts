// Checks the internal path of undici that agent.ts imports.

import { expect, test } from 'vitest';
import { openAgent } from '../../src/http/agent.js';
import { openConnector, openSockets } from '../../src/http/connect.js';

test('undici exports its Agent where agent.ts imports it', async () => {
  const undici = await import('undici');
  const agent = openAgent({ connect: openConnector(1000, openSockets()) });
  expect(agent).toBeInstanceOf(undici.Agent);
  await agent.close();
});
