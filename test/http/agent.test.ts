// The private path of undici that agent.ts imports is still there, and is the public Agent.

import { expect, test } from 'vitest';
import { openAgent } from '../../src/http/agent.js';

test('undici still keeps its Agent where agent.ts takes it from', async () => {
  const undici = await import('undici');
  const agent = openAgent({});
  expect(agent).toBeInstanceOf(undici.Agent);
  await agent.close();
});
