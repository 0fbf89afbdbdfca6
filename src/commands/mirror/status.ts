// `fleet mirror status`: shows the writers, age, completeness and gaps of the mirror.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { printReport } from '../../list/change-report.js';
import { describeAge, openChosen, withMirror } from '../../list/offline.js';
import { isScreen, writeResult } from '../../list/output-file.js';
import { type MirrorAddress, showMirrorAddress } from '../../mirror/address.js';
import type { Mirror } from '../../mirror/open.js';
import { utcOfMs } from '../../mirror/rows.js';
import { type MirrorStatus, type RecordedGap, readGaps } from '../../mirror/status.js';
import { showLocalTime, type TimeZone } from '../../system/time-zone.js';
import { chooseFormat, REPORT_FORMATS } from '../../terminal/formats.js';
import { drawList } from '../../terminal/list.js';
import { age, showDuration } from '../../terminal/time.js';

/** The number of closed gaps that are shown, newest first. */
const GAPS_SHOWN = 5;

/**
 * Up to this many changes are counted exactly, which takes half a second. A larger number of
 * changes is estimated.
 */
const MOST_COUNTED = 1_000_000;

type Report = Awaited<ReturnType<typeof reportOf>>;

/** Prints the status. Throws a FleetError of kind `partial` when the mirror is not current. */
export async function showMirrorStatus(
  context: Context,
  { to }: { to?: MirrorAddress },
): Promise<void> {
  const format = chooseFormat((await context.settings()).output, REPORT_FORMATS);
  const look = async (mirror: Mirror) => {
    const status = await mirror.status();
    return { status, report: await reportOf(mirror, status) };
  };
  const { status, report } = await withMirror(openChosen(context, to), look);
  const { flags, io, clock } = context;
  if (format === 'table' && flags.jq === undefined && flags.columns === undefined) {
    const width = isScreen(context) ? io.stdout.width() : undefined;
    const zone = isScreen(context) ? context.zone : undefined;
    await writeResult(
      context,
      drawList(linesOf(report, status, { ms: clock.wallMs(), zone }), width),
    );
  } else
    await printReport(
      context,
      { noun: NOUN, columns: [], fields: [], single: true },
      [report],
      format,
    );
  if (status.isCurrent) return;
  const { isWhole, openGaps, asOfMs } = status;
  const isOnlyOld = isWhole && openGaps.length === 0 && asOfMs !== undefined && !status.isWritten;
  throw new FleetError('partial', `the mirror is not current: ${reasonOf(status)}`, {
    hint: isOnlyOld
      ? `its bicycles are complete as of ${wholeSeconds(utcOfMs(asOfMs), context.zone)}; to keep it current, run: fleet mirror run`
      : undefined,
  });
}

/** Returns the reason why the mirror is not current. */
function reasonOf(status: MirrorStatus): string {
  return describeAge(status).replace(/^.*?: /, '');
}

const NOUN = { one: 'mirror', many: 'mirrors' };

/** Returns the status as a machine-readable object. */
async function reportOf(
  { address, database, baseUrl, organizations }: Mirror,
  status: MirrorStatus,
) {
  const estimate = database.dialect.changes;
  const [row = {}] = await database.all(
    `SELECT (SELECT count(*) FROM bicycles WHERE gone IS NULL) AS bicycles, (SELECT count(*) FROM bicycles WHERE gone IS NOT NULL) AS gone,
      (SELECT count(*) FROM alerts) AS alerts, (SELECT count(*) FROM gaps) AS gaps, ${estimate} AS about,
      CASE WHEN ${estimate} > ${MOST_COUNTED} THEN 0 ELSE (SELECT count(*) FROM changes) END AS changes`,
  );
  const [bicycles = 0, gone = 0, alerts = 0, gaps = 0, about = 0, counted = 0] =
    Object.values(row).map(Number);
  const isAbout = about > MOST_COUNTED;
  const over = await readGaps(
    database,
    'WHERE ended IS NOT NULL ORDER BY started DESC LIMIT ?',
    GAPS_SHOWN,
  );
  const { asOfMs, ageMs, proven, writers } = status;
  return {
    database: showMirrorAddress(address),
    base_url: baseUrl ?? null,
    organizations,
    current: status.isCurrent,
    whole: status.isWhole,
    as_of: asOfMs === undefined ? null : utcOfMs(asOfMs),
    behind_seconds: status.behindMs / 1000,
    list_read:
      proven === undefined ? null : { at: utcOfMs(proven.atMs), count: proven.total ?? null },
    age_seconds: ageMs === undefined ? null : Math.round(ageMs / 1000),
    /** One entry per organization. */
    writers: writers.map(({ organization, host, pid, isWritten, heartbeat }) => ({
      ...{ organization, host, pid, alive: isWritten, heartbeat },
    })),
    kept_since: status.keptSince ?? null,
    counts: { bicycles, gone, alerts, changes: isAbout ? about : counted, gaps },
    /** Whether `counts.changes` is only an estimate. */
    changes_estimated: isAbout,
    /** The open gaps, followed by the newest closed gaps. */
    gaps: [...status.openGaps, ...over],
  };
}

