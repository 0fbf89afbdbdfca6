// The part of undici that every request needs; the whole of it costs 40 ms more at start-up.

import { setFlagsFromString } from 'node:v8';
// A private path of undici: package.json pins the version, and test/http/agent.test.ts notices when it moves.
import Agent from 'undici/lib/dispatcher/agent.js';

/** Only Node 20 waits at its exit for the background optimisation of undici's parser, about 100 ms. */
const NODE_THAT_WAITS = 'v20.';

/** A budget that is never used up: the parser is not optimised, which a short-lived program does not miss. */
const NEVER_OPTIMISE = '--wasm-tiering-budget=1000000000';

// After the imports and before the first request: set earlier it costs start-up time.
if (process.version.startsWith(NODE_THAT_WAITS)) setFlagsFromString(NEVER_OPTIMISE);

export { Agent };
