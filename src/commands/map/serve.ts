// `fleet map --serve`: serves a live page on loopback. The page shows at most KNOWN_LIMIT bicycles
// (follower/memory-store.ts) of a larger fleet.

import type { TopicRole } from '../../api/push.js';
import type { Context } from '../../context.js';
import { IDLE_MS, RESYNC_PAGES } from '../../follow/flags.js';
import { keptKey } from '../../follow/random-key.js';
import { beginFollowing } from '../../follow/token-command-retry.js';
import { every } from '../../system/clock.js';
import { packAlerts } from '../../views/map/pack.js';
import { readOpenAlertFeed } from '../bicycles/alerts.js';
import type { Display, LiveOptions } from '../watch/live.js';
import { makePlan } from '../watch/plan.js';
import { runWatch } from '../watch/watch.js';
import type { TileArchive } from './archive.js';
import { TabFeed } from './feed.js';
import { tilesOf } from './flags.js';
import { type HtmlOptions, readTemplate } from './html.js';
import { choosePart } from './live.js';
import { openPageServer, type PageServer } from './page-server.js';
import { openPast } from './past.js';
import type { MapFilters } from './read.js';
import { readZones } from './zones.js';

export interface ServeOptions extends HtmlOptions {
  filters: MapFilters;
  role: TopicRole | undefined;
  archive: TileArchive | undefined;
  /** The port to listen on; 0 means any free port. */
  port: number;
}

/**
 * The pause between two updates. Each update takes a few milliseconds, so there are about ten a
 * second.
 */
const FLUSH_MS = 95;
/**
 * The pause between two reads of the alerts. They are polled, because the interface does not list a
 * topic that pushes them (section 6.1).
 */
const ALERTS_PAUSE_MS = 30_000;
const BEAT_PAUSE_MS = 15_000;

/** Serves the page until the user interrupts the command. */
export async function servePage(context: Context, options: ServeOptions): Promise<void> {
  const { filters, role, port, tiles, attribution, archive } = options;
  const part = await choosePart(context, filters, '--serve');
  const watched = await makePlan(context, part.organization, {
    idle: IDLE_MS,
    resyncPages: RESYNC_PAGES,
    role,
  });
  const [organization] = watched.organizations;
  const template = await readTemplate();
  // If the token cannot be read yet, the requests wait until it can be read.
  const patient = await beginFollowing(context, undefined);
  const zones = await readZones(patient, organization);
  const key = await keptKey(context, 'page.key', 'the address');
  const openDisplay = async (live: LiveOptions) => {
    const past = await openPast(context, { organizations: watched.organizations, keep: part.keep });
    if (past !== undefined) live.session.atEnd(past.close);
    const feed = new TabFeed({
      ...part,
      tiles: archive?.tiles ?? (tiles === undefined ? null : tilesOf(tiles, attribution)),
      zone: context.zone,
      zones,
      pastFromMs: past?.fromMs ?? null,
      startMs: context.clock.wallMs(),
    });
    const server = await openPageServer({
      port,
      key,
      template,
      readTile: archive?.read,
      payload: () => feed.payload(context.clock.wallMs()),
      fields: (uuid) => feed.fields(uuid),
      past: past && (async (atMs) => feed.payloadOf(await past.read(atMs), atMs)),
    });
    live.session.atEnd(server.close);
    if (archive !== undefined) live.session.atEnd(archive.close);
    await context.io.stdout.write(`${server.url}\n`);
    await context.notice('open this address in a browser on this machine; Ctrl-C stops it');
    return followPage(live, feed, server, organization);
  };
  await runWatch(context, { ...watched, form: 'page' }, { openDisplay });
}

/** Passes the results of the watch to the page, at a rate that tabs can process. */
function followPage(
  { context, session: { signal }, watched }: LiveOptions,
  feed: TabFeed,
  server: PageServer,
  organization: string | undefined,
): Display {
  const { clock } = context;
  let isTold = false;
  /**
   * A context that prints only the first notice. With the usual context, fleet would report twice a
   * minute that it cannot read the alerts. The request is not retried, because the next read
   * follows soon.
   */
  const quiet: Context = {
    ...context,
    client: () => context.client({ retries: 0 }),
    async notice(line) {
      if (!isTold) await context.notice(line);
      isTold = true;
    },
  };
  const readAlerts = async () => {
    try {
      feed.takeAlerts(packAlerts(await readOpenAlertFeed(quiet, organization, feed.uuids())));
    } catch {
      // The read also fails when the command ends. Such a failure can be ignored.
    }
  };
  const flush = () => {
    const update = feed.flush(clock.wallMs());
    if (update !== undefined) server.send(update);
  };
  let isRead = false;
  every(clock, FLUSH_MS, signal, flush);
  every(clock, ALERTS_PAUSE_MS, signal, readAlerts);
  every(clock, BEAT_PAUSE_MS, signal, server.beat);
  return (effects) => {
    feed.take(effects, watched);
    if (isRead || !watched.known.isWhole) return;
    isRead = true;
    flush();
    void readAlerts();
  };
}
