// `fleet alerts listen`: receives alerts as webhooks, prints each once, passes them on, and reads the list for what did not come.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Context } from '../../context.js';
import { asFleetError, configError, FleetError, reasonOf, usageError } from '../../errors.js';
import { makeFolder, OWN_FOLDER_MODE } from '../../folder.js';
import { isOwnName } from '../../http/loopback.js';
import { findStateFolder } from '../../settings/place.js';
import { count } from '../../views/stream.js';
import { type EndOptions, endPlan } from '../follow/ending.js';
import { chooseLines } from '../follow/print.js';
import { followAlerts, type Receiver, type ReceiverInput } from './follow.js';
import { type Forwarder, openForwarder } from './forward.js';
import { openForwardQueue } from './forward-queue.js';
import { type Memory, openMemory } from './memory.js';
import { openServer, type Webhook, type WebhookServer } from './receiver.js';

export interface ListenOptions extends EndOptions {
  port: number;
  host: string;
  path: string;
  secretEnv?: string;
  signatureHeader: string;
  forward?: URL;
  /** Milliseconds; 0: the list is never read. */
  backfill: number;
}

/** The same reason is said again after so long. */
const SAID_AGAIN_MS = 60_000;

export async function listenAlerts(context: Context, options: ListenOptions): Promise<void> {
  const settings = await context.settings();
  const form = await chooseLines(context, 'alerts listen');
  const secret = readSecret(context, options);
  if (secret === undefined && !isLoopbackHost(options.host)) {
    throw usageError(
      `--host ${options.host} needs a secret: without one only this machine can connect`,
      'give --secret-env NAME, the variable with the secret',
    );
  }
  const baseUrl = options.backfill === 0 ? undefined : settings.baseUrl.value;
  const organization = settings.organization.value;
  const { clock } = context;
  // The port first: who has it has the memory as well.
  const server = await openServer({ ...options, secret, clock }).catch((error) =>
    Promise.reject(notListening(error, options)),
  );
  try {
    const memory = await remember(context, options, settings.baseUrl.value?.href ?? '');
    const query = organization === undefined ? [] : [['organization', organization] as const];
    const everyMs = baseUrl === undefined ? undefined : options.backfill;
    const plan = {
      form,
      ...endPlan(options),
      query,
      everyMs,
      slowsDown: false,
      isBackfill: true,
    };
    const openReceiver = (input: ReceiverInput) => receive(context, { options, server, memory: memory?.path }, input);
    const doing = 'listening for alerts';
    await followAlerts(context, { plan, doing, memory, exec: undefined, topics: [], baseUrl, openReceiver });
  } finally {
    await server.close();
  }
}

function readSecret({ io }: Context, { secretEnv }: ListenOptions): string | undefined {
  if (secretEnv === undefined) return undefined;
  const secret = io.env[secretEnv];
  if (secret === undefined || secret === '') {
    throw configError(
      `the variable ${secretEnv} of --secret-env is ${secret === '' ? 'empty' : 'not set'}`,
      'set it to the secret of the webhooks',
    );
  }
  io.secrets.add(secret);
  return secret;
}

function isLoopbackHost(host: string): boolean {
  return isOwnName(host) || /^127\.\d+\.\d+\.\d+$/.test(host) || host === '::1' || host === '[::1]';
}

function notListening(thrown: NodeJS.ErrnoException, { host, port }: ListenOptions): FleetError {
  if (thrown.code === 'EADDRINUSE')
    return usageError(`port ${port} of ${host} is in use`, 'stop the program that listens there, or use --port');
  if (thrown.code === 'EACCES')
    return usageError(`port ${port} of ${host} may not be listened to by this user`, 'give a --port from 1024 on');
  if (thrown.code === 'EADDRNOTAVAIL' || thrown.code === 'ENOTFOUND')
    return usageError(`${host} is not an address of this machine`, 'give --host 127.0.0.1');
  return asFleetError(thrown);
}

function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The file of this listener: another service, address or path is another one. */
async function statePath(context: Context, { host, port, path }: ListenOptions, base: string): Promise<string> {
  const folder = findStateFolder(context.io.env);
  if (folder === undefined) {
    throw configError('there is no folder to remember alerts in', 'set XDG_STATE_HOME or HOME to an absolute path');
  }
  await makeFolder(folder, OWN_FOLDER_MODE).catch((error) => {
    const hint = 'set XDG_STATE_HOME to a folder of yours';
    throw configError(`${folder} cannot be made: ${reasonOf(error)}`, hint, error);
  });
  return join(folder, `listen-${port}-${digestOf(JSON.stringify([base, host, port, path])).slice(0, 12)}`);
}

