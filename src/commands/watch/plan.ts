// What a watch is asked to do, as values: topics, filters, ends; or the reason why it cannot be done.

import { uuidOfLink } from '../../api/links.js';
import { bicycleTopic, organizationTopic } from '../../api/push.js';
import { nearest } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { type FleetError, usageError } from '../../errors.js';
import { requireSseUrl } from '../../settings/resolve.js';
import { organizationsOf } from '../../settings/token.js';
import type { Form } from '../follow/print.js';
import { ALERT_VOCABULARY, BICYCLE_VOCABULARY } from '../list/vocabulary.js';
import { type Condition, checkCondition, type Vocabulary } from '../list/where.js';
import { readBicycle } from './read.js';

/** What the flags became; times are in milliseconds. */
export interface WatchOptions {
  bicycle?: string[];
  topic?: string[];
  sender?: string[];
  where?: Condition[];
  until?: Condition[];
  for?: number;
  maxEvents?: number;
  idle: number;
  resyncPages: number;
  giveUpAfter?: number;
  live?: boolean;
}

export interface Plan {
  form: Form;
  sseUrl: URL;
  topics: readonly string[];
  /** Organizations whose list can tell what was missed. */
  organizations: readonly string[];
  /** The bicycles that are followed one by one; undefined when all of an organization are. */
  bicycles: ReadonlySet<string> | undefined;
  senders: ReadonlySet<string> | undefined;
  where: readonly Condition[];
  /** All must hold at once; undefined when nothing is waited for. */
  until: readonly Condition[] | undefined;
  forMs: number | undefined;
  maxEvents: number | undefined;
  idleMs: number;
  resyncPages: number;
  giveUpAfterMs: number | undefined;
}

/** Messages are of bicycles and of alerts; both have a `state`. */
const VOCABULARY: Vocabulary = {
  noun: 'message',
  fields: [...new Set([...BICYCLE_VOCABULARY.fields, ...ALERT_VOCABULARY.fields, 'sender', 'topic'])],
  numbers: BICYCLE_VOCABULARY.numbers,
  times: [...new Set([...BICYCLE_VOCABULARY.times, ...ALERT_VOCABULARY.times])],
  words: {},
};

/** What is known of words; a service may name more, so another one is worth a warning and no refusal. */
const WORDS: Vocabulary['words'] = {
  ...ALERT_VOCABULARY.words,
  // Assumed: `reserved`, which no state of section 3.1 is and which `reserve` leads to.
  state: [
    ...new Set([...(BICYCLE_VOCABULARY.words['state'] ?? []), 'reserved', ...(ALERT_VOCABULARY.words['state'] ?? [])]),
  ],
};

/** The organization, and the bicycle where there is one, of a topic of section 6.1. */
const BICYCLES_TOPIC = /^\/([0-9a-f-]{36})\/admin\/bicycles\/(?:\*|([0-9a-f-]{36})\/)$/i;

/** How many organizations an error lists, and of how many bicycles the organization is asked for. */
const LISTED_ORGANIZATIONS = 20;

/** Turns argument and flags into a plan. Throws a usage error before anything is sent. */
export async function makePlan(
  context: Context,
  organization: string | undefined,
  options: WatchOptions,
): Promise<Plan> {
  const settings = await context.settings();
  const conditions = [...(options.where ?? []), ...(options.until ?? [])];
  for (const condition of conditions) checkCondition(condition, VOCABULARY);
  const form = await chooseForm(context, options);
  const sseUrl = requireSseUrl(settings);
  const owner = organization ?? settings.organization.value;
  const topics = chooseTopics(owner ?? (await findOrganization(context, options)), organization !== undefined, options);
  for (const condition of conditions) await warnOfWord(context, condition);
  const known = topics.map((topic) => BICYCLES_TOPIC.exec(topic)).filter((match) => match !== null);
  const bicycles = known.map(([, , bicycle]) => bicycle?.toLowerCase());
  return {
    form,
    sseUrl,
    topics,
    organizations: [...new Set(known.map(([, owner = '']) => owner.toLowerCase()))],
    bicycles: bicycles.includes(undefined) ? undefined : new Set(bicycles.filter((uuid) => uuid !== undefined)),
    senders: options.sender === undefined ? undefined : new Set(options.sender),
    where: options.where ?? [],
    until: options.until,
    forMs: options.for,
    maxEvents: options.maxEvents,
    idleMs: options.idle,
    resyncPages: options.resyncPages,
    giveUpAfterMs: options.giveUpAfter,
  };
}

