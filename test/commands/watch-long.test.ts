// Half an hour of trouble in a few seconds: what a watch shows is what the service did, each change once.

import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { makePlan } from '../../src/commands/watch/plan.js';
import { runWatch } from '../../src/commands/watch/watch.js';
import { openContext } from '../../src/context.js';
import { FleetError } from '../../src/errors.js';
import type { Sandbox } from '../../src/sandbox/index.js';
import { openIo } from '../../src/terminal/io.js';
import { environmentOf } from '../support/environment.js';
import { type FastClock, openFastClock } from '../support/fast-clock.js';
import { withSandbox } from '../support/sandbox.js';

const HALF_AN_HOUR_MS = 30 * 60_000;
/** After the last trouble: longer than the idle limit and the longest pause, so that all has come in. */
const QUIET_END_MS = 200_000;

/** How often it is looked whether the last gap was made up for. */
const READ_AGAIN_MS = 10_000;
/** What was shown is judged then, whatever was said of the list. */
const MOST_LOOKS = 60;

interface Watched {
  /** The charge of each line: every change sets one of its own, so that it names the change. */
  shown: number[];
  stderr: string;
}

function sink(): { stream: Writable; lines(): string[] } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return {
    stream,
    lines: () =>
      Buffer.concat(chunks)
        .toString()
        .split('\n')
        .filter((line) => line !== ''),
  };
}

/** Watches the sandbox by the simulated clock until the simulated end. */
async function watchFor(sandbox: Sandbox, clock: FastClock, milliseconds: number): Promise<Watched> {
  const [stdout, stderr] = [sink(), sink()];
  const env = { FLEET_CONFIG_DIR: '/nonexistent/fleet-tests', ...(await environmentOf(sandbox)) };
  const world = {
    stdin: process.stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env,
    signals: process,
    clock,
  };
  const end = new AbortController();
  const interruption = { signal: end.signal, urgentSignal: new AbortController().signal, stop() {} };
  const opened = openContext(world, openIo(world, { noColor: true, isJson: false, clock }), {}, interruption);
  const organization = sandbox.organizations[0]?.uuid;
  const plan = await makePlan(opened.context, organization, { idle: 90_000, resyncPages: 50 });
  // A busy machine may lose a connection to the leaps of the clock at the very end: what it missed is read first.
  let looks = 0;
  const endWhenRead = () => {
    const said = stderr.lines().join('\n');
    if (said.lastIndexOf(' checked the list: ') > said.lastIndexOf(' lost: ') || ++looks > MOST_LOOKS)
      end.abort(new FleetError('interrupted', 'interrupted'));
    else clock.after(READ_AGAIN_MS, endWhenRead);
  };
  clock.after(milliseconds, endWhenRead);
  await expect(runWatch(opened.context, plan)).rejects.toMatchObject({ kind: 'interrupted' });
  await opened.close();
  return {
    shown: stdout.lines().map((line) => Number(line.split('  ').at(-2))),
    stderr: stderr.lines().join('\n'),
  };
}

/** Changes bicycles every second or so, and makes trouble every minute or so; all by the simulated clock. */
function makeTrouble(sandbox: Sandbox, clock: FastClock): void {
  const organization = sandbox.organizations[0]?.uuid;
  const uuids = sandbox.bicycles(organization).map(({ uuid }) => uuid);
  const endAt = clock.wallMs() + HALF_AN_HOUR_MS;
  let charge = 0;
  const change = () => {
    if (clock.wallMs() >= endAt) return;
    // The first change waits until somebody watches.
    if (charge === 0 && sandbox.streamCount() === 0) return void clock.after(500, change);
    const uuid = uuids[Math.floor(clock.random() * uuids.length)];
    if (uuid !== undefined) sandbox.changeBicycle(uuid, { state_of_charge: charge++ / 10 });
    clock.after(500 + clock.random() * 3_000, change);
  };
  const troubles = [
    () => sandbox.dropStreams(),
    () => sandbox.setFaults([{ kind: 'stall', milliseconds: 0 }]),
    () => {
      sandbox.setFaults([{ kind: 'error', status: 503, share: 1, only: ({ server }) => server === 'push' }]);
      sandbox.dropStreams();
    },
    () => sandbox.setFaults([{ kind: 'error', status: 503, share: 0.5 }]),
    () => clock.jump(60_000),
    () => {
      sandbox.setFaults([{ kind: 'cut', share: 1, times: 3 }]);
      sandbox.dropStreams();
    },
  ];
  let number = 0;
  const trouble = () => {
    sandbox.setFaults([]);
    if (clock.wallMs() >= endAt) return;
    troubles[number++ % troubles.length]?.();
    clock.after(20_000 + clock.random() * 90_000, trouble);
  };
  clock.after(5_000, change);
  clock.after(30_000, trouble);
  clock.after(HALF_AN_HOUR_MS, () => sandbox.setFaults([]));
}

interface Made {
  uuid: string;
  charge: number;
}

/** What the service did: each change that was pushed to the organization. */
function made(sandbox: Sandbox): Made[] {
  return sandbox.pushLog.flatMap(({ sender, message }) => {
    const { uuid, state_of_charge: charge } = JSON.parse(message);
    return sender === 'bicycle' ? [{ uuid, charge }] : [];
  });
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}

function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

describe('half an hour of trouble', () => {
  test('with a replay: the set of changes shown is the set that was made', async () => {
    const clock = openFastClock();
    await withSandbox({ bicycles: 120, now: clock.wallMs, replay: 5_000 }, async (sandbox) => {
      makeTrouble(sandbox, clock);
      const { shown, stderr } = await watchFor(sandbox, clock, HALF_AN_HOUR_MS + QUIET_END_MS);
      expect(made(sandbox).length).toBeGreaterThan(500);
      expect(count(stderr, /no updates from/g)).toBeGreaterThan(8);
      expect(sorted(shown)).toEqual(sorted(made(sandbox).map(({ charge }) => charge)));
      expect(stderr).not.toContain('not looked up');
    });
    clock.stop();
  }, 120_000);

  test('without a replay: nothing twice, nothing made up, and no bicycle is left behind', async () => {
    const clock = openFastClock();
    await withSandbox({ bicycles: 120, now: clock.wallMs, replay: 0 }, async (sandbox) => {
      makeTrouble(sandbox, clock);
      const { shown, stderr } = await watchFor(sandbox, clock, HALF_AN_HOUR_MS + QUIET_END_MS);
      const all = made(sandbox);
      const charges = new Set(all.map(({ charge }) => charge));
      const last = new Map(all.map(({ uuid, charge }) => [uuid, charge]));
      expect(count(stderr, /no updates from/g)).toBeGreaterThan(8);
      expect(count(stderr, /caught up/g)).toBeGreaterThan(3);
      expect(new Set(shown).size).toBe(shown.length);
      expect(shown.filter((charge) => !charges.has(charge))).toEqual([]);
      expect([...last.values()].filter((charge) => !shown.includes(charge))).toEqual([]);
      // What happened to a bicycle twice in one gap is one difference; all else is shown.
      expect(shown.length).toBeGreaterThan(all.length * 0.7);
      expect(stderr).not.toContain('not looked up');
    });
    clock.stop();
  }, 120_000);
});
