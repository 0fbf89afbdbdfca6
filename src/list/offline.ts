// Implements `--offline`: runs a command with a client that reads from the mirror, and prints the
// age of the mirror.

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
  /** The database of `--to`; undefined for the profile's database. */
  to?: MirrorAddress;
}

/** The parts of a context that are needed to find the mirror. */
export type MirrorContext = Pick<Context, 'settings' | 'io'>;

/** Returns the mirror's address: from `--to`, from the profile, or the default file. */
export async function chosenDatabase(
  { settings, io }: MirrorContext,
  to?: MirrorAddress,
): Promise<MirrorAddress> {
  const { mirror, profile } = await settings();
  return to ?? mirror.value ?? defaultAddress(findStateFolder(io.env), profile.value);
}

/** Opens the mirror at `to`, or the profile's mirror, for reading. The caller must close it. */
export async function openChosen(
  context: MirrorContext & Pick<Context, 'signal'>,
  to?: MirrorAddress,
): Promise<Mirror> {
  const { openMirror } = await import('../mirror/open.js');
  const { signal, io } = context;
  const baseUrl = (await context.settings()).baseUrl.value;
  return openMirror(await chosenDatabase(context, to), { signal, env: io.env, baseUrl });
}

/** Calls `use` with a mirror, and closes the mirror afterwards. */
export async function withMirror<T>(
  opening: Promise<Mirror>,
  use: (mirror: Mirror) => Promise<T>,
): Promise<T> {
  const mirror = await opening;
  return use(mirror).finally(() => mirror.close().catch(() => undefined));
}

/**
 * Runs a command offline: its client reads from the mirror at `to`, or from the profile's mirror.
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
    // A command that reads only alerts fails when the mirror has no alerts. Counts and cards of
    // bicycles also show alerts, but can be printed without them.
    const isOfAlerts =
      client.asked.size > 0 && [...client.asked].every((path) => path === ALERT.listPath);
    const what = isShort ? 'bicycles' : !hasAlerts && isOfAlerts ? 'alerts' : undefined;
    if (what === undefined && missing === undefined) return;
    if (what === undefined) throw missing;
    const hint = 'to complete the mirror, run: fleet mirror once';
    throw new FleetError(
      'partial',
      `the mirror does not contain all ${what}, because fleet has not read a whole list into it yet`,
      { hint },
    );
  });
}

/** When the mirror is older than this, its age is printed with the result. */
const OLD_MIRROR_MS = 60_000;

/** Prints a notice when the mirror is older than a minute or its age is unknown. */
export async function noticeOldMirror(
  context: Pick<Context, 'notice'>,
  status: MirrorStatus,
): Promise<void> {
  if (status.ageMs !== undefined && status.ageMs <= OLD_MIRROR_MS) return;
  await context.notice(describeAge(status));
}

/**
 * Describes the mirror: `from the mirror, current, 2 s old`, or the reasons why it is not up to
 * date.
 */
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
 * Returns the organizations without a running writer, for a message. Returns '' when no writer runs
 * at all.
 */
function unwritten({ writers }: MirrorStatus): string {
  const silent = writers.flatMap(({ isWritten, organization }) =>
    isWritten ? [] : [organization],
  );
  return silent.length === writers.length ? '' : ` for ${silent.join(', ')}`;
}
