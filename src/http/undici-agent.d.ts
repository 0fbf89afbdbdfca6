// The types of the private paths of undici that agent.ts and dial.ts import: they are those of its public names.

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
