// `fleet mirror status`: how old the mirror is, how whole, and which gaps it has.

import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { type MirrorAddress, showMirrorAddress } from '../../mirror/address.js';
import { type Gap, type Mirror, type MirrorStatus, readGaps } from '../../mirror/open.js';
import { drawList } from '../../terminal/list.js';
import { age, showDuration } from '../../terminal/time.js';
import { chosenDatabase } from '../database.js';
import { describeAge, withMirror } from '../offline.js';
import { chooseReportFormat, printReport } from '../report.js';

/** How many gaps that are over are shown, the newest. */
const GAPS_SHOWN = 5;

export interface StatusOptions {
  to?: MirrorAddress;
}

const COUNTS = `SELECT
  (SELECT count(*) FROM bicycles WHERE gone IS NULL) AS bicycles,
  (SELECT count(*) FROM bicycles WHERE gone IS NOT NULL) AS gone,
  (SELECT count(*) FROM alerts) AS alerts,
  (SELECT count(*) FROM changes) AS changes,
  (SELECT count(*) FROM gaps) AS gaps`;

type Report = Awaited<ReturnType<typeof reportOf>>;

/** Prints the status. Throws a FleetError of kind `partial` when the mirror cannot be taken for the service. */
export async function showStatus(context: Context, { to }: StatusOptions): Promise<void> {
  const format = chooseReportFormat((await context.settings()).output);
  const address = await chosenDatabase(context, to);
  const status = await withMirror(
    context,
    async (mirror) => {
      const found = await mirror.status();
      const report = await reportOf(mirror, found, showMirrorAddress(address));
      const { flags, io } = context;
      if (format === 'table' && flags.jq === undefined && flags.columns === undefined)
        await io.stdout.write(drawList(linesOf(report, found, context.clock.wallMs()), io.stdout.width()));
      else await printReport(context, { noun: NOUN, columns: [], fields: [], single: true }, [report], format);
      return found;
    },
    address,
  );
  if (status.isCurrent) return;
  throw new FleetError('partial', `the mirror is not current: ${reasonOf(status)}`);
}

/** What it lacks, without its age. */
function reasonOf(status: MirrorStatus): string {
  return describeAge(status).replace(/^.*?: /, '');
}

const NOUN = { one: 'mirror', many: 'mirrors' };

/** What programs get. */
async function reportOf({ database, baseUrl, organizations }: Mirror, status: MirrorStatus, address: string) {
  const [counted = {}] = await database.all(COUNTS);
  const count = (name: string) => Number(counted[name]);
  const over = await readGaps(database, 'WHERE ended IS NOT NULL ORDER BY id DESC LIMIT ?', GAPS_SHOWN);
  const { writer, ageMs } = status;
  return {
    database: address,
    base_url: baseUrl ?? null,
    organizations,
    current: status.isCurrent,
    whole: status.isWhole,
    as_of: status.asOf ?? null,
    behind_seconds: status.behindMs / 1000,
    list_read: status.proven ?? null,
    age_seconds: ageMs === undefined ? null : Math.round(ageMs / 1000),
    writer: writer === undefined ? null : { host: writer.host, pid: writer.pid, alive: writer.isAlive },
    kept_since: status.keptSince ?? null,
    counts: {
      bicycles: count('bicycles'),
      gone: count('gone'),
      alerts: count('alerts'),
      changes: count('changes'),
      gaps: count('gaps'),
    },
    /** The open ones, then the newest of the others. */
    gaps: [...status.openGaps, ...over],
  };
}

function linesOf(report: Report, status: MirrorStatus, now: number): string[][] {
  const { counts, writer } = report;
  const heard = status.writer?.heartbeatAgeMs;
  const writes =
    writer?.alive === true
      ? `process ${writer.pid} on ${writer.host}, last heartbeat ${showDuration(heard ?? 0)} ago`
      : 'none';
  return [
    ['database', report.database],
    ['service', report.base_url ?? '-'],
    ['organizations', report.organizations.join(', ') || '-'],
    ['status', status.isCurrent ? 'current' : `not current: ${reasonOf(status)}`],
    ['as of', report.as_of === null ? '-' : `${wholeSeconds(report.as_of)} (${age(report.as_of, now)})`],
    ['writer', writes],
    ['list', listRead(report.list_read, now)],
    ['bicycles', `${counts.bicycles}${counts.gone === 0 ? '' : `, and ${counts.gone} that are gone`}`],
    ['alerts', String(counts.alerts)],
    ['changes', `${counts.changes}${report.kept_since === null ? '' : ` since ${wholeSeconds(report.kept_since)}`}`],
    ['gaps', counts.gaps === 0 ? 'none' : `${counts.gaps}, ${status.openGaps.length || 'none'} open`],
    ...report.gaps.map((gap) => ['', describeGap(gap)]),
  ];
}

/** When the whole list was last read, and how many bicycles the service counted then. */
function listRead(read: Report['list_read'], now: number): string {
  if (read === null) return 'not read to its end yet';
  const counted = read.count === null ? '' : `, ${read.count} bicycles counted by the service`;
  return `read whole ${wholeSeconds(read.at)} (${age(read.at, now)})${counted}`;
}

/** A time in UTC as people read it; JSON has all its digits. */
function wholeSeconds(utc: string): string {
  return utc.replace(/\.\d+Z$/, 'Z');
}

/** `2026-… for 4 min: the stream was cut; 12 changes found`. */
function describeGap({ started, ended, reason, found }: Gap): string {
  const length = ended === null ? 'still open' : `for ${showDuration(Date.parse(ended) - Date.parse(started))}`;
  return `${wholeSeconds(started)} ${length}: ${reason}${found === 0 ? '' : `; ${found} ${found === 1 ? 'change' : 'changes'} found`}`;
}
