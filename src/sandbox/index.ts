// The sandbox: the whole service of interface.md on two loopback ports, in memory, seeded, with faults on request.
import type { Bicycle } from '../api/bicycle.js';
import { createApi, TOKEN_PATH } from './api.js';
import { createFaults, type Fault } from './faults.js';
import {
  type ActionLine,
  changeBicycle,
  type Model,
  type Organization,
  removeBicycle,
  type ServedFleet,
  type Zone,
} from './fleet.js';
import { startLife } from './life.js';
import { createPush, type PushLine } from './push.js';
import { createRandom, randomUuid } from './random.js';
import { addRecorded, addRecordedBicycle, leadHere, type Recorded, type RecordedBicycle } from './recorded.js';
import { seedFleet } from './seed.js';
import { closeServer, createLoopbackServer, listen, type RecordedRequest, type RequestLine } from './server.js';
import { createSteering, type Steering } from './steering.js';
import { createTokens, type TokenOptions } from './token.js';
import { openWebhook, type WebhookOptions } from './webhook.js';

export type { Fault } from './faults.js';
export { parseFault } from './faults.js';
export type { ActionLine, Model, Organization, ServedAlert, ServedBicycle, ServedHistoryEntry, Zone } from './fleet.js';
export type { PushLine } from './push.js';
export type { Recorded, RecordedBicycle } from './recorded.js';
export type { RecordedRequest, RequestLine } from './server.js';
export type { Role, TokenOptions } from './token.js';
export type { SandboxState, ServedTransition } from './transitions.js';
export { TRANSITION_TABLE } from './transitions.js';
export { parseWebhookUrl } from './webhook.js';

/** Which service it plays: interface.md to the letter, or one that also does what was observed of a running service. */
export type ServiceKind = 'interface' | 'observed';

export interface SandboxOptions {
  /** `observed`: single bicycles, their history, edits, further filters and orderings, versions, whole seconds … */
  service?: ServiceKind;
  /** API port; 0, the default, is any free one. */
  port?: number;
  /** Push port; 0, the default, is any free one. */
  ssePort?: number;
  /** How many bicycles there are at the beginning; 500. */
  bicycles?: number;
  /** A fleet that was recorded, instead of so many bicycles; nothing happens by itself then, unless `rate` says so. */
  recorded?: Recorded;
  /** The same seed and number of bicycles give the same fleet; 1. */
  seed?: number;
  /** Events a second that happen by themselves; 2. 0 is still. */
  rate?: number;
  /** Items on a page; 20. */
  pageSize?: number;
  /** A path in front of every API path, such as `/api`; none. The push port has none. */
  prefix?: string;
  faults?: Fault[];
  /** How many events are kept for Last-Event-ID; 1000. */
  replay?: number;
  /** How often a quiet subscription gets a comment, in milliseconds; 15000. */
  heartbeatMs?: number;
  /** The date, in milliseconds since the epoch; it dates everything and judges tokens. A test may step it both ways. */
  now?: () => number;
  /** The middle of the trace headers' names; `Service`, for X-Service-RequestId. */
  traceFamily?: string;
  /** Where each alert is sent that is raised or changed (section 6.2). */
  webhook?: Pick<WebhookOptions, 'url' | 'secret'>;
  /** Told of each request when its answer leaves (for a subscription: when it opens). */
  onRequest?: (line: RequestLine) => void;
}

