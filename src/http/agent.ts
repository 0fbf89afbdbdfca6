// Loads only the part of undici that every request needs. Loading all of undici adds 40 ms to the
// start-up.

import type { buildConnector as Connectors } from 'undici';
// A private path of undici. package.json pins the version, and test/http/agent.test.ts fails when
// the path changes.
import Agent from 'undici/lib/dispatcher/agent.js';

/** Opens undici's Agent with these options. */
export function openAgent(options: Agent.Options & { connect: Connectors.connector }): Agent {
  return new Agent(options);
}
