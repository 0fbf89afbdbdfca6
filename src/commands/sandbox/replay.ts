// `fleet sandbox --replay`: serves the fleet that a mirror recorded, and replays its changes at any
// speed.

import type { Bicycle } from '../../api/bicycle.js';
import type { Context } from '../../context.js';
import { configError } from '../../errors.js';
import { parseJson } from '../../json/parse.js';
import { type MirrorAddress, showMirrorAddress } from '../../mirror/address.js';
import { openMirror } from '../../mirror/open.js';
import { type Happening, playHappenings, rangeOf, readPast } from '../../mirror/past.js';
import type { Recorded, Sandbox } from '../../sandbox/index.js';
import { readTimeFlag } from '../../terminal/typed-time.js';

export interface ReplaySource {
  to: MirrorAddress;
  /** The start of the replay as the user typed it: a time or an age. */
  since: string | undefined;
  speed: number;
}

/**
 * Opens the mirror, runs `use`, and then closes the mirror. `use` receives the fleet at the start
 * of the replay, and a function that replays the changes.
 */
export async function withPast(
  context: Context,
  { to, since, speed }: ReplaySource,
  use: (recorded: Recorded, play: (sandbox: Sandbox) => Promise<void>) => Promise<void>,
): Promise<void> {
  const sinceMs = since === undefined ? undefined : readTimeFlag('--since', since, context.now());
  // The mirror may belong to any service, so its base URL is not checked.
  const mirror = await openMirror(to, { signal: context.signal, env: context.io.env });
  try {
    const { database, organizations, baseUrl = '' } = mirror;
    if (organizations.length === 0)
      throw configError(`${showMirrorAddress(to)} holds no fleet yet`);
    const range = rangeOf(sinceMs);
    const past = await readPast(database, range);
    const departed = new Map(
      [...past].filter(([, { isGone }]) => isGone).map(([uuid, { bicycle }]) => [uuid, bicycle]),
    );
    const organizationOf = (uuid: string) => past.get(uuid)?.organization ?? organizations[0] ?? '';
    const play = async (sandbox: Sandbox) => {
      let count = 0;
      for await (const happening of playHappenings(database, range, { ...context, speed })) {
        take(sandbox, happening, organizationOf(happening.bicycle), departed);
        count += 1;
      }
      await context.notice(`replayed: ${count} updates; the fleet no longer changes`);
    };
    const bicycles = [...past.values()].filter(({ isGone }) => !isGone);
    await use({ baseUrl, organizations, bicycles }, play);
  } finally {
    await mirror.close().catch(() => undefined);
  }
}

/**
 * Applies a recorded change to the sandbox. While a bicycle is absent from the list, `departed`
 * stores it.
 */
function take(
  sandbox: Sandbox,
  { bicycle: uuid, changes }: Happening,
  organization: string,
  departed: Map<string, Bicycle>,
): void {
  const values = new Map(changes.map(([field, json]) => [field, parseJson(json)]));
  const gone = values.get('gone');
  const isBack = values.delete('gone') && gone === null;
  const arrival = isBack ? departed.get(uuid) : (values.get('*') as Bicycle | undefined);
  values.delete('*');
  if (gone !== undefined && gone !== null) {
    const bicycle = sandbox.bicycle(uuid);
    if (bicycle !== undefined) departed.set(uuid, bicycle);
    sandbox.playDeparture(uuid);
  } else if (arrival === undefined) sandbox.playChanges(uuid, Object.fromEntries(values));
  else
    sandbox.playArrival({ bicycle: { ...arrival, ...Object.fromEntries(values) }, organization });
}
