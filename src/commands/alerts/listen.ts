// `fleet alerts listen`: receives alerts as webhooks, prints each alert once, forwards it, and
// reads the list to find missed alerts.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Context } from '../../context.js';
import { configError, reasonOf, usageError } from '../../errors.js';
import type { Session } from '../../follow/loop.js';
import { chooseLines } from '../../follow/print.js';
import { beginFollowing } from '../../follow/token-command-retry.js';
import { hideInHeaders } from '../../http/headers.js';
import { isLoopback } from '../../http/loopback.js';
import { scopeOf } from '../../list/organization.js';
import { findStateFolder } from '../../settings/config-folder.js';
import { makeFolder, OWN_FOLDER_MODE } from '../../system/folder.js';
import { addAddressSecrets } from '../../system/secrets.js';
import { count } from '../../terminal/count.js';
import type { AlertsEvent } from './events.js';
import type { ListenOptions } from './flags.js';
import { followAlerts, type Receiver } from './follow.js';
import { openForwarder } from './forward.js';
import { type Forwarded, type Memory, openMemory } from './state-file.js';
import { openReceiver, type Webhook } from './webhook-receiver.js';

/** A refusal with the same status as an earlier one is reported at most once in this interval. */
const SAID_AGAIN_MS = 60_000;

export async function listenAlerts(context: Context, options: ListenOptions): Promise<void> {
  const settings = await context.settings();
  const form = await chooseLines(context, 'alerts listen');
  const secret = readSecret(context, options);
  if (secret === undefined && !isLoopback({ hostname: options.host })) {
    throw usageError(
      `--host ${options.host} needs a secret: without a secret, fleet accepts connections only from this machine`,
      'pass --secret-env NAME, where NAME is the environment variable that contains the secret',
    );
  }
  const baseUrl = options.backfill === 0 ? undefined : settings.baseUrl.value;
  const patient = baseUrl === undefined ? context : await beginFollowing(context, options.for);
  const query = await scopeOf(patient);
  const base = settings.baseUrl.value?.href ?? '';
  const memory = await openMemory(context, await statePath(context, options, base), base);
  const plan = {
    form,
    zone: context.zone,
    ...options,
    query,
    everyMs: baseUrl && options.backfill,
    isBackfill: true,
  };
  const open = (session: Session<AlertsEvent>) =>
    receive(context, { ...options, secret }, memory, session);
  const title = ['listen', 'for alerts'] as const;
  await followAlerts(context, {
    plan,
    title,
    memory,
    deliver: undefined,
    topics: [],
    baseUrl,
    openReceiver: open,
  });
}

function readSecret({ io }: Context, { secretEnv }: ListenOptions): string | undefined {
  if (secretEnv === undefined) return undefined;
  const secret = io.env[secretEnv];
  if (secret === undefined || secret === '') {
    // The user may have typed the secret itself instead of a variable name. The error therefore
    // quotes only typical variable names.
    const name = /^[A-Z_][A-Z0-9_]*$/.test(secretEnv) ? ` ${secretEnv}` : '';
    const problem = `the variable${name} of --secret-env is ${secret === '' ? 'empty' : 'not set'}`;
    const hint =
      name === ''
        ? 'pass the name of an environment variable that contains the webhook secret'
        : 'set the variable to the webhook secret';
    throw configError(problem, hint);
  }
  io.secrets.add(secret);
  return secret;
}

/**
 * Returns the path of the listener's state file. Each combination of service, address and path has
 * its own file.
 */
async function statePath(
  context: Context,
  { host, port, path }: ListenOptions,
  base: string,
): Promise<string> {
  const hint = 'set XDG_STATE_HOME to a folder that you own';
  const folder = findStateFolder(context.io.env);
  if (folder === undefined) throw configError('no folder was found for the state of alerts', hint);
  await makeFolder(folder, OWN_FOLDER_MODE).catch((error) => {
    throw configError(`${folder} cannot be created: ${reasonOf(error)}`, hint, error);
  });
  const place = JSON.stringify([base, host, port, path]);
  const digest = createHash('sha256').update(place).digest('hex').slice(0, 12);
  return join(folder, `listen-${port}-${digest}.state`);
}

/** Starts to receive webhooks. */
async function receive(
  context: Context,
  options: ListenOptions & { secret: string | undefined },
  { queue }: Memory,
  { stderr, emit, ending }: Session<AlertsEvent>,
): Promise<Receiver> {
  const { clock } = context;
  const { forward: url } = options;
  const dispatcher = url && (await context.network()).dispatcherTo(url);
  if (url !== undefined) addAddressSecrets(url, context.io.secrets);
  const said = new Map<number, number>();
  const receiver = await openReceiver({
    ...options,
    ...{ flag: '--port', clock, hide: context.io.secrets.hideInData },
    take(webhook) {
      if (url !== undefined && !queue.hasRoom()) return false;
      emit({ type: 'webhook', webhook });
      return true;
    },
    onRefusal(status, reason) {
      if (clock.monotonicMs() < (said.get(status) ?? Number.NEGATIVE_INFINITY) + SAID_AGAIN_MS)
        return;
      said.set(status, clock.monotonicMs());
      const line = stderr.atNow(`a webhook was refused: ${reason} (${status})`);
      stderr.print(true, { event: 'refused', status, message: reason }, line);
    },
  });
  // Opens the forwarder only after the server has successfully opened its port.
  const onFailure = ending.fail;
  const forwarder =
    url && dispatcher && openForwarder({ url, queue, dispatcher, clock, stderr, onFailure });
  const to = url === undefined ? '' : `, passing them on to ${url.origin}${url.pathname}`;
  stderr.print(
    false,
    { event: 'listening', url: receiver.url },
    stderr.atNow(`listening at ${receiver.url}${to}`),
  );
  return {
    pass(webhook) {
      const { body, headers } = forwardedOf(webhook, options.signatureHeader);
      // A header may repeat the token. The headers are stored and sent to another server, so the
      // token in them is hidden.
      forwarder?.add({ body, headers: hideInHeaders(headers, context.io.secrets) });
    },
    async close() {
      await receiver.close();
      forwarder?.close();
    },
    summary() {
      const { received, refused } = receiver.counts;
      const counted = forwarder?.counts();
      const { forwarded = 0, givenUp = 0, waiting = 0 } = counted ?? {};
      const facts = [
        count(received, 'webhook'),
        ...(refused === 0 ? [] : [`${refused} refused`]),
        ...(counted === undefined ? [] : [`${forwarded} passed on`]),
        ...(givenUp === 0 ? [] : [`${givenUp} given up`]),
        ...(waiting === 0
          ? []
          : [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} on the disk for the next run`]),
      ];
      const passed = counted === undefined ? {} : { forwarded, given_up: givenUp, waiting };
      return {
        fields: { webhooks: received, refused, ...passed },
        facts,
        isPromise: givenUp + waiting > 0,
      };
    },
  };
}

/**
 * Returns the body of a webhook and the headers that the next receiver needs: content type, sender
 * and signature.
 */
function forwardedOf({ body, headers: all }: Webhook, signatureHeader: string) {
  const names = ['content-type', 'user-agent', signatureHeader.toLowerCase()];
  // Node returns each of these headers as a single string.
  const headers = Object.fromEntries(
    Object.entries(all).filter(([name, value]) => names.includes(name) && value !== undefined),
  );
  return { body, headers: headers as Forwarded['headers'] };
}
