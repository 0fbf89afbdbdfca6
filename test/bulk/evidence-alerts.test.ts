// Tests the evidence for unresolved actions on alerts of a service whose list changes while it is
// read.

import { expect, test } from 'vitest';
import { ALERT } from '../../src/api/alert.js';
import { lookUpActions } from '../../src/bulk/evidence.js';
import type { Doubt } from '../../src/bulk/plan.js';
import { openTestClient } from '../support/client.js';
import { openServer, sendJson } from '../support/server.js';

const PAGE_ITEMS = 10;
const uuidOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** A resolved alert with a request that was sent when the alert was new. */
function doubtAbout(uuid: string): Doubt {
  const start = { newest: '2026-01-01T11:59:00Z', isEmpty: false, date: '2026-01-01T12:00:00Z' };
  return {
    task: { key: uuid },
    entry: {
      sending: {
        start: { ...start, user: [] },
        afterMs: 0,
        before: { state: 'new', version: null },
      },
    },
  } as unknown as Doubt;
}

test('finds an alert that moves to an earlier page during the read', async () => {
  const alerts = Array.from({ length: 30 }, (_, index) => ({
    uuid: uuidOf(index),
    state: 'resolved',
    modified: `2026-01-01T12:00:${59 - index}Z`,
  }));
  const { url } = await openServer((response, { path, page }) => {
    // The service has no address of a single alert.
    if (!path.startsWith('/alerts/?')) return sendJson(response, 404, { detail: 'Not found.' });
    const start = (page - 1) * PAGE_ITEMS;
    sendJson(response, 200, {
      count: alerts.length,
      next: start + PAGE_ITEMS < alerts.length ? `/alerts/?page=${page + 1}` : null,
      results: alerts.slice(start, start + PAGE_ITEMS),
    });
    if (page === 1 && alerts.length === 30) alerts.shift();
  });
  const { client } = await openTestClient(url);
  const doubt = doubtAbout(uuidOf(PAGE_ITEMS));
  const change = { resource: ALERT, verb: 'resolve', target: 'resolved' };
  const [decided] = await lookUpActions(client, [doubt], change, { reached: new Set() });
  expect(decided).toMatchObject({ kind: 'done', how: 'state' });
});