/** The current time and the user's time zone. Without a time zone, times are shown in UTC. */
interface Now {
  ms: number;
  zone: TimeZone | undefined;
}

function linesOf(report: Report, status: MirrorStatus, now: Now): string[][] {
  const { bicycles, gone, alerts, changes, gaps } = report.counts;
  const recorded = `${report.changes_estimated ? 'about ' : ''}${changes}`;
  return [
    ['database', report.database],
    ['service', report.base_url ?? '-'],
    ['organizations', report.organizations.join(', ') || '-'],
    ['status', status.isCurrent ? 'current' : `not current: ${reasonOf(status)}`],
    ['as of', report.as_of === null ? '-' : timeAndAge(report.as_of, now)],
    ...writersOf(status, now.ms).map((line) => ['writer', line]),
    ['list', listRead(report, now)],
    ['bicycles', `${bicycles}${gone === 0 ? '' : `, and ${gone} that are gone`}`],
    ['alerts', status.hasAlerts ? String(alerts) : `${alerts}, not read to the end yet`],
    [
      'changes',
      `${recorded}${report.kept_since === null ? '' : ` since ${wholeSeconds(report.kept_since, now.zone)}`}`,
    ],
    ['gaps', gaps === 0 ? 'none' : `${gaps}, ${status.openGaps.length || 'none'} open`],
    ...report.gaps.map((gap) => ['', describeGap(gap, now.zone)]),
  ];
}

/**
 * Returns one line for each organization. With several organizations, each line contains the
 * organization's name.
 */
function writersOf({ writers }: MirrorStatus, now: number): string[] {
  if (writers.length === 0) return ['none'];
  return writers.map(({ isWritten, pid, host, heartbeat, organization }) => {
    const line = isWritten
      ? `process ${pid} on ${host}, last heartbeat ${age(heartbeat ?? '', now)}`
      : 'none';
    return writers.length === 1 ? line : `${line}: ${organization}`;
  });
}

/** Describes when the whole list was last read, and the service's count at that time. */
function listRead({ list_read: read, whole }: Report, now: Now): string {
  if (read === null)
    return whole ? 'its organizations were read apart' : 'first reading not complete';
  const counted = read.count === null ? '' : `, ${read.count} bicycles counted by the service`;
  return `last complete reading ${timeAndAge(read.at, now)}${counted}`;
}

function timeAndAge(utc: string, { ms, zone }: Now): string {
  return `${wholeSeconds(utc, zone)} (${age(utc, ms)})`;
}

/**
 * Formats a time to the second, in the user's time zone or in UTC. The JSON output keeps all
 * digits.
 */
export function wholeSeconds(utc: string, zone: TimeZone | undefined): string {
  return zone === undefined ? utc.replace(/\.\d+Z$/, 'Z') : showLocalTime(Date.parse(utc), zone);
}

/** Describes a gap, such as `2026-… for 4 min: the stream was cut; 12 changes found`. */
function describeGap(
  { started, ended, reason, found }: RecordedGap,
  zone: TimeZone | undefined,
): string {
  const length =
    ended === null ? 'still open' : `for ${showDuration(Date.parse(ended) - Date.parse(started))}`;
  return `${wholeSeconds(started, zone)} ${length}: ${reason}${found === 0 ? '' : `; ${found} ${found === 1 ? 'change' : 'changes'} found`}`;
}
