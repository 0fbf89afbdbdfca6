// The sandbox: the whole service of interface.md on two loopback ports, in memory, seeded, with faults on request.
import { createApi } from './api.js';
import { createFaults, type Fault } from './faults.js';
import { surroundingsOf } from './fleet.js';
import { startLife } from './life.js';
import { PushChannel, type PushLine } from './push.js';
import { createRandom, randomUuid } from './random.js';
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

/** Which service it plays: interface.md to the letter, or one that also does what was observed of a running service. */
export type ServiceKind = 'interface' | 'observed';

/** What there is, and what happens to it. */
export interface SandboxWorld {
  /** How many bicycles there are at the beginning; 500. */
  bicycles?: number;
  /** A fleet that was recorded, instead of so many bicycles; nothing happens by itself then, unless `rate` says so. */
  recorded?: Recorded;
  /** The same seed and number of bicycles give the same fleet; 1. */
  seed?: number;
  /** Events a second that happen by themselves; 2. 0 is still. */
  rate?: number;
  /** The date, in milliseconds since the epoch; it dates everything and judges tokens. A test may step it both ways. */
  now?: () => number;
  /** Where each alert is sent that is raised or changed (section 6.2). */
  webhook?: WebhookOptions;
}

/** How it is reached, and how it answers. */
export interface SandboxOptions extends SandboxWorld {
  /** Returns a text of a creation or an edit as the service stores it; unchanged when absent. */
  storedText?: (text: string) => string | null;
  /** `observed`: single bicycles, their history, edits, further filters and orderings, versions, whole seconds … */
  service?: ServiceKind;
  /** API port; 0, the default, is any free one. */
  port?: number;
  /** Push port; 0, the default, is any free one. */
  ssePort?: number;
  /** Items on a page; 20. */
  pageSize?: number;
  /** A path in front of every API path, such as `/api`; ''. The push port has none. */
  prefix?: string;
  faults?: Fault[];
  /** How many events are kept for Last-Event-ID; 1000. */
  replay?: number;
  /** How often a quiet subscription gets a comment, in milliseconds; 15000. */
  heartbeatMs?: number;
  /** Told of each request when its answer leaves (for a subscription: when it opens). */
  onRequest?: (line: RequestLine) => void;
}

/** Two organizations; the first is the main one with nearly all the bicycles. Users: an admin, a fleet operator, then renters. */
export type Sandbox = Awaited<ReturnType<typeof startSandbox>>;

/** Enough for the longest test; bounds the memory of a sandbox that runs for days. */
const RECORDED_REQUESTS = 5000;
const RECORDED_LINES = 20_000;

/** Streams of randomness of their own, so that faults and life do not depend on the size of the fleet. */
const FAULT_SEED = 0x0fa17;
const LIFE_SEED = 0x011fe;
const CREATION_SEED = 0x0c0de;

/**
 * Starts the sandbox on loopback and resolves when both ports answer. Rejects with Node's error when a port is taken
 * (`code` EADDRINUSE).
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
  /** The last requests in the order they came, and the last pushed events. */
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
    /** `http://127.0.0.1:PORT` with the prefix, without a trailing slash. */
    baseUrl,
    sseUrl: pushing.url,
    ...surroundingsOf(fleet),
    ...logs,
    ...createSteering(fleet, nextUuid, push.publish),
    ...createPlayback(fleet, recorded?.baseUrl ?? baseUrl),
    /** How many transitions requests have carried out on this bicycle; what the service does itself does not count. */
    actionCount: (uuid: string) => fleet.bicyclesByUuid.get(uuid)?.actions ?? 0,
    /** How many subscriptions are open. */
    streamCount: push.streamCount,
    /** Cuts all subscriptions that are open; their sockets are destroyed. */
    dropStreams: push.dropStreams,
    /** Signs an access token: a fleet operator for 12 hours and all organizations, unless said otherwise. */
    token: tokens.sign,
    /** Replaces all faults; open subscriptions obey the new ones too. */
    setFaults(changed: Fault[]): void {
      faults.set(changed);
      push.obeyFaults();
    },
    /** How many webhooks were delivered, wait to be, and were given up. */
    webhookCounts: () => webhook?.counts() ?? { delivered: 0, waiting: 0, lost: 0 },
    /** Stops at once: closes both ports, cuts what is open, ends all timers. */
    async close(): Promise<void> {
      endLife();
      webhook?.close();
      push.close();
      await Promise.all([api, pushing].map(({ server }) => closeServer(server)));
    },
  };
}

/** Appends, and forgets the oldest in batches, which keeps it cheap. */
function keep<Line>(lines: Line[], line: Line, most: number): void {
  lines.push(line);
  if (lines.length > most * 1.25) lines.splice(0, lines.length - most);
}
