// The types of the private path of undici that agent.ts imports: they are those of its public Agent.

declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';

  export default Agent;
}
