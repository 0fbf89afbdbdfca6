// The sandbox: simulates the service of interface.md in memory, on two loopback ports. Its data
// depends on a seed. It produces faults on request.

import { createRandom } from '../system/random.js';
import { createApi } from './api.js';
import { createFaults, type Fault } from './faults.js';
import { surroundingsOf } from './fleet.js';
import { startLife } from './life.js';
import { PushChannel, type PushLine } from './push.js';
import { randomUuid } from './random.js';
import { addRecorded, createPlayback, type Recorded } from './recorded.js';
import { seedFleet } from './seed.js';
import { closeServer, listen, type RecordedRequest, type RequestLine, serve } from './server.js';
import { createSteering } from './steering.js';
import { createTokens } from './token.js';
import { openWebhook, type WebhookOptions } from './webhook.js';

export type { Fault } from './faults.js';
export { parseFault } from './faults.js';
export type { ServedBicycle } from './fleet.js';
export type { Recorded } from './recorded.js';
export type { RequestLine } from './server.js';
export type { Role, TokenOptions } from './token.js';
export type { SandboxState, ServedTransition } from './transitions.js';
export { TRANSITION_TABLE } from './transitions.js';
export { parseWebhookUrl } from './webhook.js';

/**
 * Which service the sandbox simulates. `interface` behaves exactly as in interface.md. `observed`
 * also has the behaviour that was observed in a running service.
 */
export type ServiceKind = 'interface' | 'observed';

/** The simulated world and its events. */
export interface SandboxWorld {
  /** The number of bicycles at the start. Default: 500. */
  bicycles?: number;
  /**
   * A recorded fleet that is used instead of generated bicycles. With it, there are no automatic
   * events unless `rate` is set.
   */
  recorded?: Recorded;
  /** The same seed and number of bicycles produce the same fleet. Default: 1. */
  seed?: number;
  /** The number of automatic events per second. Default: 2; 0 for no events. */
  rate?: number;
  /**
   * Returns the sandbox's current time in milliseconds since the epoch. All data uses this time,
   * and it determines whether tokens are valid. Tests may move it forwards and backwards.
   */
  now?: () => number;
  /** The receiver of new and changed alerts (section 6.2). */
  webhook?: WebhookOptions;
}

/** The addresses and the behaviour of the sandbox. */
export interface SandboxOptions extends SandboxWorld {
  /**
   * Converts text from a client's create or edit request to the form in which the service stores
   * it. By default, the text is unchanged.
   */
  storedText?: (text: string) => string | null;
  /**
   * `observed` adds requests for single bicycles, their history, edits, more filters and orderings,
   * versions, times in whole seconds, and more.
   */
  service?: ServiceKind;
  /** API port. Default: 0, any free port. */
  port?: number;
  /** Push port. Default: 0, any free port. */
  ssePort?: number;
  /** Items on a page. Default: 20. */
  pageSize?: number;
  /** A prefix of every API path, such as `/api`. Default: none. The push port does not use it. */
  prefix?: string;
  faults?: Fault[];
  /** How many events are kept for Last-Event-ID. Default: 1000. */
  replay?: number;
  /**
   * The interval, in milliseconds, at which a subscription without events gets a comment to keep it
   * alive. Default: 15000.
   */
  heartbeatMs?: number;
  /** Called for each request when its answer is sent, and for each subscription when it opens. */
  onRequest?: (line: RequestLine) => void;
}

/**
 * A running sandbox. It has two organizations; the first one has nearly all bicycles. Its first two
 * users are an admin and a fleet operator. All other users are renters.
 */
export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

/**
 * The number of records to keep. It is enough for the longest test, and limits the memory use of a
 * sandbox that runs for days.
 */
const RECORDED_REQUESTS = 5000;
const RECORDED_LINES = 20_000;

/**
 * Faults and events each have their own random source. They therefore do not depend on the size of
 * the fleet.
 */
const FAULT_SEED = 0x0fa17;
const LIFE_SEED = 0x011fe;
const CREATION_SEED = 0x0c0de;

/**
 * Starts the sandbox on loopback and resolves when both ports answer. Rejects with Node's error
 * (`code` EADDRINUSE) when a port is in use.
 */
