// What the mirror's writer counts.

export type Counters = ReturnType<typeof openCounters>;

/** Changed in place by the writer; times in milliseconds. */
export function openCounters() {
  return {
    ...{ messages: 0, unreadable: 0, changes: 0, batches: 0, gaps: 0, found: 0 },
    ...{ gone: 0, alerts: 0, pages: 0, reconnects: 0, databaseErrors: 0 },
    /** How far what is written is behind the service, by the messages' own times; from the arrival of the oldest to its commit at least. */
    lagMs: 0,
    ...{ lastCommitWallMs: 0, lastHeardWallMs: 0 },
  };
}
