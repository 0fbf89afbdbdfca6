// A list that shrinks while it is read: its last page vanishes, and the list is read again once.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { newFolder } from '../support/folder.js';
import { runFleet } from '../support/run.js';
import { type Asked, openServer, sendJson, sendPage, sendPart } from '../support/server.js';

const ORGANIZATION = '6f1c0b5e-2f0e-4c56-9d3a-0d6f3a1f7c11';
const PAGE_SIZE = 20;

const bicycles = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    uuid: `aaaaaaaa-0000-4000-8000-${String(index).padStart(12, '0')}`,
    name: `Bicycle ${index}`,
    state: 'available',
    organization: `http://x/organizations/${ORGANIZATION}/`,
    modified: '2026-03-01T12:00:00Z',
  }));

/**
 * A list of 45 bicycles. Ten of them leave before the third page is read, so that this page is gone. With
 * `times` 2 the second page is gone too when the list is read again.
 */
async function openShrinking(times: number) {
  let left = bicycles(45);
  let shrunk = 0;
  const server = await openServer((response, asked: Asked) => {
    if (!asked.path.startsWith('/bicycles/')) return sendPage(response, []);
    if (asked.page === 3 - shrunk && shrunk < times) {
      shrunk += 1;
      if (shrunk === 1) left = left.filter((_, index) => index < 15 || index >= 25);
      return sendJson(response, 404, { detail: 'Invalid page.' });
    }
    sendPart(response, asked, left, PAGE_SIZE);
  });
  const config = newFolder();
  const env = { ...server.env, FLEET_SSE_URL: server.url, FLEET_CONFIG_DIR: config };
  return { env, config, left: () => left };
}

describe('a page that disappears during a list read', () => {
  it('`bicycles list --all` shows every bicycle once when the last page disappears', async () => {
    const { env, left } = await openShrinking(1);
    const run = await runFleet(['bicycles', 'list', '--all', '-o', 'uuid'], { env });
    expect(run.code).toBe(0);
    const shown = run.stdout.trim().split('\n');
    expect(new Set(shown).size).toBe(shown.length);
    expect(shown).toEqual(expect.arrayContaining(left().map(({ uuid }) => uuid)));
  });

  it('`bicycles stats` counts all bicycles when the last page disappears', async () => {
    const { env } = await openShrinking(1);
    const run = await runFleet(['bicycles', 'stats', '--json'], { env });
    expect(run.code).toBe(0);
    expect(run.stderr).toContain('the total changed from 45 to 35 while the list was read');
  });

  it('`mirror once` exits with 0 when the last page disappears', async () => {
    const { env, config } = await openShrinking(1);
    const to = `sqlite:${join(config, 'm.db')}`;
    const args = ['mirror', 'once', '--organization', ORGANIZATION, '--to', to];
    const run = await runFleet(args, { env });
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringContaining('check the ID')]);
  });

  it('`bicycles list` fails when a page also disappears during the second read', async () => {
    const { env } = await openShrinking(2);
    const run = await runFleet(['bicycles', 'list', '--all', '--retries', '0'], { env });
    expect([run.code, run.stderr]).toEqual([5, expect.stringContaining('Invalid page.')]);
  });
});
