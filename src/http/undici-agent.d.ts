// Types of the private undici paths that agent.ts and connect.ts import. They equal the types of
// undici's public exports.

declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';

  export default Agent;
}

declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici';

  export default buildConnector;
}

declare module 'undici/lib/core/symbols.js' {
  export const kParser: unique symbol;
}
