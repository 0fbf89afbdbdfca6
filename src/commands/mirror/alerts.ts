// Reads the newest alerts of the service into the mirror.

import { ALERT, type Alert } from '../../api/alert.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { openSeen, RECENT_ITEMS } from '../../http/distinct.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import type { Query } from '../../http/types.js';
import { storableItems } from '../../mirror/rows.js';
import { areAlertsRead, setAlertsRead, storeAlerts } from '../../mirror/write.js';
import { sleep } from '../../system/clock.js';
import type { MirrorSession } from './session.js';

const ALERTS_MS = 30_000;

/** Reads the alerts now and every 30 seconds. A failure is reported once and retried. */
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
 * Reads the alerts of each organization until all are known, or to the end of the list when it was
 * never completely read.
 */
export async function readAlertPages(session: MirrorSession, client: Client): Promise<void> {
  const { keeper, writer, counters, context } = session;
  for (const organization of writer.organizations) {
    const wereRead = await keeper.run((database) => areAlertsRead(database, organization));
    for await (const { items } of newestAlerts(client, organization)) {
      const page = { organization, items: storableItems(items), nowMs: context.clock.wallMs() };
      const changed = await keeper.run((database) => storeAlerts(database, writer, page));
      counters.alerts += changed;
      if (wereRead && changed === 0) break;
    }
    await keeper.run((database) => setAlertsRead(database, organization, true));
  }
}

/** Yields the pages of an organization's alerts, newest first. Throws the client's errors. */
async function* newestAlerts(client: Client, organization: string) {
  const pages = (ordering: string) => {
    const query: Query = [['ordering', ordering], ['organization', organization], LARGE_PAGE];
    const request = { path: ALERT.listPath, query, subject: 'the list of alerts' };
    return client.pages<Alert>(request, { ahead: 0, seen: openSeen(RECENT_ITEMS) });
  };
  try {
    yield* pages('-modified');
  } catch (thrown) {
    // Section 4.5 only shows `-created`.
    if (!(thrown instanceof FleetError) || thrown.status !== 400) throw thrown;
    yield* pages('-created');
  }
}
