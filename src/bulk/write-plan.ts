// `--plan FILE`: writes the changes of a command into a plan, and sends none of them.

import type { Context } from '../context.js';
import { FleetError, usageError } from '../errors.js';
import { readExact } from '../json/exact.js';
import { isObject } from '../json/parse.js';
import { chosenOrganization } from '../list/organization.js';
import { describe } from '../list/pick-one.js';
import { quoteForShell } from '../system/shell-words.js';
import { clean } from '../terminal/clean.js';
import { count } from '../terminal/count.js';
import { readStart } from './evidence.js';
import type { BulkPlan, ChangeOptions, Task } from './plan.js';
import {
  PLAN_COMMANDS,
  type PlanHeader,
  type PlanTarget,
  refuseExistingPlan,
  writePlanFile,
} from './plan-file.js';
import { countPresentStates, type Present, readPresent, showStateCounts } from './present.js';

/** Throws a FleetError of kind `usage` for flags that a plan does not go with, and for an existing file. */
export function checkPlanFlag(path: string, { dryRun, journal }: ChangeOptions): void {
  if (dryRun === true)
    throw usageError('--plan and --dry-run cannot be used together', 'remove one of them');
  if (journal !== undefined)
    throw usageError(
      '--plan sends nothing and needs no journal',
      'remove --journal; "fleet apply" keeps its own journal',
    );
  refuseExistingPlan(path);
}

/**
 * Writes the tasks into a plan, with the values that the service shows now. Tasks that change
 * nothing are left out. Throws a FleetError of kind `partial` after it wrote the plan when the
 * service does not show some of the targets.
 */
export async function writePlan(
  context: Context,
  plan: BulkPlan,
  path: string,
  { concurrency }: ChangeOptions,
): Promise<void> {
  const { change, tasks } = plan;
  const { resource } = change;
  const client = await context.client();
  const open = tasks.filter((task) => change.isUnchanged?.(task) !== true);
  const start = await readStart(context, change);
  const time = start.date ?? new Date(context.clock.wallMs()).toISOString();
  const uuids = open.flatMap(({ uuid }) => uuid ?? []);
  const present =
    change.command === 'act'
      ? await readPresent(client, resource, uuids, concurrency)
      : new Map<string, Present>();
  const isMissing = ({ uuid }: Task) =>
    change.command === 'act' && uuid !== null && !present.has(uuid);
  const missing = open.filter(isMissing);
  const targets = open
    .filter((task) => !isMissing(task))
    .map((task) => targetOf(plan, task, present));
  const header: PlanHeader = {
    command: commandOf(plan),
    base_url: await planBaseUrl(context),
    organization: (await chosenOrganization(context)) ?? null,
    time,
    targets: targets.length,
  };
  await writePlanFile(path, header, targets);
  await reportPlan(context, plan, path, targets, present);
  if (missing.length === 0) return;
  const names = missing.map(({ uuid, name }) => clean(describe(uuid ?? '', name)));
  throw new FleetError(
    'partial',
    `${count(missing.length, resource.one, resource.many)} not found, and not in the plan: ${names.slice(0, NAMES_SHOWN).join(', ')}`,
    { hint: 'the plan has the other targets' },
  );
}

const NAMES_SHOWN = 10;

/** Returns the address that a plan belongs to, without a slash at its end. */
export async function planBaseUrl({ settings }: Context): Promise<string> {
  return ((await settings()).baseUrl.value?.href ?? '').replace(/\/+$/, '');
}

function commandOf({ change }: BulkPlan): PlanHeader['command'] {
  const name = `${change.resource.many} ${change.command}`;
  const command = PLAN_COMMANDS.find((known) => known === name);
  if (command === undefined) throw new FleetError('internal', `"${name}" does not write plans`);
  return command;
}

function targetOf(
  { change }: BulkPlan,
  task: Task,
  present: ReadonlyMap<string, Present>,
): PlanTarget {
  const { uuid, name, creation } = task;
  const planned = change.planned?.(task);
  const { method = 'POST', path, body = '{}' } = change.requestOf(task);
  const sent = readExact(body);
  const now = uuid === null ? undefined : present.get(uuid);
  const { version = null, state = null } = now ?? {};
  const observed =
    now === undefined
      ? {}
      : { state, ...(version === null ? {} : { concurrency_version: version }) };
  return {
    uuid,
    name: now?.name ?? name,
    ...(creation === undefined ? {} : { row: creation.row }),
    observed: planned?.observed ?? observed,
    request: { method, path, body: planned?.body ?? (isObject(sent) ? sent : {}) },
  };
}

async function reportPlan(
  context: Context,
  { change }: BulkPlan,
  path: string,
  targets: readonly PlanTarget[],
  present: ReadonlyMap<string, Present>,
): Promise<void> {
  const { resource, verb } = change;
  if (targets.length === 0)
    return context.notice(`the plan ${path} has no targets: nothing would change`);
  const states = showStateCounts(countPresentStates(present.values()));
  const detail = states === '' ? '' : ` (${clean(states)})`;
  await context.notice(
    `planned ${verb} for ${count(targets.length, resource.one, resource.many)}${detail}; nothing was sent; carry it out with: fleet apply ${quoteForShell(path)}`,
  );
}
