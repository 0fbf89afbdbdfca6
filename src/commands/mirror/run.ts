// `fleet mirror run` and `fleet mirror once`: choose the bicycles to follow, and start the tasks
// that run in parallel with the writer.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { followTopics, seesAllOf } from '../../follow/subscribe.js';
import { utcOfMs } from '../../mirror/rows.js';
import { type Found, resume } from '../../mirror/write.js';
import {
  inUse,
  type Lease,
  Replaced,
  releaseLease,
  SET_BACK,
  SetBack,
  takeLease,
  writerName,
} from '../../mirror/writers.js';
import { requireSseUrl } from '../../settings/resolve.js';
import { momentOf, sleep } from '../../system/clock.js';
import type { TimeZone } from '../../system/time-zone.js';
import { count } from '../../terminal/count.js';
import { showDuration } from '../../terminal/time.js';
import { mirrorAlerts, readAlertPages } from './alerts.js';
import type { MirrorRunOptions, OnceOptions } from './flags.js';
import { serveCounters } from './metrics.js';
import { mirrorNames, readNameLists } from './names.js';
import { type MirrorSession, runSession, withMirrorSession } from './session.js';
import { wholeSeconds } from './status.js';

/**
 * Updates the mirror until the user stops it. Starts again after the database was set back to an
 * earlier state, by a restored backup or a promoted standby. With `--standby`, also starts again
 * after another writer took over. Throws the error that ended the run (cli.md, mirror).
 */
export async function runMirror(context: Context, options: MirrorRunOptions): Promise<void> {
  let isSetBack = false;
  for (;;) {
    try {
      return await follow(context, options, isSetBack);
    } catch (error) {
      isSetBack = error instanceof SetBack;
      if (isSetBack) await reportSetBack(context);
      else if (options.standby === true && error instanceof Replaced)
        await context.notice(`${error.message}; waiting for its end`);
      else throw error;
    }
  }
}

function reportSetBack({ notice }: Context): Promise<void> {
  return notice(`warning: ${SET_BACK}; a gap is recorded and fleet reads the whole list again`);
}

async function follow(
  context: Context,
  options: MirrorRunOptions,
  isSetBack: boolean,
): Promise<void> {
  const sseUrl = requireSseUrl(await context.settings());
  await withMirrorSession(context, options, true, async (session, client) => {
    const { signal, log, room, life, queue } = session;
    if (options.metrics !== undefined)
      session.atEnd((await serveCounters(options.metrics, session)).close);
    const { idle, role } = options;
    const topics = [...session.topics.keys()];
    const onLife = (topic: string) => void life.set(topic, context.clock.wallMs());
    const onToken = (token: string) => learnRights(session, token);
    await becomeWriter(session, isSetBack);
    announce(session, context.zone);
    const plan = {
      topics,
      sseUrl,
      idle,
      role,
      signal,
      log,
      emit: queue.push,
      room,
      onLife,
      onToken,
    };
    session.runBeside(followTopics(context, plan));
    session.runBeside(mirrorAlerts(session, client));
    session.runBeside(mirrorNames(session, client));
    await runSession(session, client, () => {}).finally(() => sumUp(session));
  });
}

/** The pause between checks that the previous writer is still alive. */
const LOOK_MS = 1_000;

/**
 * Takes the lease of the mirror, and finds the position from which to continue.
 *
 * A writer that was killed does not release its lease. When its next heartbeat does not arrive in
 * time, the writer is treated as dead. After the database was set back to an earlier state, a gap
 * begins at the position in that state, and the whole list is read.
 *
 * Throws a FleetError of kind `config` when another writer is alive, unless this writer is a
 * standby.
 */
async function becomeWriter(session: MirrorSession, isSetBack: boolean): Promise<void> {
  const { context, keeper, writer, report, ledger, atEnd, written } = session;
  const { standby = false } = session.options;
  const { clock, signal } = context;
  let before: Lease | undefined;
  for (;;) {
    const other = await keeper.run((database) => takeLease(database, writer));
    if (other === undefined) break;
    if (!standby && before !== undefined && other.heartbeat !== before.heartbeat)
      throw inUse(other);
    if (before?.owner !== other.owner) {
      const { organization, pid, host } = other;
      const line = `${writerName(other)} keeps ${organization}; waiting ${standby ? 'for its end' : 'to see whether it still runs'}`;
      report.print(false, 'waiting', line, { organization, pid, host });
    }
    before = other;
    await sleep(clock, LOOK_MS, signal);
  }
  atEnd(() => keeper.run((database) => releaseLease(database, writer)).catch(() => {}));
  const found = startOfNew(await keeper.run((database) => resume(database, writer)));
  session.found = found;
  session.startedAt = momentOf(clock);
  session.follower = session.openFollower(session.startedAt);
  session.follower.resume(isSetBack ? afterSetBack(found) : found, session.startedAt);
  if (session.follower.gap !== undefined) session.counters.gaps++;
  ledger.setSize(found.rows);
  ledger.resumeLeaving(found.leaving ?? []);
  written.heardMs = found.heardMs ?? clock.wallMs();
  written.batchIds = found.batchIds;
}

