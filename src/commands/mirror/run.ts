// `fleet mirror run` and `fleet mirror once`: what they follow, and what goes on beside the writer.

import { setFlagsFromString } from 'node:v8';
import { organizationTopic, type TopicRole } from '../../api/push.js';
import { sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { MirrorAddress } from '../../mirror/address.js';
import { readMeta, writeMeta } from '../../mirror/schema.js';
import { requireBaseUrl, requireSseUrl } from '../../settings/resolve.js';
import { openHttpLog } from '../../views/exchange.js';
import { chosenDatabase } from '../database.js';
import { beginFollowing } from '../follow/start.js';
import { followTopics } from '../follow/stream.js';
import { requireOrganizations } from '../organization.js';
import { serveMetrics } from './counters.js';
import { readAlerts } from './read.js';
import { closeSession, lookAt, openSession, runSession, type Session, writeAlerts } from './session.js';

export interface OnceOptions {
  to?: MirrorAddress;
  organization?: string[];
  /** Milliseconds. */
  keep?: number;
}

export interface RunOptions extends OnceOptions {
  metrics?: number;
  /** Milliseconds. */
  idle: number;
  role?: TopicRole;
}

const ALERTS_MS = 30_000;

/** Keeps the mirror until it is stopped. Throws what ended it (cli.md, mirror). */
export async function runMirror(context: Context, options: RunOptions): Promise<void> {
  const sseUrl = requireSseUrl(await context.settings());
  const session = await open(context, options, true);
  const { ending, queue, report, counters, options: chosen } = session;
  const signal = ending.over.signal;
  let following: Promise<void> | undefined;
  let server: Awaited<ReturnType<typeof serveMetrics>> | undefined;
  try {
    if (options.metrics !== undefined) server = await serveMetrics(options.metrics, counters, () => lookAt(session));
    const client = await clientOf(context, session);
    announce(session);
    following = followTopics(context, {
      topics: [...chosen.plan.topics.keys()],
      sseUrl,
      idleMs: options.idle,
      role: options.role,
      signal,
      log: openHttpLog({ ...context.flags, isJson: context.io.isJson }, report.log),
      emit: queue.push,
      room: queue.room,
      onLife: (topic) => void session.life.set(topic, context.clock.wallMs()),
    });
    following.catch(ending.fail);
    followAlerts(session, client).catch(ending.fail);
    await runSession(session, client, () => {});
  } finally {
    await closeSession(session);
    await server?.close();
    await following?.catch(() => {});
  }
}

/** Brings the mirror up to date and ends. Throws a FleetError of kind `partial` where something could not be read. */
export async function mirrorOnce(context: Context, options: OnceOptions): Promise<void> {
  const session = await open(context, options, false);
  const { ending, counters, report } = session;
  let isSettled = false;
  try {
    const client = await clientOf(context, session);
    await runSession(session, client, () => {
      if (isSettled) return;
      isSettled = true;
      readAllAlerts(session, client).then(() => ending.stop('for'), ending.fail);
    });
    const { known, gap, whole } = session.follower;
    if (!known.isWhole || gap !== undefined || whole.wanted !== undefined) throw incomplete(whole.wanted?.reason);
    const { changes, gone, alerts } = counters;
    const rows = session.ledger.size();
    report.print(
      false,
      { event: 'current', bicycles: rows, changes, gone, alerts },
      `the mirror is up to date: ${rows} bicycles, ${changes} changes, ${alerts} alerts new or changed`,
    );
  } finally {
    await closeSession(session);
  }
}

function incomplete(reason: string | undefined): FleetError {
  return new FleetError('partial', `the mirror is not whole${reason === undefined ? '' : `: ${reason}`}`, {
    hint: 'run it again; what was read is kept',
  });
}

/** Batches are garbage as soon as they are written: V8 would let its young generation grow by 20 to 50 MB for them (measured: bench/mirror.js). */
function keepYoungGenerationSmall(): void {
  try {
    setFlagsFromString('--semi-space-growth-factor=1');
  } catch {
    // An engine that has no such flag.
  }
}

async function open(context: Context, options: OnceOptions, follows: boolean): Promise<Session> {
  keepYoungGenerationSmall();
  const settings = await context.settings();
  const baseUrl = requireBaseUrl(settings);
  const address = await chosenDatabase(context, options.to);
  const patient = follows ? await beginFollowing(context, {}) : context;
  const organizations = await requireOrganizations(patient, options.organization ?? []);
  const topics = new Map(follows ? organizations.map((each) => [organizationTopic(each), each]) : []);
  return openSession(context, {
    address,
    identity: { baseUrl, profile: settings.profile.value, organizations },
    plan: { topics, organizations },
    keepMs: options.keep,
  });
}

/** A client of its own: its retries are reported like the rest, and its requests end with the writer. */
async function clientOf(context: Context, { ending, report }: Session): Promise<Client> {
  const log = openHttpLog({ ...context.flags, isJson: context.io.isJson }, report.log);
  return context.client({ log: { ...log, retry: report.retry }, signal: ending.over.signal });
}

function announce({ report, found, options }: Session): void {
  const { organizations } = options.identity;
  const before =
    found.heardMs === undefined
      ? 'a new mirror'
      : `${found.rows} bicycles, up to date until ${new Date(found.heardMs).toISOString().replace(/\.\d+Z$/, 'Z')}`;
  report.print(
    false,
    { event: 'start', organizations, bicycles: found.rows },
    `mirroring ${organizations.length === 1 ? organizations[0] : `${organizations.length} organizations`}: ${before}`,
  );
  if (found.left.length === 0) return;
  const message = `${found.left.join(', ')} is not mirrored any more: its bicycles are marked as gone`;
  report.print(true, { event: 'left', organizations: found.left }, message);
}

// Alerts

/** Reads the alerts now and every 30 seconds; what fails is said once and tried again. */
async function followAlerts(session: Session, client: Client): Promise<void> {
  const { ending, report, context } = session;
  const signal = ending.over.signal;
  let lastFailure: string | undefined;
  while (!signal.aborted) {
    try {
      await readAllAlerts(session, client);
      lastFailure = undefined;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = asFleetError(thrown);
      if (error.kind === 'internal') throw error;
      if (error.message !== lastFailure) {
        const fields = { event: 'alerts-unread', kind: error.kind, message: error.message };
        report.print(
          true,
          fields,
          `the alerts cannot be read: ${error.message}; trying again every ${ALERTS_MS / 1000} s`,
        );
      }
      lastFailure = error.message;
    }
    await sleep(context.clock, ALERTS_MS * (0.9 + context.clock.random() / 5), signal).catch(() => {});
  }
}

async function readAllAlerts(session: Session, client: Client): Promise<void> {
  const { keeper, options } = session;
  /** The organizations whose alerts were read to the end. */
  const read = new Set((await keeper.run((database) => readMeta(database))).alerts);
  for (const organization of options.identity.organizations) {
    let isRead = read.delete(organization);
    await readAlerts(client, organization, !isRead, async (items) => {
      const mayHaveMore = await writeAlerts(session, items, read);
      if (mayHaveMore) isRead = false;
      return mayHaveMore;
    });
    read.add(organization);
    if (!isRead) await keeper.run((database) => writeMeta(database, { alerts: [...read] }));
  }
}
