// `fleet mirror run` and `fleet mirror once`: what they follow, and what goes on beside the writer.

import { organizationTopic, type TopicRole } from '../../api/push.js';
import { sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { MirrorAddress } from '../../mirror/address.js';
import { readMeta, writeMeta } from '../../mirror/schema.js';
import { requireBaseUrl, requireSseUrl } from '../../settings/resolve.js';
import { chosenDatabase } from '../database.js';
import { beginFollowing, seesAllOf } from '../follow/start.js';
import { followTopics } from '../follow/stream.js';
import { requireOrganizations } from '../organization.js';
import { serveCounters } from './counters.js';
import { readAlerts } from './read.js';
import { lookAt, runSession, type Session, withMirrorSession, writeAlerts } from './session.js';

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
  await open(context, options, true, async (session, client) => {
    const { signal, log, counters, emit, room, life } = session;
    if (options.metrics !== undefined) {
      const server = await serveCounters(options.metrics, counters, () => lookAt(session));
      session.atEnd(server.close);
    }
    announce(session);
    const { idle: idleMs, role } = options;
    const topics = [...session.options.topics.keys()];
    const onLife = (topic: string) => void life.set(topic, context.clock.wallMs());
    const onToken = (token: string) => learnRights(session, token);
    session.runBeside(
      followTopics(context, { topics, sseUrl, idleMs, role, signal, log, emit, room, onLife, onToken }),
    );
    session.runBeside(followAlerts(session, client));
    await runSession(session, client, () => {});
  });
}

/** Brings the mirror up to date and ends. Throws a FleetError of kind `partial` where something could not be read. */
export async function mirrorOnce(context: Context, options: OnceOptions): Promise<void> {
  await open(context, options, false, async (session, client) => {
    const { ending, counters, report, ledger } = session;
    learnRights(session, await (await context.token()).get());
    let isSettled = false;
    await runSession(session, client, () => {
      if (isSettled) return;
      isSettled = true;
      readAllAlerts(session, client).then(() => ending.stop('for'), ending.fail);
    });
    const { known, gap, whole } = session.follower;
    if (!known.isWhole || gap !== undefined || whole.wanted !== undefined) throw incomplete(whole.wanted?.reason);
    const { changes, gone, alerts } = counters;
    const rows = ledger.size();
    report.print(
      false,
      { event: 'current', bicycles: rows, changes, gone, alerts },
      `the mirror is up to date: ${rows} bicycles, ${changes} changes, ${alerts} alerts new or changed`,
    );
  });
}

function learnRights({ shown, options }: Session, token: string): void {
  shown.seesAll = seesAllOf(token, options.identity.organizations);
}

function incomplete(reason: string | undefined): FleetError {
  return new FleetError('partial', `the mirror is incomplete${reason === undefined ? '' : `: ${reason}`}`, {
    hint: 'run it again; what was read is kept',
  });
}

/** Opens the mirror, and a client whose retries are reported like the rest. */
async function open(
  context: Context,
  options: OnceOptions,
  follows: boolean,
  use: (session: Session, client: Client) => Promise<void>,
): Promise<void> {
  const settings = await context.settings();
  const baseUrl = requireBaseUrl(settings);
  const address = await chosenDatabase(context, options.to);
  const patient = follows ? await beginFollowing(context, {}) : context;
  const organizations = await requireOrganizations(patient, options.organization ?? []);
  const topics = new Map(follows ? organizations.map((each) => [organizationTopic(each), each]) : []);
  const identity = { baseUrl, profile: settings.profile.value, organizations };
  await withMirrorSession(context, { address, identity, topics, keepMs: options.keep }, async (session) =>
    use(session, await session.client(baseUrl, session.report.retry)),
  );
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
  const { signal, report, context } = session;
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
