// Preloaded (`node -r`) to measure what the flags of src/http/agent.ts and src/commands/mirror/run.ts buy: the program can set no flag of V8 then.

require('node:v8').setFlagsFromString = () => {};
