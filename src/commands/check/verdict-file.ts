// The state file of `fleet check --every`. Contains the last verdict of each rule, and the changes
// that are waiting for --exec and --post.

import type { Context } from '../../context.js';
import { openMessageStore } from '../../follow/message-store.js';
import { isObject } from '../../json/parse.js';
import { openLog } from '../alerts/log.js';
import type { Verdict } from './verdict.js';

const FORMAT = 1;
const VERDICTS: readonly Verdict[] = ['ok', 'violated', 'unknown'];

/**
 * Opens the state file at a path. Keeps a copy of a damaged file. Throws a FleetError of kind
 * `config` when another process uses the file, or when other users can write to it.
 */
export async function openVerdictFile(
  { clock, signal, notice: say }: Pick<Context, 'clock' | 'signal' | 'notice'>,
  path: string,
) {
  const verdicts = new Map<string, Verdict>();
  const append = (records: readonly unknown[]) => log.append(records);
  const deliveries = {
    exec: openMessageStore('exec', append),
    post: openMessageStore('post', append),
  };
  const restore = (record: unknown) => {
    if (!isObject(record)) return;
    for (const waiting of Object.values(deliveries)) waiting.restore(record);
    const { rule, verdict } = record;
    const known = VERDICTS.find((name) => name === verdict);
    if (typeof rule === 'string' && known !== undefined) verdicts.set(rule, known);
  };
  const recordOf = ([rule, verdict]: readonly [string, Verdict]) => ({ rule, verdict });
  const log = await openLog({
    path,
    clock,
    signal,
    say,
    restore(records, broken) {
      for (const record of records) restore(record);
      return broken === 0;
    },
    all: () => [
      { fleet: 'check', format: FORMAT },
      ...[...verdicts].map(recordOf),
      ...Object.values(deliveries).flatMap((waiting) => waiting.records()),
    ],
  });
  return {
    deliveries,
    close: log.close,
    verdictOf: (rule: string) => verdicts.get(rule),
    /** Stores the verdict that was reported for a rule. */
    keep(rule: string, verdict: Verdict): void {
      verdicts.set(rule, verdict);
      log.append([recordOf([rule, verdict])]);
      log.tidy();
    },
  };
}
