// `fleet apply --dry-run`: shows the targets of a plan, and which of them have changed since the
// plan was made.

import { ALERT } from '../../api/alert.js';
import { BICYCLE } from '../../api/bicycle.js';
import { type Present, readPresent } from '../../api/present.js';
import { verbOfTarget } from '../../bulk/actions.js';
import { readJournalFile } from '../../bulk/journal.js';
import { judgeEntry } from '../../bulk/journal-records.js';
import type { PlanFile, PlanTarget } from '../../bulk/plan.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import { readExact, writeJson } from '../../json/exact.js';
import { printReport } from '../../list/change-report.js';
import { count } from '../../terminal/count.js';
import type { Shape } from '../../terminal/formats.js';
import { textOf } from '../../terminal/values.js';
import { isSameValue } from '../bicycles/field-values.js';
import { fetchBicycle } from '../bicycles/get.js';
import { findExistingCreations } from '../bicycles/planned-edits.js';

/** A row of the output table for a target of the plan. */
interface PlanRow {
  uuid: string | null;
  name: string | null;
  change: string;
  planned: string;
  now: string | null;
  /** Whether the change can be carried out: `ready`, `changed`, `gone` or `done`. */
  verdict: string;
}

const ROWS: Shape<PlanRow> = {
  noun: { one: 'target', many: 'targets' },
  fields: ['uuid', 'name', 'change', 'planned', 'now', 'verdict'],
  columns: [
    { header: 'UUID', field: 'uuid', keep: 3 },
    { header: 'NAME', field: 'name', keep: 5, maximum: 24 },
    { header: 'CHANGE', field: 'change', keep: 4, maximum: 40 },
    { header: 'PLANNED FROM', field: 'planned', keep: 2, maximum: 30 },
    { header: 'NOW', field: 'now', keep: 2, maximum: 30 },
    { header: 'VERDICT', field: 'verdict', keep: 6 },
  ],
};

const READS_AT_ONCE = 8;

/**
 * Prints the targets. When some of them have changed since the plan was made, throws a FleetError
 * of kind `partial` after the table.
 */
export async function showPlan(context: Context, file: PlanFile, journal: string): Promise<void> {
  const { header, targets } = file;
  const { entries } = await readJournalFile(journal, context.clock.wallMs(), false);
  const done = new Set(
    [...entries].flatMap(([key, entry]) =>
      judgeEntry(entry) === 'done' ? [key.split(':', 1)[0] ?? key] : [],
    ),
  );
  const rows = await rowsOf(context, file);
  const finished = rows.map((row, index) => {
    const target = targets[index];
    const key = row.uuid ?? String(target?.row ?? index + 1);
    return done.has(key) ? { ...row, verdict: 'done' } : row;
  });
  await printReport(context, ROWS, finished);
  const counts = countVerdicts(finished);
  await context.notice(
    `plan of ${header.time}: ${header.command}, ${count(targets.length, 'target')}: ${counts}; nothing was sent`,
  );
  const changed = finished.filter(({ verdict }) => verdict === 'changed' || verdict === 'gone');
  if (changed.length > 0)
    throw new FleetError('partial', `${count(changed.length, 'target')} changed since the plan`, {
      hint: '"fleet apply" leaves them out; write a new plan to include them',
    });
}

function countVerdicts(rows: readonly PlanRow[]): string {
  const verdicts = ['ready', 'done', 'changed', 'gone'];
  return verdicts
    .map((verdict) => [rows.filter((row) => row.verdict === verdict).length, verdict] as const)
    .filter(([number]) => number > 0)
    .map(([number, verdict]) => `${number} ${verdict}`)
    .join(', ');
}

async function rowsOf(context: Context, { header, targets }: PlanFile): Promise<PlanRow[]> {
  if (header.command === 'bicycles create') {
    const existing = await findExistingCreations(context, targets);
    return targets.map((target) => creationRow(target, existing.has(target)));
  }
  if (header.command === 'bicycles edit') return editRows(context, targets);
  const resource = header.command === 'alerts act' ? ALERT : BICYCLE;
  const uuids = targets.flatMap(({ uuid }) => uuid ?? []);
  const present = await readPresent(await context.client(), resource, uuids, READS_AT_ONCE);
  return targets.map((target) => actionRow(target, present.get(target.uuid ?? '')));
}

function creationRow({ name, request }: PlanTarget, isThere: boolean): PlanRow {
  const change = `create ${textOf(request.body['serial_number']) ?? ''}`.trim();
  const now = isThere ? 'already exists' : null;
  return { uuid: null, name, change, planned: '', now, verdict: isThere ? 'changed' : 'ready' };
}

function actionRow(target: PlanTarget, now: Present | undefined): PlanRow {
  const planned = textOf(target.observed['state']) ?? '';
  const isSame = now !== undefined && (now.state ?? '') === planned;
  const verdict = now === undefined ? 'gone' : isSame ? 'ready' : 'changed';
  const { uuid, name } = target;
  return { uuid, name, change: verbOfTarget(target), planned, now: now?.state ?? null, verdict };
}

async function editRows(context: Context, targets: readonly PlanTarget[]): Promise<PlanRow[]> {
  const client = await context.client();
  const rows: PlanRow[] = [];
  const left = targets.entries();
  const work = async () => {
    for (const [index, target] of left) {
      const found = await fetchBicycle(context, client, target.uuid ?? '').catch((error) => {
        if (error instanceof FleetError && error.kind === 'not-found') return undefined;
        throw error;
      });
      rows[index] = editRow(target, found && (readExact(found.json) as PlanTarget['observed']));
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, work));
  return rows;
}

function editRow(target: PlanTarget, now: PlanTarget['observed'] | undefined): PlanRow {
  const { uuid, name, observed, request } = target;
  const fields = Object.keys(request.body);
  const show = (values: PlanTarget['observed']) =>
    fields.map((field) => `${field}: ${writeJson(values[field] ?? null)}`).join('; ');
  const isAs = (values: PlanTarget['observed']) =>
    now !== undefined && fields.every((field) => isSameValue(field, values[field], now[field]));
  const verdict =
    now === undefined ? 'gone' : isAs(request.body) ? 'done' : isAs(observed) ? 'ready' : 'changed';
  return {
    uuid,
    name,
    change: show(request.body),
    planned: show(observed),
    now: now === undefined ? null : show(now),
    verdict,
  };
}
