// `fleet apply`: carries out a plan. Sends each change at most once, and only if the target's
// values at the service still match the plan.

import { ALERT } from '../../api/alert.js';
import { BICYCLE } from '../../api/bicycle.js';
import { planActions } from '../../bulk/actions.js';
import { carryOut } from '../../bulk/carry-out.js';
import { peekEntries } from '../../bulk/journal.js';
import { judgeEntry } from '../../bulk/journal-records.js';
import type { BulkPlan, PlanFile } from '../../bulk/plan.js';
import { planBaseUrl, readPlanFile } from '../../bulk/plan-file.js';
import { refuseIfReadOnly } from '../../bulk/question.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { answeredAtMs } from '../../http/retry.js';
import { chosenOrganization } from '../../list/organization.js';
import { readTime, showDuration } from '../../terminal/time.js';
import { applyCreations, applyEdits } from '../bicycles/planned-edits.js';
import { claimPlan, findClaim } from './claim-plan.js';
import type { ApplyOptions } from './flags.js';
import { showPlan } from './show-plan.js';

/**
 * Carries out the plan in a file. Throws the errors of carryOut. Throws a FleetError of kind
 * `usage` for a plan that was edited, is too old, or belongs to another service or organization.
 */
export async function applyPlan(
  context: Context,
  path: string,
  options: ApplyOptions,
): Promise<void> {
  if (path === '-')
    throw usageError(
      'a plan cannot be read from stdin, because its journal is kept next to the plan file',
      'pass the name of the plan file',
    );
  const file = await readPlanFile(context, path);
  await refuseIfReadOnly(context, options);
  await checkPlan(context, path, file, options.maxAge);
  if (file.targets.length === 0)
    return context.notice(`the plan ${path} has no targets, so there is nothing to do`);
  const isDryRun = options.dryRun === true;
  const claimed = await (isDryRun ? findClaim : claimPlan)(context, path, file.checksum);
  const journal = `${claimed}.journal`;
  if (claimed !== path)
    await context.notice(`this plan was applied as ${claimed}; its journal ${journal} is used`);
  if (isDryRun) return showPlan(context, file, journal);
  const isOver = await isCarriedOut(context, file, journal);
  if (isOver)
    return context.notice(
      `nothing is left to do: the journal ${journal} shows that the whole plan was carried out`,
    );
  const more = { ...options, journal };
  const identity = { plan: file.checksum };
  if (file.header.command === 'bicycles edit') return applyEdits(context, file, identity, more);
  if (file.header.command === 'bicycles create')
    return applyCreations(context, file, identity, more);
  await carryOut(context, actionsOf(context, file, identity, options), more);
}

function actionsOf(
  context: Context,
  { header, targets }: PlanFile,
  identity: BulkPlan['identity'] & object,
  { concurrency }: ApplyOptions,
): BulkPlan {
  return planActions({
    context,
    resource: header.command === 'alerts act' ? ALERT : BICYCLE,
    targets,
    concurrency,
    rule: 'not-carried-out',
    observedAt: () => header.time,
    identity,
  });
}

/** Whether the journal records every target of the plan as done. */
async function isCarriedOut(
  context: Context,
  { header, targets, checksum }: PlanFile,
  journal: string,
): Promise<boolean> {
  const { profile } = await context.settings();
  const binding = {
    command: header.command,
    profile: profile.value,
    base_url: header.base_url,
    plan: checksum,
  };
  const { clock } = context;
  const entries = await peekEntries(journal, binding, { clock, isTrusted: false });
  const done = [...entries.values()].filter((entry) => judgeEntry(entry) === 'done');
  return done.length === targets.length;
}

/**
 * Throws a FleetError of kind `usage` when the plan does not match the current settings, or is too
 * old.
 */
async function checkPlan(
  context: Context,
  path: string,
  { header }: PlanFile,
  maxAgeMs: number,
): Promise<void> {
  const baseUrl = await planBaseUrl(context);
  const client = await context.client();
  if (baseUrl !== header.base_url)
    throw usageError(
      `the plan ${path} belongs to ${header.base_url}, and this profile uses ${baseUrl}; nothing was sent`,
      'choose the profile with --profile, or write a new plan',
    );
  const organization = await chosenOrganization(context);
  const { organization: planned } = header;
  if (planned !== null && organization !== undefined && planned !== organization)
    throw usageError(
      `the plan ${path} belongs to organization ${planned}, and this profile uses ${organization}; nothing was sent`,
      'choose the profile with --profile, or write a new plan',
    );
  const { headers } = await client.send({
    path: BICYCLE.listPath,
    query: [['page_size', '1']],
    subject: 'the list of bicycles',
  });
  const nowMs = answeredAtMs(headers) ?? context.clock.wallMs();
  const plannedMs = readTime(header.time);
  const ageMs = plannedMs === undefined ? Number.POSITIVE_INFINITY : nowMs - plannedMs;
  if (ageMs <= maxAgeMs) return;
  throw usageError(
    `the plan ${path} is ${showDuration(ageMs)} old, and --max-age is ${showDuration(maxAgeMs)}; nothing was sent`,
    'write a new plan, or accept this one with a longer --max-age',
  );
}
