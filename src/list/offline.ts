// `--offline`: runs a command with a client that reads from the mirror, and prints the mirror's
// age.

import { ALERT } from '../api/alert.js';
import { BICYCLE } from '../api/bicycle.js';
import type { Context } from '../context.js';
import { asFleetError, FleetError, usageError } from '../errors.js';
import { defaultAddress, type MirrorAddress } from '../mirror/address.js';
import type { Mirror } from '../mirror/open.js';
import type { MirrorStatus } from '../mirror/status.js';
import { findStateFolder } from '../settings/config-folder.js';
import { showDuration } from '../terminal/time.js';

export interface OfflineFlags {
  offline?: boolean;
  /** The database; undefined for the database of the profile. */
  to?: MirrorAddress;
}

/** The parts of a context that are needed to find the mirror. */
export type MirrorContext = Pick<Context, 'settings' | 'io'>;

/**
 * Returns the database of the mirror: the one of `--to`, or of the profile, or the default file.
 */
export async function chosenDatabase(
  { settings, io }: MirrorContext,
  to?: MirrorAddress,
): Promise<MirrorAddress> {
  const { mirror, profile } = await settings();
  return to ?? mirror.value ?? defaultAddress(findStateFolder(io.env), profile.value);
}

/**
 * Opens the mirror for reading, in the database `to` or in the database of the profile. The caller
 * closes it.
 */
export async function openChosen(
  context: MirrorContext & Pick<Context, 'signal'>,
  to?: MirrorAddress,
): Promise<Mirror> {
  const { openMirror } = await import('../mirror/open.js');
  const { signal, io } = context;
  const baseUrl = (await context.settings()).baseUrl.value;
  return openMirror(await chosenDatabase(context, to), { signal, env: io.env, baseUrl });
}

/** Passes an opened mirror to `use` and closes it afterwards. */
export async function withMirror<T>(
  opening: Promise<Mirror>,
  use: (mirror: Mirror) => Promise<T>,
): Promise<T> {
  const mirror = await opening;
  return use(mirror).finally(() => mirror.close().catch(() => undefined));
}

/**
 * Runs the action with a client that reads from the mirror, in the database `to` or in the database
 * of the profile.
 */
export async function runOffline(
  context: Context,
  action: (context: Context) => Promise<void>,
  to?: MirrorAddress,
) {
  if (context.flags.mirror === false)
    throw usageError('--offline and --no-mirror cannot be used together', 'remove one of them');
  await withMirror(openChosen(context, to), async (mirror) => {
    const { openMirrorClient } = await import('../mirror/client.js');
    const status = await mirror.status();
    await context.notice(describeAge(status));
    const client = openMirrorClient(mirror);
    const refuse = async (): Promise<never> => {
      throw usageError(
        'this command needs the service, but --offline reads only the mirror',
        'remove --offline',
      );
    };
    let missing: unknown;
    await action({ ...context, client: async () => client, token: refuse, network: refuse }).catch(
      (thrown) => {
        if (asFleetError(thrown).kind !== 'not-found') throw thrown;
        missing = thrown;
      },
    );
    const { isWhole, hasAlerts } = status;
    const isShort = !isWhole && (missing !== undefined || client.asked.has(BICYCLE.listPath));
    // Counts and cards of bicycles also show alerts, but they can be printed without alerts.
    const isOfAlerts =
      client.asked.size > 0 && [...client.asked].every((path) => path === ALERT.listPath);
    const what = isShort ? 'bicycles' : !hasAlerts && isOfAlerts ? 'alerts' : undefined;
    if (what === undefined && missing === undefined) return;
    if (what === undefined) throw missing;
    const hint = 'complete it: fleet mirror once';
    throw new FleetError(
      'partial',
      `the mirror does not contain all ${what}: it has never read a whole list`,
      { hint },
    );
  });
}

/** An answer from an older mirror is printed together with its age. */
const OLD_MIRROR_MS = 60_000;

/** Prints a notice when the mirror is older than a minute, or when its age is not known. */
export async function noticeOldMirror(
  context: Pick<Context, 'notice'>,
  status: MirrorStatus,
): Promise<void> {
  if (status.ageMs !== undefined && status.ageMs <= OLD_MIRROR_MS) return;
  await context.notice(describeAge(status));
}

/** Describes the mirror: `from the mirror, current, 2 s old`, or why it is not current. */
export function describeAge(status: MirrorStatus): string {
  const {
    ageMs,
    behindMs,
    isBehind,
    isCurrent,
    isWhole,
    hasAlerts,
    isListOld,
    isStarting,
    isWritten,
    openGaps,
  } = status;
  const age =
    ageMs === undefined
      ? 'of unknown age'
      : ageMs < 1000
        ? 'less than 1 s old'
        : `${showDuration(ageMs)} old`;
  if (isCurrent) return `from the mirror, current, ${age}`;
  const reasons = [
    ...(isWhole ? [] : ['its first reading of the fleet is not complete']),
    ...(hasAlerts ? [] : ['its alerts were not read to the end yet']),
    ...(openGaps.length === 0
      ? []
      : [`${openGaps.length === 1 ? 'a gap is' : `${openGaps.length} gaps are`} open`]),
    ...(isBehind ? [`its writer is behind by ${showDuration(behindMs)}`] : []),
    ...(isListOld
      ? ['its role does not see every bicycle, and its last whole reading is older than 10 min']
      : []),
    ...(isStarting ? ['its writer has just started'] : []),
    ...(isWritten ? [] : [`no writer is running${unwritten(status)} (start fleet mirror run)`]),
  ];
  return `! from the mirror, ${age}: ${reasons.join(', ')}`;
}

/**
 * Returns the organizations whose writer does not run, if the writers of other organizations run.
 */
function unwritten({ writers }: MirrorStatus): string {
  const silent = writers.flatMap(({ isWritten, organization }) =>
    isWritten ? [] : [organization],
  );
  return silent.length === writers.length ? '' : ` for ${silent.join(', ')}`;
}
