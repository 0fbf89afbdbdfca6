// Counts the alerts of each interval from the mirror.

import type { Database } from '../../mirror/database.js';
import { utcOfMs } from '../../mirror/rows.js';
import { readTime } from '../../terminal/time.js';
import type { FleetTally, TallyTable } from './tally.js';

const ALERTS =
  'SELECT bicycle_uuid, created_utc, modified_utc, state FROM alerts WHERE created_utc >= ? AND created_utc < ?';

/** Counts the alerts in the tallies. `groupsByUuid` maps each bicycle to its groups. */
export async function tallyAlerts(
  database: Database,
  table: TallyTable,
  groupsByUuid: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const startMs = Math.min(...table.intervals.map(({ fromMs }) => fromMs));
  const endMs = Math.max(...table.intervals.map(({ untilMs }) => untilMs));
  for await (const rows of database.each(ALERTS, [utcOfMs(startMs), utcOfMs(endMs)])) {
    for (const {
      bicycle_uuid: uuid,
      created_utc: created,
      modified_utc: modified,
      state,
    } of rows) {
      const createdMs = readTime(created);
      const modifiedMs = readTime(modified);
      if (createdMs === undefined) continue;
      const groups = groupsByUuid.get(String(uuid)) ?? [];
      const tallies = table.talliesOf(groups);
      for (const [index, { fromMs, untilMs }] of table.intervals.entries()) {
        if (createdMs < fromMs || createdMs >= untilMs) continue;
        for (const each of tallies)
          addAlert(each[index] as FleetTally, state, createdMs, modifiedMs);
      }
    }
  }
}

function addAlert(
  tally: FleetTally,
  state: unknown,
  createdMs: number,
  modifiedMs: number | undefined,
): void {
  tally.alertsOpened += 1;
  if (state === 'stopped') tally.alertsStopped += 1;
  if (state !== 'resolved') return;
  tally.alertsResolved += 1;
  if (modifiedMs !== undefined) tally.resolutions.push(modifiedMs - createdMs);
}
