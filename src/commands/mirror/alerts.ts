// Reads the service's newest alerts into the mirror.

import { openAlertPages } from '../../api/alert-pages.js';
import { asFleetError } from '../../errors.js';
import { readAlertFeed } from '../../follower/alert-feed.js';
import type { Client } from '../../http/client.js';
import { storableItems } from '../../mirror/rows.js';
import { areAlertsRead, setAlertsRead, storeAlerts } from '../../mirror/write.js';
import { sleep } from '../../system/clock.js';
import type { MirrorSession } from './session.js';

const ALERTS_MS = 30_000;

/**
 * Reads the alerts immediately, and then every 30 seconds. Reports a failure only once, and tries
 * again after the usual pause.
 */
export async function mirrorAlerts(session: MirrorSession, client: Client): Promise<void> {
  const { signal, report, context } = session;
  let lastFailure: string | undefined;
  while (!signal.aborted) {
    try {
      await readAlertPages(session, client);
      lastFailure = undefined;
    } catch (thrown) {
      if (signal.aborted) return;
      const { kind, message } = asFleetError(thrown);
      if (kind === 'internal') throw thrown;
      const line = `the alerts cannot be read: ${message}; trying again every ${ALERTS_MS / 1000} s`;
      if (message !== lastFailure) report.print(true, 'alerts-unread', line, { kind });
      lastFailure = message;
    }
    await sleep(context.clock, ALERTS_MS * (0.9 + context.clock.random() / 5), signal).catch(
      () => {},
    );
  }
}

/**
 * Reads the newest alerts of each organization, until a page contains only known alerts. If the
 * list was never read completely, reads the list to its end.
 *
 * When fleet may have missed an alert, the list is treated as incompletely read. The next call then
 * reads the list to its end.
 */
export async function readAlertPages(session: MirrorSession, client: Client): Promise<void> {
  const { keeper, writer, counters, context } = session;
  for (const organization of writer.organizations) {
    const wereRead = await keeper.run((database) => areAlertsRead(database, organization));
    const isProven = await readAlertFeed({
      filters: [['organization', organization]],
      order: 'modified',
      hasLargePages: true,
      readPage: openAlertPages(client),
      async takePage(alerts) {
        const page = { organization, items: storableItems(alerts), nowMs: context.clock.wallMs() };
        const changed = await keeper.run((database) => storeAlerts(database, writer, page));
        counters.alerts += changed;
        return { hasNews: changed > 0, isEnough: wereRead && changed === 0 };
      },
    });
    await keeper.run((database) => setAlertsRead(database, organization, true));
    if (!isProven) await keeper.run((database) => setAlertsRead(database, organization, false));
  }
}
