// What the mirror's writer counts.

/** What is counted from the start on: its name and meaning for Prometheus. */
export const COUNTED = {
  messages: ['messages_total', 'Messages received from the push channel.'],
  unreadable: ['unreadable_messages_total', 'Messages that could not be read.'],
  changes: ['changes_total', 'Changes recorded.'],
  batches: ['batches_total', 'Transactions committed.'],
  gaps: ['gaps_total', 'Gaps opened.'],
  found: ['found_total', 'Changes found in the list after gaps.'],
  gone: ['gone_total', 'Bicycles that left the list.'],
  alerts: ['alerts_total', 'Alerts that were new or changed.'],
  pages: ['list_pages_total', 'Pages of lists read.'],
  reconnects: ['reconnects_total', 'Connections of the push channel after the first.'],
  databaseErrors: ['database_errors_total', 'Failed calls of the database.'],
} as const;

type CounterName = keyof typeof COUNTED;
export const COUNTER_NAMES = Object.keys(COUNTED) as CounterName[];

/** Changed in place by the writer; times in milliseconds. */
export interface Counters extends Record<CounterName, number> {
  /** How far what is written is behind the service, by the messages' own times; from the arrival of the oldest to its commit at least. */
  lagMs: number;
  lastCommitWallMs: number;
  lastHeardWallMs: number;
}

export function openCounters(): Counters {
  const none = Object.fromEntries(COUNTER_NAMES.map((name) => [name, 0])) as Record<CounterName, number>;
  return { ...none, lagMs: 0, lastCommitWallMs: 0, lastHeardWallMs: 0 };
}
