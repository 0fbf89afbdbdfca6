// Loads only the part of undici that every request needs. Loading all of undici would add 40 ms to
// the start-up time.

import type { buildConnector as Connectors } from 'undici';
// This import path is private to undici. package.json pins undici's version, and
// test/http/agent.test.ts fails when the path changes.
import Agent from 'undici/lib/dispatcher/agent.js';

/** Creates an undici Agent. */
export function openAgent(options: Agent.Options & { connect: Connectors.connector }): Agent {
  return new Agent(options);
}