/**
 * Removes the times from the position of a mirror that has never received any data, for example
 * because the service refused the first run. Such a mirror is empty, so the time before its first
 * read must not become a gap.
 */
function startOfNew(found: Found): Found {
  const isNew = found.rows === 0 && !found.isWhole && found.gap === undefined;
  return isNew ? { ...found, heardMs: undefined, checkedMs: undefined } : found;
}

/**
 * Returns the position from which to continue after the database was set back to an earlier state.
 * The data after that state is uncertain, so a gap begins at the time of that state.
 */
function afterSetBack(found: Found): Found {
  const startedMs = Math.min(found.heardMs ?? 0, found.gap?.startedMs ?? Number.POSITIVE_INFINITY);
  return { ...found, isWhole: false, proven: undefined, gap: { startedMs, reason: SET_BACK } };
}

/** Prints the summary of this run. */
function sumUp({ report, counters, startedAt, context }: MirrorSession): void {
  const { messages, changes, gone, gaps, alerts, reconnects } = counters;
  const ranMs = context.clock.monotonicMs() - startedAt.monotonicMs;
  const facts = `${count(messages, 'message')}, ${count(changes, 'field change')}, ${count(gaps, 'gap')}`;
  const line = `mirrored for ${showDuration(ranMs)}: ${facts}; run it again to resume`;
  const seconds = Math.round(ranMs) / 1000;
  report.print(false, 'closed', line, {
    seconds,
    messages,
    changes,
    gone,
    gaps,
    alerts,
    reconnects,
  });
}

/**
 * Brings the mirror up to date and returns. Throws a FleetError of kind `partial` when some data
 * could not be read.
 */
export async function mirrorOnce(context: Context, options: OnceOptions): Promise<void> {
  try {
    await catchUpOnce(context, options, false);
  } catch (error) {
    if (!(error instanceof SetBack)) throw error;
    await reportSetBack(context);
    await catchUpOnce(context, options, true);
  }
}

async function catchUpOnce(
  context: Context,
  options: OnceOptions,
  isSetBack: boolean,
): Promise<void> {
  await withMirrorSession(context, options, false, async (session, client) => {
    const { ending, counters, report, ledger } = session;
    learnRights(session, await (await context.token()).get());
    await becomeWriter(session, isSetBack);
    let isSettled = false;
    await runSession(session, client, () => {
      if (isSettled) return;
      isSettled = true;
      readAlertPages(session, client)
        .then(() => readNameLists(session, client))
        .then(() => ending.stop('for'), ending.fail);
    });
    const { known, gap, whole } = session.follower;
    if (!known.isWhole || gap !== undefined || whole.wanted !== undefined) {
      const why = whole.wanted === undefined ? '' : `: ${whole.wanted.reason}`;
      const hint = 'run the command again; fleet keeps the data that it has already read';
      throw new FleetError('partial', `the mirror is incomplete${why}`, { hint });
    }
    const { changes, gone, alerts } = counters;
    const rows = ledger.size();
    const line = `the mirror is up to date: ${rows} bicycles, ${changes} changes, ${alerts} new or changed alerts`;
    report.print(false, 'current', line, { bicycles: rows, changes, gone, alerts });
  });
}

function learnRights({ shown, writer }: MirrorSession, token: string): void {
  shown.seesAll = seesAllOf(token, writer.organizations);
}

function announce(
  { report, found, writer: { organizations } }: MirrorSession,
  zone: TimeZone,
): void {
  if (found === undefined) return;
  const { rows, heardMs, gap, isWhole } = found;
  const until = wholeSeconds(
    utcOfMs(Math.min(heardMs ?? 0, gap?.startedMs ?? Number.POSITIVE_INFINITY)),
    zone,
  );
  const condition = isWhole ? `up to date until ${until}` : 'not read to the end yet';
  const before = heardMs === undefined ? 'a new mirror' : `${rows} bicycles, ${condition}`;
  const what =
    organizations.length === 1 ? organizations[0] : `${organizations.length} organizations`;
  report.print(false, 'start', `mirroring ${what}: ${before}`, { organizations, bicycles: rows });
}
