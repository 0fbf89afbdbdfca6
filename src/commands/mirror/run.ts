// `fleet mirror run` and `fleet mirror once`: what they follow, and what goes on beside the writer.

import { setFlagsFromString } from 'node:v8';
import { organizationTopic, type TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { MirrorAddress } from '../../mirror/address.js';
import { Replaced } from '../../mirror/writers.js';
import { requireBaseUrl, requireSseUrl } from '../../settings/resolve.js';
import { beginFollowing, seesAllOf } from '../shared/follow/start.js';
import { followTopics } from '../shared/follow/stream.js';
import { chosenDatabase } from '../shared/mirror-address.js';
import { requireOrganizations } from '../shared/organization.js';
import { mirrorAlerts, readAlertPages } from './alerts.js';
import { serveCounters } from './metrics.js';
import { type MirrorSession, runSession, withMirrorSession } from './session.js';
import { becomeWriter } from './standby.js';

export interface OnceOptions {
  to?: MirrorAddress;
  organization?: string[];
  /** Milliseconds. */
  keep?: number;
}

export interface MirrorRunOptions extends OnceOptions {
  metrics?: number;
  standby?: boolean;
  /** Milliseconds. */
  idle: number;
  role?: TopicRole;
}

/** Keeps the mirror until it is stopped. Throws what ended it (cli.md, mirror). */
export async function runMirror(context: Context, options: MirrorRunOptions): Promise<void> {
  for (;;) {
    try {
      return await follow(context, options);
    } catch (error) {
      if (options.standby !== true || !(error instanceof Replaced)) throw error;
      await context.notice(`${error.message}; waiting for its end`);
    }
  }
}

async function follow(context: Context, options: MirrorRunOptions): Promise<void> {
  const sseUrl = requireSseUrl(await context.settings());
  await open(context, options, true, async (session, client) => {
    const { signal, log, room, life } = session;
    if (options.metrics !== undefined) {
      const server = await serveCounters(options.metrics, session);
      session.atEnd(server.close);
    }
    const { idle: idleMs, role } = options;
    const topics = [...session.options.topics.keys()];
    const emit: MirrorSession['emit'] = (event, size) => session.emit(event, size);
    const onLife = (topic: string) => void life.set(topic, context.clock.wallMs());
    const onToken = (token: string) => learnRights(session, token);
    session.runBeside(
      followTopics(context, { topics, sseUrl, idleMs, role, signal, log, emit, room, onLife, onToken }),
    );
    await becomeWriter(session);
    announce(session);
    session.runBeside(mirrorAlerts(session, client));
    await runSession(session, client, () => {});
  });
}

/** Brings the mirror up to date and ends. Throws a FleetError of kind `partial` where something could not be read. */
export async function mirrorOnce(context: Context, options: OnceOptions): Promise<void> {
  await open(context, options, false, async (session, client) => {
    const { ending, counters, report, ledger } = session;
    learnRights(session, await (await context.token()).get());
    await becomeWriter(session);
    let isSettled = false;
    await runSession(session, client, () => {
      if (isSettled) return;
      isSettled = true;
      readAlertPages(session, client).then(() => ending.stop('for'), ending.fail);
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

function learnRights({ shown, writer }: MirrorSession, token: string): void {
  shown.seesAll = seesAllOf(token, writer.organizations);
}

function incomplete(reason: string | undefined): FleetError {
  return new FleetError('partial', `the mirror is incomplete${reason === undefined ? '' : `: ${reason}`}`, {
    hint: 'run it again; what was read is kept',
  });
}

/** Batches are garbage as soon as they are written: V8 would let its young generation grow by 40 MB for them (measured: bench/mirror.js). */
function keepYoungGenerationSmall(): void {
  try {
    setFlagsFromString('--semi-space-growth-factor=1');
  } catch {
    // An engine that has no such flag.
  }
}

/** Opens the mirror, and a client whose retries are reported like the rest. */
async function open(
  context: Context,
  options: OnceOptions & Pick<Partial<MirrorRunOptions>, 'standby'>,
  follows: boolean,
  use: (session: MirrorSession, client: Client) => Promise<void>,
): Promise<void> {
  const settings = await context.settings();
  keepYoungGenerationSmall();
  const baseUrl = requireBaseUrl(settings);
  const address = await chosenDatabase(context, options.to);
  const patient = follows ? await beginFollowing(context, {}) : context;
  const organizations = await requireOrganizations(patient, options.organization ?? []);
  const topics = new Map(follows ? organizations.map((each) => [organizationTopic(each), each]) : []);
  const { keep: keepMs, standby = false } = options;
  await withMirrorSession(context, { address, baseUrl, organizations, topics, keepMs, standby }, async (session) =>
    use(session, await session.client(baseUrl, session.report.retry)),
  );
}

function announce({ report, found, writer: { organizations } }: MirrorSession): void {
  if (found === undefined) return;
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
