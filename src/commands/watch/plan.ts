// Converts the flags of a watch into a plan, which contains topics, filters and ending conditions.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { bicycleTopic, organizationTopic, readTopic } from '../../api/push.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { chooseLines } from '../../follow/print.js';
import type { Form } from '../../follow/stderr.js';
import { beginFollowing } from '../../follow/token-command-retry.js';
import { firstPage } from '../../http/first-page.js';
import { checkFields } from '../../list/check-fields.js';
import { chosenOrganization, requireOrganization } from '../../list/organization.js';
import type { Meant } from '../../list/pick-one.js';
import { isDocumented } from '../../list/where.js';
import { requireSseUrl } from '../../settings/resolve.js';
import type { TimeZone } from '../../system/time-zone.js';
import { findBicycle } from '../bicycles/find.js';
import { compileFilters } from './compile-filters.js';
import { type BicycleSelection, CROSSING_FIELD, checkSelectionFlags } from './crossing.js';
import type { WatchOptions } from './flags.js';
import { MESSAGES } from './messages.js';

/** The settings of a watch that draws a map instead of the board. */
export interface MapPlan {
  title: string;
  /** Whether the map shows the bicycle. */
  keep(bicycle: Bicycle): boolean;
}

export interface WatchPlan extends WatchOptions {
  form: Form;
  /** The time zone for times in conditions. Default: the machine's zone. */
  zoneOfTimes?: TimeZone;
  topics: readonly string[];
  sseUrl: URL;
  /** The settings of the map. Undefined for the board. */
  map?: MapPlan;
  /** The organizations whose lists are read to find missed changes. */
  organizations: readonly string[];
  /**
   * The bicycles that are followed individually. Undefined when all bicycles of an organization are
   * followed.
   */
  bicycles: ReadonlySet<string> | undefined;
  /** The part of the fleet that the watch shows. Undefined for all bicycles. */
  selection?: BicycleSelection | undefined;
  /** Whether the watch replays recorded changes. During a replay, bicycles cannot be changed. */
  isReplay?: boolean;
}

/**
 * Returns the plan for the argument and the flags. Throws a usage error before any request is sent.
 */
export async function makePlan(
  context: Context,
  organization: string | undefined,
  options: WatchOptions,
): Promise<WatchPlan> {
  checkSelectionFlags(options, options.until);
  const form = await chooseForm(context, options);
  const sseUrl = requireSseUrl(await context.settings());
  const patient = await beginFollowing(context, options.for);
  const topics = await chooseTopics(patient, organization, options);
  const known = topics.map(readTopic).filter((topic) => topic !== undefined);
  const bicycles = known.map(({ bicycle }) => bicycle);
  const organizations = [...new Set(known.map(({ organization: owner }) => owner))];
  const named = bicycles.includes(undefined)
    ? undefined
    : new Set(bicycles.filter((uuid) => uuid !== undefined));
  if (known.length === topics.length) await refuseUnknownFields(patient, organizations, options);
  const selection = await compileFilters(patient, options);
  return {
    ...options,
    form,
    zoneOfTimes: context.zone,
    sseUrl,
    topics,
    organizations,
    bicycles: named,
    selection,
  };
}

/**
 * Refuses conditions on fields that no bicycle has. Reads a page of the list only when a condition
 * uses an undocumented field. If the list cannot be read, accepts the conditions.
 */
async function refuseUnknownFields(
  context: Context,
  organizations: readonly string[],
  { where = [], until = [] }: WatchOptions,
): Promise<void> {
  const documented = { fields: [...MESSAGES.fields, 'message', CROSSING_FIELD] };
  const conditions = [...where, ...until].filter((each) => !isDocumented(each, documented));
  if (conditions.length === 0) return;
  const [organization = ''] = organizations;
  const client = await context.client({ retries: 0 });
  const request = {
    path: BICYCLE.listPath,
    query: [['organization', organization]] as const,
    subject: 'the list of bicycles',
  };
  const page = await firstPage<Bicycle>(client, request).catch(() => undefined);
  if (page === undefined || page.items.length === 0) return;
  const values = page.items.map(({ value }) => value);
  checkFields(conditions, values, documented, MESSAGES.fields);
}

async function chooseTopics(
  context: Context,
  organization: string | undefined,
  { bicycle: texts = [], topic: topics = [] }: WatchOptions,
): Promise<string[]> {
  if (topics.includes('')) throw usageError('--topic needs a topic');
  if (organization === undefined && texts.length === 0 && topics.length > 0)
    return [...new Set(topics)];
  const scope = await chosenOrganization(context, organization);
  const bicycles: Meant<Bicycle>[] = [];
  for (const text of texts) bicycles.push(await findBicycle(context, text, scope));
  const owner = await requireOrganization(context, scope);
  const followed =
    bicycles.length === 0
      ? [organizationTopic(owner)]
      : bicycles.map(({ uuid }) => bicycleTopic(owner, uuid));
  return [...new Set([...topics, ...followed])];
}

/**
 * Chooses the output: lines, JSON lines or the board. Throws a usage error for mutually exclusive
 * flags.
 */
export async function chooseForm(
  context: Context,
  options: Pick<WatchOptions, 'live'>,
  verb = 'watch',
): Promise<Form> {
  const form = await chooseLines(context, verb);
  if (options.live !== true) return form;
  const { output } = await context.settings();
  const other =
    context.flags.jq !== undefined
      ? '--jq'
      : form === 'json' && output.origin === 'flag'
        ? '--json'
        : undefined;
  if (other !== undefined)
    throw usageError(`--live and ${other} cannot be used together`, 'remove one of them');
  if (!context.io.stdout.isTerminal)
    throw usageError(
      '--live needs a terminal, but stdout is not a terminal',
      'remove --live to print lines, or pass --json',
    );
  if (!context.io.stdout.canRedraw)
    throw usageError(
      '--live redraws the whole terminal, which this terminal does not support (TERM=dumb)',
      'remove --live to print lines, or set TERM to the terminal type, such as TERM=xterm-256color',
    );
  return 'board';
}
