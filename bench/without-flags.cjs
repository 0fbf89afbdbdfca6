// Preloaded (`node -r`) to measure what the flag of src/http/agent.ts buys: the program can set no flag of V8 then.

require('node:v8').setFlagsFromString = () => {};