export async function startSandbox(options: SandboxOptions = {}) {
  const webhook = options.webhook === undefined ? undefined : openWebhook(options.webhook);
  const api = await listen(options.port);
  const pushing = await listen(options.ssePort).catch(async (thrown: unknown) => {
    await closeServer(api.server);
    throw thrown;
  });
  const { prefix = '' } = options;
  const baseUrl = `${api.url}${prefix}`;
  const { storedText = (text) => text } = options;
  const { seed = 1, recorded, rate = recorded === undefined ? 2 : 0 } = options;
  /** The most recent requests in order, and the most recent pushed events. */
  const logs = { requests: [] as RecordedRequest[], pushLog: [] as PushLine[] };
  const fleet = seedFleet(
    { seed, bicycles: recorded === undefined ? (options.bicycles ?? 500) : 0 },
    {
      baseUrl,
      isObserved: options.service !== 'interface',
      now: options.now ?? Date.now,
      publish: (publication) => push.publish(publication),
      storedText: (text) => storedText(faults.has('trim') ? text.trim() : text),
      onAlert: (alert) => webhook?.send(JSON.stringify(alert)),
    },
  );
  if (recorded !== undefined) addRecorded(fleet, recorded);
  const faults = createFaults(createRandom(seed ^ FAULT_SEED), options.faults ?? []);
  const tokens = createTokens(fleet, faults);
  const creation = createRandom(seed ^ CREATION_SEED);
  const nextUuid = () => randomUuid(creation);
  const { pageSize = 20, replay = 1000, heartbeatMs = 15_000, onRequest } = options;
  const keepPushed = (line: PushLine) => keep(logs.pushLog, line, RECORDED_LINES);
  const push = new PushChannel({
    fleet,
    tokens,
    faults,
    replay,
    heartbeatMs,
    log: logs.pushLog,
    keep: keepPushed,
  });
  const handle = createApi({ fleet, tokens, faults, pageSize, prefix, nextUuid });
  const remember = (record: RecordedRequest) => keep(logs.requests, record, RECORDED_REQUESTS);
  const common = { fleet, faults, remember, onRequest };
  serve(api.server, { ...common, name: 'api', handle });
  serve(pushing.server, { ...common, name: 'push', handle: push.handle });
  const endLife = startLife(fleet, createRandom(seed ^ LIFE_SEED), rate);
  return {
    /** `http://127.0.0.1:PORT` with the prefix and without a trailing slash. */
    baseUrl,
    sseUrl: pushing.url,
    ...surroundingsOf(fleet),
    ...logs,
    ...createSteering(fleet, nextUuid, push.publish),
    ...createPlayback(fleet, recorded?.baseUrl ?? baseUrl),
    /**
     * Returns how many transitions of this bicycle were requested. Automatic transitions are not
     * counted.
     */
    actionCount: (uuid: string) => fleet.bicyclesByUuid.get(uuid)?.actions ?? 0,
    /** Returns the number of open subscriptions. */
    streamCount: push.streamCount,
    /** Destroys the sockets of all open subscriptions. */
    dropStreams: push.dropStreams,
    /**
     * Signs an access token. By default, the token belongs to a fleet operator of all organizations
     * and is valid for 12 hours.
     */
    token: tokens.sign,
    /** Replaces all faults. They also apply to open subscriptions. */
    setFaults(changed: Fault[]): void {
      faults.set(changed);
      push.obeyFaults();
    },
    /**
     * Returns how many webhooks were delivered, how many are waiting, and how many were dropped.
     */
    webhookCounts: () => webhook?.counts() ?? { delivered: 0, waiting: 0, lost: 0 },
    /** Stops immediately: closes both ports and all connections, and ends all timers. */
    async close(): Promise<void> {
      endLife();
      webhook?.close();
      push.close();
      await Promise.all([api, pushing].map(({ server }) => closeServer(server)));
    },
  };
}

/**
 * Appends a line. When there are too many lines, many old ones are removed at once, which is faster
 * than removing them individually.
 */
function keep<Line>(lines: Line[], line: Line, most: number): void {
  lines.push(line);
  if (lines.length > most * 1.25) lines.splice(0, lines.length - most);
}
