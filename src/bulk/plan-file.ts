// Writes and reads plan files, for `--plan FILE` and `fleet apply`. A plan has a header, one line
// for each target, and a checksum. Writing a plan changes nothing at the service.
//
// Each line is JSON, so that diff can compare two plans. The checksum on the last line covers all
// lines before it.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { countPresentStates, type Present, readPresent, showStateCounts } from '../api/present.js';
import type { Context } from '../context.js';
import { FleetError, reasonOf, usageError } from '../errors.js';
import { readExact, writeJson } from '../json/exact.js';
import { isObject, parseJson } from '../json/parse.js';
import { chosenOrganization } from '../list/organization.js';
import { describe } from '../list/pick-one.js';
import { hasCode, OWN_FILE_MODE } from '../system/folder.js';
import { quoteForShell } from '../system/shell-words.js';
import { openWholeFile } from '../system/whole-file.js';
import { clean } from '../terminal/clean.js';
import { count } from '../terminal/count.js';
import { type InputOptions, readInput } from '../terminal/stdin.js';
import { readTime } from '../terminal/time.js';
import { readStart } from './evidence.js';
import type { ChangeOptions } from './flags.js';
import {
  type BulkPlan,
  PLAN_COMMANDS,
  type PlanCommand,
  type PlanFile,
  type PlanHeader,
  type PlanTarget,
  type Task,
} from './plan.js';

/**
 * Throws a FleetError of kind `usage` when other flags contradict `--plan`, or when the file
 * exists.
 */
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
 * Throws a FleetError of kind `usage` when the file exists, because a plan never replaces a file.
 */
export function refuseExistingPlan(path: string): void {
  if (!existsSync(path)) return;
  throw usageError(
    `the plan ${path} already exists; nothing was written`,
    'a plan never replaces a file; choose another name for --plan',
  );
}

/**
 * Writes the tasks into a plan file, with the current values from the service. Omits tasks that
 * would change nothing. When the service does not show some targets, writes the plan without them
 * and throws a FleetError of kind `partial`.
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
    { hint: 'the plan contains all other targets' },
  );
}

const NAMES_SHOWN = 10;

/** Returns the base URL that a plan records, without a trailing slash. */
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
    `planned ${verb} for ${count(targets.length, resource.one, resource.many)}${detail}; nothing was sent; to apply the plan, run: fleet apply ${quoteForShell(path)}`,
  );
}

/** The version of the plan format. Plans with a newer version are refused. */
export const PLAN_FORMAT = 1;

/**
 * Writes a plan file atomically. Throws a FleetError of kind `usage` when the file exists or cannot
 * be written.
 */
export async function writePlanFile(
  path: string,
  header: PlanHeader,
  targets: readonly PlanTarget[],
): Promise<void> {
  let draft: WholeFile | undefined;
  try {
    draft = await openWholeFile(path, { isNew: true, mode: OWN_FILE_MODE });
    await writeLines(draft, header, targets);
    await draft.end();
  } catch (error) {
    if (hasCode(error, 'EEXIST')) refuseExistingPlan(path);
    throw usageError(
      `the plan ${path} cannot be written: ${reasonOf(error)}`,
      'choose another name for --plan',
    );
  } finally {
    await draft?.discard();
  }
}

type WholeFile = Awaited<ReturnType<typeof openWholeFile>>;

/**
 * The number of lines that are written in one batch, so that a plan with 100,000 targets needs
 * little memory.
 */
const LINES_TOGETHER = 1_000;

async function writeLines(
  draft: WholeFile,
  header: PlanHeader,
  targets: readonly PlanTarget[],
): Promise<void> {
  const hash = createHash('sha256');
  const write = async (text: string) => {
    hash.update(text);
    await draft.write(text);
  };
  await write(`${JSON.stringify({ fleet_plan: true, format: PLAN_FORMAT, ...header })}\n`);
  for (let at = 0; at < targets.length; at += LINES_TOGETHER) {
    const lines = targets.slice(at, at + LINES_TOGETHER).map((target) => `${writeJson(target)}\n`);
    await write(lines.join(''));
  }
  await draft.write(`${JSON.stringify({ checksum: `sha256:${hash.digest('hex')}` })}\n`);
}

/**
 * Reads a plan file. Throws a FleetError of kind `usage` for a file that is not a plan, was edited
 * or truncated, or has a newer format.
 */
