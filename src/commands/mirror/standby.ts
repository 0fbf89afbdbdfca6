// How a program becomes the writer: it waits for the one before to end.

import { resume } from '../../mirror/store.js';
import { inUse, type Lease, releaseLease, takeLease, writerName } from '../../mirror/writers.js';
import { momentOf, sleep } from '../../system/clock.js';
import type { MirrorSession } from './session.js';

const TICK_MS = 1_000;
/**
 * Takes the lease, and says where to go on. A writer that was killed cannot let go of it: whether the one before lives, its next heartbeat
 * shows. Throws a FleetError of kind `config` where it lives, unless this one stands by.
 */
export async function becomeWriter(session: MirrorSession): Promise<void> {
  const { context, keeper, writer, topics, report, held, queue, ledger, atEnd, written } = session;
  const { standby = false } = session.options;
  const { clock, signal } = context;
  let before: Lease | undefined;
  for (;;) {
    const other = await keeper.run((database) => takeLease(database, writer));
    if (other === undefined) break;
    const closed = held.closed();
    if (closed !== undefined) throw closed.error;
    if (!standby && before !== undefined && other.heartbeat !== before.heartbeat) throw inUse(other);
    if (before?.owner !== other.owner) {
      const { organization, pid, host } = other;
      const line = `${writerName(other)} keeps ${organization}; waiting ${standby ? 'for its end' : 'to see whether it still runs'}`;
      report.print(false, 'waiting', line, { organization, pid, host });
    }
    before = other;
    await sleep(clock, TICK_MS, signal);
  }
  atEnd(() => keeper.run((database) => releaseLease(database, writer)).catch(() => {}));
  const found = await keeper.run((database) => resume(database, writer, clock.wallMs()));
  const isHeld = found.heardMs !== undefined && topics.size > 0 && held.covers(topics.keys(), found.heardMs);
  session.found = { ...found, isHeld };
  session.startedAt = momentOf(clock);
  session.follower = session.openFollower(session.startedAt);
  ledger.setSize(found.rows);
  ledger.resumeLeaving(found.leaving ?? []);
  written.heardMs = found.heardMs ?? clock.wallMs();
  session.emit = queue.push;
  for (const event of held.release()) queue.push(event, event.type === 'message' ? event.data.length : 0);
}