/** What was shown before; without it the listener works, and says what that means, unless bodies must be kept for --forward. */
async function remember(context: Context, options: ListenOptions, base: string): Promise<Memory | undefined> {
  try {
    return await openMemory(`${await statePath(context, options, base)}.state`, base);
  } catch (thrown) {
    if (options.forward !== undefined) throw thrown;
    const { message } = asFleetError(thrown);
    await context.notice(`what was shown is not remembered across restarts: ${message}`);
    return undefined;
  }
}

interface ReceiveParts {
  options: ListenOptions;
  server: WebhookServer;
  memory: string | undefined;
}

/** Takes webhooks from now on. */
async function receive(
  context: Context,
  { options, server, memory }: ReceiveParts,
  input: ReceiverInput,
): Promise<Receiver> {
  const { clock } = context;
  const { stderr, push } = input;
  const forwarder =
    options.forward === undefined ? undefined : await forwardTo(options.forward, context, memory, stderr);
  const pending = new Map<number, Webhook>();
  /** Bodies that could not be kept: their next try is passed on, although they are known. */
  const owed = new Set<string>();
  const failed = new Set<number>();
  const said = new Map<string, number>();
  server.start(
    (webhook) => {
      if (forwarder?.hasRoom() === false) return false;
      if (forwarder !== undefined) pending.set(webhook.id, webhook);
      push({ type: 'webhook', id: webhook.id, items: webhook.items });
      return true;
    },
    (status, reason) => {
      const dueMs = (said.get(reason) ?? Number.NEGATIVE_INFINITY) + SAID_AGAIN_MS;
      if (clock.monotonicMs() < dueMs) return;
      said.set(reason, clock.monotonicMs());
      const line = stderr.atNow(`a webhook was refused: ${reason} (${status})`);
      stderr.print(true, { event: 'refused', status, message: reason }, line);
    },
  );
  const to =
    options.forward === undefined ? '' : `, passing them on to ${options.forward.origin}${options.forward.pathname}`;
  stderr.print(false, { event: 'listening', url: server.url }, stderr.atNow(`listening at ${server.url}${to}`));
  return {
    pass(id, isNews) {
      const webhook = pending.get(id);
      pending.delete(id);
      if (webhook === undefined || forwarder === undefined) return;
      const digest = digestOf(webhook.body);
      if (!isNews && !owed.has(digest)) return;
      owed.delete(digest);
      if (forwarder.add(forwardedOf(webhook, options.signatureHeader))) return;
      owed.add(digest);
      failed.add(id);
    },
    accept(id) {
      server.answer(id, !failed.delete(id));
    },
    async close() {
      await server.close();
      forwarder?.close();
    },
    summary: () => summaryOf(server, forwarder),
  };
}

async function forwardTo(
  url: URL,
  context: Context,
  memory: string | undefined,
  stderr: ReceiverInput['stderr'],
): Promise<Forwarder> {
  if (memory === undefined) throw new FleetError('internal', '--forward without a memory');
  // Another receiver is another queue.
  const queue = await openForwardQueue(`${memory.replace(/\.state$/, '')}-${digestOf(url.href).slice(0, 12)}.queue`);
  return openForwarder({ url, queue, network: await context.network(), clock: context.clock, stderr });
}

/** The body as it came, with what tells its receiver what it is and whose. */
function forwardedOf({ body, headers }: Webhook, signatureHeader: string) {
  const names = ['content-type', 'user-agent', signatureHeader.toLowerCase()];
  const passed = names.flatMap((name): [string, string][] => {
    const value = headers[name as keyof IncomingMessage['headers']];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return { body, headers: Object.fromEntries(passed) };
}

function summaryOf(server: WebhookServer, forwarder: Forwarder | undefined): ReturnType<Receiver['summary']> {
  const { received, refused } = server.counts();
  const { forwarded, givenUp, waiting } = forwarder?.counts() ?? { forwarded: 0, givenUp: 0, waiting: 0 };
  const facts = [
    count(received, 'webhook'),
    ...(refused === 0 ? [] : [`${refused} refused`]),
    ...(forwarder === undefined ? [] : [`${forwarded} passed on`]),
    ...(givenUp === 0 ? [] : [`${givenUp} given up`]),
    ...(waiting === 0 ? [] : [`${waiting} wait on the disk for the next run`]),
  ];
  const passed = forwarder === undefined ? {} : { forwarded, given_up: givenUp, waiting };
  return { fields: { webhooks: received, refused, ...passed }, facts, isPromise: givenUp + waiting > 0 };
}