export async function readPlanFile(context: InputOptions, path: string): Promise<PlanFile> {
  const text = (await readInput(context, path)).toString('utf8');
  const lines = text.split('\n');
  const head = readLine(lines[0]);
  if (head?.['fleet_plan'] !== true)
    throw usageError(`${path} is not a fleet plan`, 'write a plan with --plan FILE');
  const { format } = head;
  if (!Number.isInteger(format) || Number(format) < 1 || Number(format) > PLAN_FORMAT)
    throw usageError(
      `the plan ${path} has format ${String(format)}, but this version of fleet reads format ${PLAN_FORMAT}`,
      'apply it with the version of fleet that wrote it, or write a new plan',
    );
  const checksum = checkSum(path, text);
  const targetLines = lines.slice(1, -2);
  const header = readHeader(path, head, targetLines.length);
  return { header, targets: readTargets(path, header, targetLines), checksum };
}

/** The file's first line is the header, so the first target is on the second line. */
const FIRST_TARGET_LINE = 2;

/**
 * Parses the targets of a plan. Checks each target, because a plan with a correct checksum can come
 * from another program.
 */
function readTargets(path: string, { command }: PlanHeader, lines: readonly string[]) {
  const linesByKey = new Map<string, number>();
  return lines.map((text, index) => {
    const line = index + FIRST_TARGET_LINE;
    const refuse = (reason: string) =>
      usageError(
        `line ${line} of the plan ${path} ${reason}; nothing was sent`,
        'write a new plan with --plan FILE',
      );
    const target = readTarget(text, command);
    if (target === undefined) throw refuse('is not a valid target');
    const key = target.uuid?.toLowerCase() ?? String(target.row ?? line);
    const earlier = linesByKey.get(key);
    if (earlier !== undefined) throw refuse(`has the same target as line ${earlier}`);
    linesByKey.set(key, line);
    return target;
  });
}

/** Returns the target, or undefined when a field is missing or has the wrong type. */
function readTarget(text: string, command: PlanCommand): PlanTarget | undefined {
  const plain = readLine(text);
  if (plain === undefined) return undefined;
  const { uuid, name, row, observed, request } = plain;
  const isCreation = command === 'bicycles create';
  const isIdentified = isCreation ? uuid === null : typeof uuid === 'string' && uuid !== '';
  const isNamed = name === null || typeof name === 'string';
  const isNumbered = row === undefined || Number.isInteger(row);
  if (!isIdentified || !isNamed || !isNumbered) return undefined;
  if (!isObject(observed) || !isObject(request) || !isObject(request['body'])) return undefined;
  const { method, path, body } = request;
  if (typeof method !== 'string' || typeof path !== 'string') return undefined;
  const isAction = command === 'bicycles act' || command === 'alerts act';
  const verb = body['type'];
  if (isAction && (typeof verb !== 'string' || verb === '')) return undefined;
  return readExact(text) as PlanTarget;
}

function readLine(line = ''): { [field: string]: unknown } | undefined {
  try {
    const value = parseJson(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the checksum of a plan. Throws when it differs from the checksum on the last line. */
function checkSum(path: string, text: string): string {
  const end = text.trimEnd().lastIndexOf('\n') + 1;
  const written = readLine(text.slice(end).trim())?.['checksum'];
  const actual = `sha256:${createHash('sha256').update(text.slice(0, end)).digest('hex')}`;
  if (written === actual && text.endsWith('\n')) return actual;
  const what = written === undefined ? 'is not complete' : 'was edited';
  throw usageError(
    `the plan ${path} ${what}: its checksum does not match; nothing was sent`,
    'write a new plan with --plan FILE',
  );
}

function readHeader(
  path: string,
  head: { readonly [field: string]: unknown },
  count: number,
): PlanHeader {
  const { command, base_url, organization = null, time, targets } = head;
  const known = PLAN_COMMANDS.find((name) => name === command);
  if (
    known === undefined ||
    typeof base_url !== 'string' ||
    typeof time !== 'string' ||
    readTime(time) === undefined ||
    (organization !== null && typeof organization !== 'string') ||
    targets !== count
  )
    throw usageError(
      `the header of the plan ${path} is not valid; nothing was sent`,
      'write a new plan with --plan FILE',
    );
  return { command: known, base_url, organization, time, targets: count };
}
