// Runs `fleet map --serve` under failures and compares the final page of a tab with the fleet.

import type { Bicycle } from '../../src/api/bicycle.js';
import type { Payload, Update } from '../../src/page/payload.js';
import { type Consumer, pause, runChaos, type Trial, type Verdict } from './chaos.js';
import { chooseTraits, type Luck } from './chaos-service.js';
import { newFolder } from './folder.js';

const SPEED = 20;
/**
 * Seven simulated minutes for comparisons of the count and two readings, and a margin for busy
 * machines.
 */
const END_LIMIT_MS = 60_000;

export function runPage(trial: Trial): Promise<Verdict> {
  return runChaos(trial, SPEED, openPage);
}

function openPage(luck: Luck): Consumer {
  let url = '';
  let differences: string[] = [];
  return {
    args: ['map', '--serve', '0'],
    // The URL stays the same across restarts.
    env: { XDG_STATE_HOME: newFolder() },
    traits: chooseTraits(luck, 6 + luck.below(20)),
    isKilled: true,
    hasSteps: true,
    end: ['SIGINT', 130],
    takeLine(line, of) {
      if (of === 'stdout') url = line;
    },
    async settle({ service }) {
      const endAt = performance.now() + END_LIMIT_MS;
      do {
        await pause(300);
        differences = await readPage(url).then(
          ({ rows }) => compare(rows, service.fleet),
          (error) => [String(error)],
        );
      } while (differences.length > 0 && performance.now() < endAt);
    },
    judge: async () => differences.slice(0, 5),
  };
}

function compare(rows: Payload['rows'], fleet: ReadonlyMap<string, Bicycle>): string[] {
  const shown = new Map(rows.map((row) => [row.uuid, row]));
  return [
    ...[...shown.keys()].filter((uuid) => !fleet.has(uuid)).map((uuid) => `${uuid} is a ghost`),
    ...[...fleet.values()].flatMap(({ uuid, state_of_charge: charge }) => {
      const percent = shown.get(String(uuid))?.percent;
      return percent === charge ? [] : [`${uuid}: ${percent} for ${charge}`];
    }),
  ];
}

const SILENT_MS = 100;

/** Returns the fleet of a new tab: the packed fleet and all later events. */
export async function readPage(url: string): Promise<Payload> {
  const fleet = (await (await fetch(`${url}fleet`)).json()) as Payload;
  const ending = new AbortController();
  let text = '';
  const answer = await fetch(`${url}events?after=${fleet.sequence}`, { signal: ending.signal });
  const timer = setTimeout(() => ending.abort(), SILENT_MS);
  try {
    for await (const piece of answer.body ?? []) text += Buffer.from(piece).toString();
  } catch {
    // The command runs until it is stopped.
  }
  clearTimeout(timer);
  const updates = Array.from(
    text.matchAll(/^event: update\ndata: (.*)\n\n/gm),
    ([, data]): Update => JSON.parse(data ?? ''),
  );
  const rows = new Map(fleet.rows.map((row) => [row.uuid, row]));
  for (const { rows: changed, gone } of updates) {
    for (const row of changed) rows.set(row.uuid, row);
    for (const uuid of gone) rows.delete(uuid);
  }
  return {
    ...fleet,
    sequence: updates.at(-1)?.sequence ?? fleet.sequence,
    note: (updates.at(-1) ?? fleet).note,
    rows: [...rows.values()],
  };
}
