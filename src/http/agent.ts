// The part of undici that every request needs; the whole of it costs 40 ms more at start-up.

import { setFlagsFromString } from 'node:v8';
// A private path of undici: package.json pins the version, and test/http/agent.test.ts notices when it moves.
import Agent from 'undici/lib/dispatcher/agent.js';

/** Only Node 20 waits at its exit for the background optimisation of undici's parser, about 100 ms. */
const DOES_NODE_WAIT = process.version.startsWith('v20.');

/**
 * The largest budget there is: the parser is not optimised before some 50 MB were read, which a short command does not miss, nor the
 * 35 MB of memory that optimising takes. V8 11.3's own follows.
 */
const OPTIMISE_LATE = '--wasm-tiering-budget=2147483647';
const OPTIMISE_SOON = '--wasm-tiering-budget=1800000';

/** Opens undici's Agent with its options. */
export function openAgent(options: Agent.Options): Agent {
  const agent = new Agent(options);
  if (DOES_NODE_WAIT) {
    // Under other flags V8 refuses what it compiled before, Node's own modules included. So the flag is there only while undici loads
    // its parser, which it does for the first connection.
    setFlagsFromString(OPTIMISE_LATE);
    agent.once('connect', () => setFlagsFromString(OPTIMISE_SOON));
  }
  return agent;
}
