// Loads only the part of undici that every request needs. Loading all of undici adds 40 ms to the
// start-up.

import type { buildConnector as Connectors } from 'undici';
// A private path of undici. package.json pins the version, and test/http/agent.test.ts fails when
// the path changes.
import Agent from 'undici/lib/dispatcher/agent.js';

/**
 * Turns off the background optimisation of WebAssembly on Node 20. At its exit Node 20 waits for
 * this optimisation: 100 ms of processor time and 20 MB, and undici's parser is not faster
 * afterwards. jq runs in the same process.
 */
const NEVER_OPTIMISE = ['--no-wasm-dynamic-tiering', '--no-wasm-tier-up'];

/** Opens undici's Agent with these options. */
export function openAgent(options: Agent.Options & { connect: Connectors.connector }): Agent {
  if (process.version.startsWith('v20.'))
    for (const flag of NEVER_OPTIMISE) process.getBuiltinModule('node:v8').setFlagsFromString(flag);
  return new Agent(options);
}