function isOrganizationNeeded({ bicycle = [], topic = [] }: WatchOptions, isGiven: boolean): boolean {
  return bicycle.length > 0 || isGiven || topic.length === 0;
}

function chooseTopics(organization: string | undefined, isGiven: boolean, options: WatchOptions): string[] {
  const { bicycle: bicycles = [], topic: topics = [] } = options;
  if (topics.includes('')) throw usageError('--topic takes a topic, not nothing');
  const followed: string[] = [...topics];
  if (isOrganizationNeeded(options, isGiven)) {
    if (organization === undefined) throw noOrganization();
    if (bicycles.length === 0) followed.push(organizationTopic(organization));
    else followed.push(...bicycles.map((bicycle) => bicycleTopic(organization, bicycle)));
  }
  return [...new Set(followed)];
}

function noOrganization(several: readonly string[] = []): FleetError {
  if (several.length === 0) {
    const hint = 'give its UUID, or set it with "fleet config set organization UUID"';
    return usageError('there is no organization to follow', hint);
  }
  return usageError(
    `there are ${several.length} organizations to follow, and none was chosen`,
    `give one of them: ${several.slice(0, LISTED_ORGANIZATIONS).join(', ')}`,
  );
}

/** The one organization that the token or the bicycles name, which is said. Throws a usage error that lists several. */
async function findOrganization(context: Context, options: WatchOptions): Promise<string | undefined> {
  const { bicycle: bicycles = [] } = options;
  if (!isOrganizationNeeded(options, false)) return undefined;
  const named = organizationsOf(await (await context.token()).get());
  const found = named.length === 1 || bicycles.length === 0 ? named : await organizationsOfBicycles(context, bicycles);
  const [organization] = found;
  if (found.length > 1 || organization === undefined) throw noOrganization(found.length > 1 ? found : named);
  const source = found === named ? 'the only one of the token' : 'that of the bicycle';
  await context.notice(`following the organization ${organization}, ${source}`);
  return organization;
}

async function organizationsOfBicycles(context: Context, bicycles: readonly string[]): Promise<string[]> {
  const client = await context.client();
  const owners = new Set<string>();
  for (const uuid of bicycles.slice(0, LISTED_ORGANIZATIONS)) {
    const { organization } = (await readBicycle(client, uuid)) ?? {};
    const owner = typeof organization === 'string' ? uuidOfLink(organization) : undefined;
    if (owner !== undefined) owners.add(owner.toLowerCase());
  }
  return [...owners];
}

/** A word that is not known is worth a warning, with the nearest one that is: the service may know more. */
async function warnOfWord(context: Context, { field, operator, value }: Condition): Promise<void> {
  const known = WORDS[field];
  if (known === undefined || (operator !== '=' && operator !== '!=') || known.includes(value) || value === 'null')
    return;
  const meant = nearest(value, known);
  const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
  await context.notice(`warning: "${value}" is no ${field} that is known here${hint}`);
}

/** Lines or JSON lines. Another format of the settings means lists; asked for by flag it cannot be given. */
async function chooseForm(context: Context, options: WatchOptions): Promise<Form> {
  const { output } = await context.settings();
  const isJson = output.value === 'json' || output.value === 'jsonl';
  if (output.origin === 'flag' && !isJson && output.value !== 'table') {
    throw usageError(`watch writes lines, or JSON lines with --json, not ${output.value}`);
  }
  if (context.flags.columns !== undefined) throw usageError('watch writes lines and takes no --columns');
  const isFiltered = context.flags.jq !== undefined;
  if (isFiltered && options.live === true)
    throw usageError('--live and --jq exclude each other', 'leave one of them out');
  if (options.live !== true) return isJson || isFiltered ? 'json' : 'lines';
  if (isJson && output.origin === 'flag')
    throw usageError('--live and --json exclude each other', 'leave one of them out');
  if (!context.io.stdout.isTerminal) {
    throw usageError('--live draws on a terminal, and stdout is none', 'leave it out for lines, or give --json');
  }
  return 'board';
}
