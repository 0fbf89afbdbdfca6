// Creates mirrors from the lists of a sandbox without running a writer.

import { hostname } from 'node:os';
import type { Value } from '../../src/mirror/database.js';
import {
  ALERT_COLUMNS,
  alertRow,
  BICYCLE_COLUMNS,
  bicycleRow,
  utcOfMs,
} from '../../src/mirror/rows.js';
import { migrate, writeMeta } from '../../src/mirror/schema.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { withDatabase } from './mirror.js';
import { headersFor } from './sandbox.js';

export interface RecordedChange {
  at: string;
  bicycle: string;
  field: string;
  old: unknown;
  new: unknown;
}

export interface MadeOf {
  /** Creates the mirror of this sandbox's organization. */
  sandbox: Sandbox;
  /** The heartbeat of a live writer; without it a mirror is not current. */
  isAlive?: boolean;
  changes?: readonly RecordedChange[];
  gaps?: readonly { started: string; ended: string | null; reason: string; found: number }[];
  /** Bicycles that are gone. */
  gone?: readonly string[];
}

/** The first organization, of which the mirror is. */
export function organizationOf({ organizations }: Sandbox): string {
  return organizations[0]?.uuid ?? '';
}

/** Fills an empty database. */
export async function makeMirror(
  address: string,
  { sandbox, isAlive = true, changes = [], gaps = [], gone = [] }: MadeOf,
) {
  const bicycles = await readAll(sandbox, 'bicycles');
  const alerts = await readAll(sandbox, 'alerts');
  const now = utcOfMs(Date.now());
  await withDatabase(address, async (database) => {
    await migrate(database);
    const rows = bicycles.map((json) => {
      const value = JSON.parse(json);
      const facts = {
        uuid: value.uuid,
        followed: organizationOf(sandbox),
        firstSeen: now,
        lastSeen: now,
        raw: json,
      };
      return bicycleRow(value, { ...facts, gone: gone.includes(value.uuid) ? now : null });
    });
    await database.write('bicycles', BICYCLE_COLUMNS, rows, ['uuid']);
    const alertRows = alerts.map((json) => {
      const value = JSON.parse(json);
      return alertRow(value, { uuid: value.uuid, firstSeen: now, lastSeen: now, raw: json });
    });
    await database.write('alerts', ALERT_COLUMNS, alertRows, ['uuid']);
    const changed = changes.map(({ at, bicycle, field, ...values }): Value[] => {
      const [old, now] = [values.old, values.new].map((value) => JSON.stringify(value));
      return [at, at, bicycle, 1, field, old ?? null, now ?? null, 'push'];
    });
    await database.write(
      'changes',
      ['at', 'received', 'bicycle', 'version', 'field', 'old', 'new', 'source'],
      changed,
    );
    const gapRows = gaps.map(({ started, ended, reason, found }) => [
      started,
      ended,
      reason,
      found,
    ]);
    await database.write('gaps', ['started', 'ended', 'reason', 'found'], gapRows);
    await writeMeta(database, { base_url: sandbox.baseUrl.replace(/\/+$/, '') });
    const organization = organizationOf(sandbox);
    const reached = { heardMs: Date.parse(now), checkedMs: Date.parse(now), isWhole: true };
    const state = {
      ...reached,
      owner: 'test',
      organizations: [organization],
      batch: 1,
      behindMs: 0,
    };
    const lease = [
      'test',
      hostname(),
      process.pid,
      isAlive ? now : null,
      JSON.stringify(state),
      'read',
    ];
    const columns = ['organization', 'owner', 'host', 'pid', 'heartbeat', 'state', 'alerts'];
    await database.write('writers', columns, [[organization, ...lease]]);
  });
}

/** The objects of a list of the sandbox's organization, as text. */
async function readAll(sandbox: Sandbox, what: string): Promise<string[]> {
  const texts: string[] = [];
  const headers = await headersFor(sandbox);
  for (let page = 1; ; page += 1) {
    const url = `${sandbox.baseUrl.replace(/\/+$/, '')}/${what}/?organization=${organizationOf(sandbox)}&page_size=100&page=${page}`;
    const body = (await (await fetch(url, { headers })).json()) as {
      results: unknown[];
      next: string | null;
    };
    texts.push(...body.results.map((each) => JSON.stringify(each)));
    if (body.next === null || body.next === '') return texts;
  }
}
