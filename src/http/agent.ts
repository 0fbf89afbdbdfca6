// The part of undici that every request needs; the whole of it costs 40 ms more at start-up.

import { setFlagsFromString } from 'node:v8';
import type { buildConnector as Connectors } from 'undici';
// A private path of undici: package.json pins the version, and test/http/agent.test.ts notices when it moves.
import Agent from 'undici/lib/dispatcher/agent.js';

/** Only Node 20 waits at its exit for the background optimisation of undici's parser, about 100 ms. */
const DOES_NODE_WAIT = process.version.startsWith('v20.');

/**
 * Optimised after some 50 MB, the parser is no faster: it passes over bodies. V8 takes 100 ms of processor time and 20 MB of memory for that.
 * Compiled whole: a function that is compiled later would be compiled under the flags of then, and optimised at once.
 */
const NEVER_OPTIMISE = ['--no-wasm-dynamic-tiering', '--no-wasm-tier-up', '--no-wasm-lazy-compilation'];
const OPTIMISE_AS_EVER = NEVER_OPTIMISE.map((flag) => flag.replace('--no-', '--'));

/** Opens undici's Agent with its options. */
export function openAgent({ connect, ...options }: Agent.Options & { connect: Connectors.connector }): Agent {
  return new Agent({ ...options, connect: DOES_NODE_WAIT ? loadPlainParser(connect) : connect });
}

/** undici loads its parser while it is handed its first connection: the flags are there for that moment alone. */
function loadPlainParser(connect: Connectors.connector): Connectors.connector {
  let isLoaded = false;
  return (options, callback) =>
    connect(options, (...result) => {
      if (isLoaded || result[0] !== null) return callback(...result);
      isLoaded = true;
      for (const flag of NEVER_OPTIMISE) setFlagsFromString(flag);
      try {
        callback(...result);
      } finally {
        for (const flag of OPTIMISE_AS_EVER) setFlagsFromString(flag);
      }
    });
}