export interface Sandbox extends Steering {
  /** `http://127.0.0.1:PORT` and the prefix, without a trailing slash. */
  baseUrl: string;
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  sseUrl: string;
  /** Where a token command gets a new token as plain text: `curl -s URL`, with `?role=renter` for another role. */
  tokenUrl: string;
  /** Two; the first is the main one with nearly all the bicycles. */
  organizations: Organization[];
  zones: Zone[];
  models: Model[];
  /** Uuids of users: the default subjects of an admin, a fleet operator and a renter, then other renters. */
  users: string[];
  /** Signs an access token: a fleet operator for 12 hours and all organizations, unless said otherwise. */
  token: (options?: TokenOptions) => Promise<string>;
  /** Replaces all faults; open subscriptions obey the new ones too. */
  setFaults: (faults: Fault[]) => void;
  /** The last 5,000 requests in the order they came. */
  requests: RecordedRequest[];
  /** How many transitions requests have carried out on this bicycle; what the service does itself does not count. */
  actionCount: (uuid: string) => number;
  /** The last 20,000 changes, whoever made them. */
  actionLog: ActionLine[];
  /** The last 20,000 pushed events. */
  pushLog: PushLine[];
  /** How many subscriptions are open. */
  streamCount: () => number;
  /** How many webhooks were delivered, wait to be, and were given up. */
  webhookCounts: () => { delivered: number; waiting: number; lost: number };
  /** Changes a recorded bicycle, its links led here; nothing happens where it is not there. */
  playChanges: (uuid: string, changes: Partial<Bicycle>) => void;
  /** Adds a recorded bicycle. */
  playArrival: (arrival: RecordedBicycle) => void;
  /** Takes a bicycle out of the lists. */
  playDeparture: (uuid: string) => void;
  /** Cuts all subscriptions that are open; their sockets are destroyed. */
  dropStreams: () => void;
  /** Stops at once: closes both ports, cuts what is open, ends all timers. */
  close: () => Promise<void>;
}

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
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const seed = options.seed ?? 1;
  const isObserved = options.service !== 'interface';
  const now = options.now ?? Date.now;
  const prefix = normalisePrefix(options.prefix ?? '');
  const faults = createFaults(createRandom(seed ^ FAULT_SEED), options.faults ?? []);
  const requests: RecordedRequest[] = [];
  const actionLog: ActionLine[] = [];
  const pushLog: PushLine[] = [];
  const actions = new Map<string, number>();

  // The links of the fleet need the port, and the port needs the servers: they get at the fleet through this.
  let seeded: ServedFleet | undefined;
  const fleet = () => {
    if (seeded === undefined) throw new Error('the sandbox is still starting');
    return seeded;
  };

  const subjects = { admin: '', fleet_operator: '', renter: '' };
  const tokens = createTokens({
    now,
    subjects,
    affiliations: () => (isObserved ? (seeded?.organizations ?? []) : []),
    lifetimeLimitMs: () => faults.durationMs('expire'),
  });
  const creation = createRandom(seed ^ CREATION_SEED);
  const handleApi = createApi({
    fleet,
    isObserved,
    tokens,
    faults,
    pageSize: options.pageSize ?? 20,
    prefix,
    nextUuid: () => randomUuid(creation),
    onAction: (uuid) => actions.set(uuid, (actions.get(uuid) ?? 0) + 1),
  });
  const push = createPush({
    fleet,
    tokens,
    faults,
    now,
    replay: options.replay ?? 1000,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    log: (line) => keep(pushLog, line, RECORDED_LINES),
  });

  // A token command must work whatever the faults are.
  const isTokenPath = (path: string) => path.startsWith(`${prefix}${TOKEN_PATH}`);
  const common = {
    faults,
    isObserved,
    traceFamily: options.traceFamily ?? 'Service',
    now,
    remember: (record: RecordedRequest) => keep(requests, record, RECORDED_REQUESTS),
    onRequest: options.onRequest,
  };
  const apiServer = createLoopbackServer({ ...common, name: 'api', handle: handleApi, spares: isTokenPath });
  const pushServer = createLoopbackServer({ ...common, name: 'push', handle: push.handle, spares: () => false });

  const webhook = options.webhook === undefined ? undefined : openWebhook(options.webhook);

  async function closeAll(): Promise<void> {
    push.close();
    webhook?.close();
    await Promise.all([apiServer, pushServer].filter((server) => server.listening).map(closeServer));
  }

  let baseUrl: string;
  let sseUrl: string;
  try {
    baseUrl = `${await listen(apiServer, options.port ?? 0)}${prefix}`;
    sseUrl = await listen(pushServer, options.ssePort ?? 0);
  } catch (thrown) {
    await closeAll();
    throw thrown;
  }
  seeded = seedFleet({
    seed,
    bicycles: options.recorded === undefined ? (options.bicycles ?? 500) : 0,
    baseUrl,
    isObserved,
    now,
    publish: push.publish,
    onAlert: (alert) => webhook?.send(JSON.stringify(alert)),
    log: (line) => keep(actionLog, line, RECORDED_LINES),
  });
  if (options.recorded !== undefined) addRecorded(seeded, options.recorded);
  const [admin = '', operator = '', renter = ''] = seeded.users;
  Object.assign(subjects, { admin, fleet_operator: operator, renter });
  const endLife = startLife(
    seeded,
    createRandom(seed ^ LIFE_SEED),
    options.rate ?? (options.recorded === undefined ? 2 : 0),
  );

  return {
    baseUrl,
    sseUrl,
    tokenUrl: `${baseUrl}${TOKEN_PATH}`,
    organizations: seeded.organizations,
    zones: seeded.zones,
    models: seeded.models,
    users: seeded.users,
    token: tokens.sign,
    setFaults: (changed) => {
      faults.set(changed);
      push.obeyFaults();
    },
    requests,
    actionCount: (uuid) => actions.get(uuid) ?? 0,
    actionLog,
    pushLog,
    streamCount: push.streamCount,
    ...createSteering({ fleet: seeded, nextUuid: () => randomUuid(creation), renter, publish: push.publish }),
    webhookCounts: () => webhook?.counts() ?? { delivered: 0, waiting: 0, lost: 0 },
    playChanges: (uuid, changes) => {
      const row = fleet().bicyclesByUuid.get(uuid);
      const led = leadHere(changes, options.recorded?.baseUrl ?? baseUrl, baseUrl) as Partial<Bicycle>;
      if (row !== undefined) changeBicycle(fleet(), row, led);
    },
    playArrival: (arrival) => {
      const row = addRecordedBicycle(fleet(), arrival, options.recorded?.baseUrl ?? baseUrl);
      changeBicycle(fleet(), row, {});
    },
    playDeparture: (uuid) => {
      const row = fleet().bicyclesByUuid.get(uuid);
      if (row !== undefined) removeBicycle(fleet(), row);
    },
    dropStreams: push.dropStreams,
    close: () => {
      endLife();
      return closeAll();
    },
  };
}

/** `/api` for `api`, `/api` and `/api/`; '' for nothing and `/`. */
function normalisePrefix(prefix: string): string {
  const inner = prefix.replace(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
}

/** Appends, and forgets the oldest in batches, which keeps it cheap. */
function keep<Line>(lines: Line[], line: Line, most: number): void {
  lines.push(line);
  if (lines.length > most * 1.25) lines.splice(0, lines.length - most);
}
