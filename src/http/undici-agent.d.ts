// Types of the file of undici that agent.ts imports. They equal those of undici's public export.

declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';

  export default Agent;
}
