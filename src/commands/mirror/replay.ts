// `fleet mirror replay`: shows recorded changes as a watch would show them, at any speed.

import { bicycleTopic, organizationTopic } from '../../api/push.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { IDLE_MS } from '../../follow/flags.js';
import type { EventSink } from '../../follow/loop.js';
import type { Client } from '../../http/client.js';
import { noticeOldMirror, openChosen, withMirror } from '../../list/offline.js';
import type { Mirror } from '../../mirror/open.js';
import {
  type Happening,
  playHappenings,
  type Range,
  rangeOf,
  readPast,
} from '../../mirror/past.js';
import { readGaps } from '../../mirror/status.js';
import { readTimeFlag } from '../../terminal/typed-time.js';
import { compileFilters } from '../watch/compile-filters.js';
import { checkSelectionFlags } from '../watch/crossing.js';
import { chooseForm, type WatchPlan } from '../watch/plan.js';
import type { WatchEvent } from '../watch/state.js';
import { runWatch } from '../watch/watch.js';
import type { ReplayOptions } from './flags.js';

/** The maximum number of gaps to read, which is more than a replay can show. */
const MOST_GAPS = 10_000;

/** Replays the recorded changes until their end, or until the user presses Ctrl-C. */
export async function replayMirror(context: Context, options: ReplayOptions): Promise<void> {
  const now = context.now();
  const sinceMs =
    options.since === undefined ? undefined : readTimeFlag('--since', options.since, now);
  const untilMs =
    options.until === undefined ? undefined : readTimeFlag('--until', options.until, now);
  if (sinceMs !== undefined && untilMs !== undefined && untilMs <= sinceMs)
    throw usageError('--until must be after --since', 'pass the earlier time to --since');
  checkSelectionFlags(options);
  const form = await chooseForm(context, options, 'mirror replay');
  const selection = await compileFilters(context, options);
  await withMirror(openChosen(context, options.to), async (mirror) => {
    const range = rangeOf(sinceMs, untilMs);
    const sql = 'SELECT 1 AS one FROM changes WHERE at >= ? AND at < ? LIMIT 1';
    const found = await mirror.database.all(sql, [range.since, range.until]);
    if (found.length === 0) return context.notice('No changes were recorded in this period');
    await noticeOldMirror(context, await mirror.status());
    const topics = mirror.organizations.map((each) => organizationTopic(each));
    const { where, maxEvents, speed, all } = options;
    const shown = {
      form,
      zoneOfTimes: context.zone,
      selection,
      all,
      where,
      maxEvents,
      topics,
      idle: IDLE_MS,
      resyncPages: 0,
    };
    const plan: WatchPlan = {
      ...shown,
      organizations: [],
      isReplay: true,
      bicycles: undefined,
      sseUrl: new URL('http://localhost/'),
    };
    const source = async (sink: EventSink<WatchEvent>) => {
      await play({ ...context, speed }, mirror, topics, range, sink);
      // The board stays open at the end of the recording, until the user quits.
      if (form !== 'board') sink.emit({ type: 'stop', end: 'replayed' });
    };
    await runWatch({ ...context, client: async () => NOBODY }, plan, { source });
  });
}

/** A client that sends no requests, because a replay must not read from the service. */
const NOBODY = { pages: async function* () {} } as unknown as Client;

/**
 * Passes recorded data to the watch: first the fleet at the start, and then each change and gap at
 * its time.
 */
async function play(
  { clock, speed }: Pick<Context, 'clock'> & { readonly speed: number },
  { database, organizations }: Mirror,
  topics: readonly string[],
  range: Range,
  { emit, room, signal }: EventSink<WatchEvent>,
): Promise<void> {
  const past = await readPast(database, range);
  const bicycles = [...past.values()].flatMap(({ bicycle, isGone }) => (isGone ? [] : [bicycle]));
  emit({ type: 'remembered', bicycles, fromMs: clock.monotonicMs() });
  const gaps = await readGaps(
    database,
    'WHERE ended >= ? ORDER BY ended LIMIT ?',
    range.since,
    MOST_GAPS,
  );
  const [first = ''] = topics;
  let isFirst = true;
  for await (const happening of playHappenings(database, range, { clock, signal, speed })) {
    const atMs = Date.parse(happening.received);
    const monotonicMs = clock.monotonicMs();
    if (isFirst)
      for (const topic of topics)
        emit({ type: 'open', topic, atMs, monotonicMs, isReturn: false, trace: {} });
    isFirst = false;
    while (Date.parse(gaps[0]?.ended ?? '') <= atMs) {
      const { started = '', ended = '', reason: message = '' } = gaps.shift() ?? {};
      const gap = {
        fromWallMs: Date.parse(started),
        atMs: Date.parse(ended ?? ''),
        monotonicMs,
        message,
      };
      const durationMs = Math.max(0, gap.atMs - gap.fromWallMs);
      emit({
        type: 'gap',
        topic: first,
        cause: 'ended',
        replayed: false,
        droppedEvents: 0,
        durationMs,
        ...gap,
      });
    }
    const organization = past.get(happening.bicycle)?.organization ?? organizations[0] ?? '';
    const data = envelopeOf(happening, organization);
    emit({ type: 'message', topic: first, atMs, monotonicMs, data }, data.length);
    await room();
    signal.throwIfAborted();
  }
}

/**
 * Converts a recorded change to the JSON that the push channel sends. We assume that the service
 * sends no message when a bicycle leaves the list or returns to it. The mirror noticed such a
 * change itself, so the sender of its message is `mirror`.
 */
function envelopeOf(happening: Happening, organization: string): string {
  const topic = JSON.stringify(bicycleTopic(organization, happening.bicycle));
  const sender = happening.changes.some(([field]) => field === 'gone') ? 'mirror' : 'bicycle';
  return `{"topic":${topic},"sender":"${sender}","message":${messageAt(happening)}}`;
}

/**
 * Returns recorded changes as the JSON of a pushed message. The message contains the changed
 * fields, or all fields of a new bicycle.
 */
function messageAt({ bicycle, at, version, changes }: Happening): string {
  const whole = changes.find(([field]) => field === '*')?.[1];
  if (whole !== undefined) return whole;
  const fields = changes.map(([field, json]) => `${JSON.stringify(field)}:${json}`);
  const known = version === null ? [] : [`"concurrency_version":${version}`];
  return `{${[`"uuid":${JSON.stringify(bicycle)}`, ...fields, `"modified":${JSON.stringify(at)}`, ...known].join(',')}}`;
}
