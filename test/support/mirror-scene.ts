// Starts a service and writers of its mirror on an accelerated clock, and polls the database for
// expected rows.

import { expect, onTestFinished } from 'vitest';
import { END_MS } from '../../src/commands/mirror/writer-database.js';
import { startSandbox } from '../../src/sandbox/index.js';
import type { Clock } from '../../src/system/clock.js';
import { environmentOf } from './environment.js';
import { openQuickClock } from './fast-clock.js';
import { withDatabase } from './mirror.js';
import { runFleet } from './run.js';
import { type Running, startFleet } from './running.js';
import { headersFor } from './sandbox.js';
import { openServer, sendJson } from './server.js';

export const POLL_MS = 25;
export const LIMIT_MS = 120_000;

export type Scene = Awaited<ReturnType<typeof startScene>>;

/** Scenes with a program and a service that run faster by this factor; the database's clock is unchanged. */
export function openScenes(speed: number) {
  const epochMs = Date.now();
  const startedAt = performance.now();
  const now = () => Math.round(epochMs + (performance.now() - startedAt) * speed);
  const quick = openQuickClock(speed, now);
  const clock: Clock = {
    ...quick,
    // The part of a second that the database gets at the end is too short for a busy machine.
    after: (milliseconds, action) =>
      quick.after(milliseconds === END_MS ? 2 * END_MS * speed : milliseconds, action),
  };
  /** Creates a scene for one test. Its writers end with the test. */
  const openScene = async (to: string): Promise<Scene> => {
    const scene = await startScene(to, clock, now);
    onTestFinished(async () => {
      for (const running of scene.started) await running.stop('SIGTERM').catch(() => {});
      await scene.sandbox.close();
    });
    return scene;
  };
  return { now, clock, openScene };
}

async function startScene(to: string, clock: Clock, now: () => number) {
  const sandbox = await startSandbox({ bicycles: 30, rate: 0, heartbeatMs: 200, now });
  const [organization = '', other = ''] = sandbox.organizations.map(({ uuid }) => uuid);
  const env = { ...(await environmentOf(sandbox)), FLEET_ORGANIZATION: organization };
  const started: Running[] = [];
  const ask = (sql: string) => withDatabase(to, (database) => database.all(sql), 'read');
  /** Resolves when the query returns these rows. */
  const until = async (sql: string, ...rows: object[]): Promise<void> => {
    let found: unknown;
    for (const endAt = performance.now() + LIMIT_MS; performance.now() < endAt; ) {
      found = await ask(sql).catch((error) => error);
      if (JSON.stringify(found) === JSON.stringify(rows)) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    expect(found, started.map(({ stderr }) => stderr()).join('---\n')).toEqual(rows);
  };
  const once = (...args: string[]) =>
    runFleet(['mirror', 'once', '--to', to, ...args], { env, clock });
  return {
    ...{ sandbox, organization, other, to, env, started, ask, until, once },
    run(...args: string[]): Running {
      const running = startFleet(['mirror', 'run', '--to', to, ...args], { env, clock });
      started.push(running);
      return running;
    },
    /** Returns the number of rows of a table or view. */
    count: async (table: string) =>
      Number((await ask(`select count(*) as n from ${table}`))[0]?.['n']),
    /**
     * Starts a service that answers with the result of `bodyOf`, or like the sandbox when the
     * result is undefined.
     */
    openOther: (bodyOf: (path: string) => string | undefined) =>
      openServer(async (response, { path, headers: { authorization = '', accept = '' } }) => {
        const ask = async () =>
          (await fetch(`${sandbox.baseUrl}${path}`, { headers: { authorization, accept } })).text();
        sendJson(response, 200, bodyOf(path) ?? (await ask()));
      }),
    onceAt: (url: string) =>
      runFleet(['mirror', 'once', '--retries', '0', '--to', to], {
        env: { ...env, FLEET_BASE_URL: url },
        clock,
      }),
    /** Changes the database without the writer. */
    tell: (sql: string) => withDatabase(to, (database) => database.all(sql)),
    said: (running: Running, words: string) =>
      running.until(() => running.stderr().includes(words)),
    uuids: () => sandbox.bicycles(organization).map(({ uuid }) => uuid),
    /** Resolves when the organization was read completely. */
    isWhole: (whole = organization) =>
      until(
        `select count(*) as n, (select count(*) from writers where organization = '${whole}' and state like '%"isWhole":true%') as whole
          from bicycles where followed = '${whole}' and gone is null`,
        { n: sandbox.bicycles(whole).length, whole: 1 },
      ),
    async act(uuid: string, transition: string) {
      expect(await runFleet(['bicycles', 'act', uuid, transition, '--yes'], { env })).toMatchObject(
        { code: 0 },
      );
    },
    async remove(uuid: string) {
      await fetch(`${sandbox.baseUrl}/bicycles/${uuid}/`, {
        method: 'DELETE',
        headers: await headersFor(sandbox),
      });
    },
  };
}
