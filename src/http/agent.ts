// The part of undici that every request needs; the whole of it costs 40 ms more at start-up.

import type { buildConnector as Connectors } from 'undici';
// A private path of undici: package.json pins the version, and test/http/agent.test.ts notices when it moves.
import Agent from 'undici/lib/dispatcher/agent.js';

/**
 * Node 20 waits at its exit for the background optimisation of undici's parser: 100 ms of processor time and 20 MB for a parser that is no
 * faster after it. jq is in the same process.
 */
const NEVER_OPTIMISE = ['--no-wasm-dynamic-tiering', '--no-wasm-tier-up'];

/** Opens undici's Agent with its options. */
export function openAgent(options: Agent.Options & { connect: Connectors.connector }): Agent {
  if (process.version.startsWith('v20.'))
    for (const flag of NEVER_OPTIMISE) process.getBuiltinModule('node:v8').setFlagsFromString(flag);
  return new Agent(options);
}
