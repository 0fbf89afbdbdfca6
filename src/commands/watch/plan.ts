// What a watch is asked to do, as values: topics, filters, ends; or the reason why it cannot be done.

import { bicycleTopic, organizationTopic } from '../../api/push.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { requireSseUrl } from '../../settings/resolve.js';
import { ALERT_VOCABULARY, BICYCLE_VOCABULARY } from '../list/vocabulary.js';
import { type Condition, checkCondition, type Vocabulary } from '../list/where.js';

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

export type WatchForm = 'lines' | 'json' | 'board';

export interface Plan {
  form: WatchForm;
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
  words: {
    ...ALERT_VOCABULARY.words,
    state: [...(BICYCLE_VOCABULARY.words['state'] ?? []), ...(ALERT_VOCABULARY.words['state'] ?? [])],
  },
};

/** The organization, and the bicycle where there is one, of a topic of section 6.1. */
const BICYCLES_TOPIC = /^\/([0-9a-f-]{36})\/admin\/bicycles\/(?:\*|([0-9a-f-]{36})\/)$/i;

/** Turns argument and flags into a plan. Throws a usage error before anything is sent. */
export async function makePlan(
  context: Context,
  organization: string | undefined,
  options: WatchOptions,
): Promise<Plan> {
  const settings = await context.settings();
  for (const condition of [...(options.where ?? []), ...(options.until ?? [])]) checkCondition(condition, VOCABULARY);
  const form = await chooseForm(context, options);
  const topics = chooseTopics(organization, settings.organization.value, options);
  const known = topics.map((topic) => BICYCLES_TOPIC.exec(topic)).filter((match) => match !== null);
  const bicycles = known.map(([, , bicycle]) => bicycle?.toLowerCase());
  return {
    form,
    sseUrl: requireSseUrl(settings),
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

function chooseTopics(given: string | undefined, fromSettings: string | undefined, options: WatchOptions): string[] {
  const organization = given ?? fromSettings;
  const { bicycle: bicycles = [], topic: topics = [] } = options;
  if (topics.includes('')) throw usageError('--topic takes a topic, not nothing');
  const followed: string[] = [...topics];
  if (bicycles.length > 0 || given !== undefined || topics.length === 0) {
    if (organization === undefined) {
      throw usageError(
        'there is no organization to follow',
        'give its UUID, or set it with "fleet config set organization UUID"',
      );
    }
    if (bicycles.length === 0) followed.push(organizationTopic(organization));
    else followed.push(...bicycles.map((bicycle) => bicycleTopic(organization, bicycle)));
  }
  return [...new Set(followed)];
}

/** Lines or JSON lines. Another format of the settings means lists; asked for by flag it cannot be given. */
async function chooseForm(context: Context, options: WatchOptions): Promise<WatchForm> {
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
