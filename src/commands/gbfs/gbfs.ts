// `fleet gbfs`: makes the feed once, or again and again, and puts it where it is read.

import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../../clock.js';
import type { Context } from '../../context.js';
import { asFleetError, type ErrorKind, FleetError, reasonOf, usageError } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import type { FeedVersion } from '../../settings/system.js';
import { escapeJson } from '../../terminal/clean.js';
import { readTime, showDuration } from '../../terminal/time.js';
import { beginFollowing } from '../follow/start.js';
import { keptKey } from '../kept-key.js';
import { openTarget } from '../list/target.js';
import { requireOrganization } from '../organization.js';
import { areasOf, drawFeed } from './feed.js';
import { type ReadOptions, readNamed, readVehicles } from './read.js';
import { type Age, isOld, type Outlet, openOutlet, type Published } from './serve.js';
import { readSystem, type SetFields } from './system.js';

export interface GbfsOptions {
  out?: string;
  version: FeedVersion;
  /** Milliseconds, as all times here. */
  every?: number;
  ttl?: number;
  maxAge?: number;
  /** The port; 0 is any free one. */
  serve?: number;
  metrics?: number;
  organization?: string;
  /** Metres. */
  range?: number;
  disabled?: boolean;
  system?: string;
  set?: SetFields;
  check?: boolean;
}

const DEFAULT_TTL_MS = 60_000;
/** Models and zones hardly ever change, and services count requests for them. */
const NAMED_MS = 600_000;
/** What the next try may mend. */
const PASSING: readonly ErrorKind[] = ['network', 'service', 'partial', 'output'];

/** Throws what ends it: a FleetError of kind `partial` where the feed that is there is older than its ttl. */
export async function publishGbfs(context: Context, options: GbfsOptions): Promise<void> {
  const { out, check } = options;
  checkFlags(options);
  if (check === true) return checkAge(context, out ?? '');
  // What is missing is said before anything is sent or listened to.
  const ownUrl = options.serve === undefined ? undefined : 'http://127.0.0.1/';
  await readSystem(context, options.version, { file: options.system, set: options.set }, ownUrl);
  const isLasting = options.every !== undefined || options.serve !== undefined;
  const patient = isLasting ? await beginFollowing(context, {}) : context;
  const outlet = await openOutlet(context, options);
  if (outlet.origin !== undefined) await context.io.stdout.write(`${outlet.origin}/gbfs.json\n`);
  let make: (() => Promise<Published>) | undefined;
  for (;;) {
    const startMs = context.clock.monotonicMs();
    try {
      make ??= await openMaker(patient, options, outlet.origin);
      await publish(context, options, outlet, await make());
    } catch (thrown) {
      await failed(context, options, outlet, thrown);
    }
    if (!isLasting) return;
    const everyMs = options.every ?? DEFAULT_TTL_MS;
    await sleep(context.clock, Math.max(0, everyMs - (context.clock.monotonicMs() - startMs)), context.signal);
  }
}

const LEAST_EVERY_MS = 1000;

function checkFlags({ out, serve, check, every, metrics }: GbfsOptions): void {
  if (out === undefined && (serve === undefined || check === true))
    throw usageError(
      'where should the feed go?',
      check === true ? 'give --out DIR' : 'give --out DIR, or --serve PORT',
    );
  if (every !== undefined && every < LEAST_EVERY_MS) throw usageError('--every takes 1s or more');
  if (metrics !== undefined && every === undefined && serve === undefined)
    throw usageError('--metrics needs --every or --serve', 'a feed that is made once has nothing to count');
}

/** What makes the feed of now. */
async function openMaker(context: Context, options: GbfsOptions, origin: string | undefined) {
  const { version, range, maxAge, disabled = false, system: file, set } = options;
  const organization = await requireOrganization(context, options.organization);
  const system = await readSystem(context, version, { file, set }, origin && `${origin}/`);
  const key = await keptKey(context, 'gbfs.key', 'the vehicle IDs are');
  const read: ReadOptions = {
    organization,
    key,
    rangeMetres: range && Math.round(range),
    maxAgeMs: maxAge,
    withDisabled: disabled,
  };
  const readAround = async () => ({
    atMs: context.clock.monotonicMs(),
    models: await readNamed(context, 'model'),
    ...areasOf(await readNamed(context, 'zone'), organization),
  });
  let around: Awaited<ReturnType<typeof readAround>> | undefined;
  return async (): Promise<Published> => {
    if (around === undefined || context.clock.monotonicMs() - around.atMs > NAMED_MS) around = await readAround();
    const { models, areas, leftOut: zones } = around;
    const { all: vehicles, leftOut, source, asOfMs } = await readVehicles(context, read, models);
    const ttlMs = options.ttl ?? options.every ?? DEFAULT_TTL_MS;
    const feed = { version, system, vehicles, areas, updatedMs: asOfMs, ttlSeconds: Math.ceil(ttlMs / 1000) };
    const files = drawFeed(feed).map(([name, document]) => [name, `${JSON.stringify(document)}\n`] as [string, string]);
    if (zones > 0) leftOut['zones whose rules are not known'] = zones;
    return { vehicles: vehicles.length, leftOut, source, updatedMs: asOfMs, ttlMs, files };
  };
}

async function publish(context: Context, { out }: GbfsOptions, outlet: Outlet, published: Published): Promise<void> {
  const { files, vehicles, leftOut, source, updatedMs, ttlMs } = published;
  const { io, notice } = context;
  if (out !== undefined) await writeFiles(context, out, files);
  outlet.show(published);
  if (io.isJson) {
    const updated = new Date(updatedMs).toISOString();
    const fields = { event: 'published', vehicles, left_out: leftOut, source, updated, ttl_s: ttlMs / 1000 };
    return io.stdout.write(`${escapeJson(JSON.stringify(fields))}\n`);
  }
  const reasons = Object.entries(leftOut).map(([reason, count]) => `${count} ${reason.replaceAll('_', ' ')}`);
  const left = reasons.length === 0 ? '' : `; left out: ${reasons.join(', ')}`;
  await notice(`✓ published ${vehicles} vehicles from the ${source}${left}`);
}

async function writeFiles(context: Context, folder: string, files: Published['files']): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error) => {
    throw new FleetError('output', `${folder} cannot be made: ${reasonOf(error)}`, { cause: error });
  });
  for (const [name, text] of files) {
    const target = await openTarget(context, join(folder, name));
    try {
      await target.write(text);
      await target.end();
    } catch (thrown) {
      await target.discard();
      throw thrown;
    }
  }
}

/** The old feed stays. Throws where there is no next try. */
async function failed(context: Context, options: GbfsOptions, outlet: Outlet, thrown: unknown): Promise<void> {
  context.signal.throwIfAborted();
  const error = asFleetError(thrown);
  const { every, serve, out } = options;
  outlet.fail();
  const before = outlet.shown() ?? (out === undefined ? undefined : await readBefore(out));
  const age = before === undefined ? 'there is none yet' : `the old one stays, ${describeAge(context, before)}`;
  const message = `the feed was not published: ${error.message}; ${age}`;
  if ((every ?? serve) !== undefined && PASSING.includes(error.kind)) {
    const fields = { event: 'failed', kind: error.kind, message };
    if (context.io.isJson) return context.io.stdout.write(`${escapeJson(JSON.stringify(fields))}\n`);
    return context.notice(`! ${message}`);
  }
  if (error.kind === 'internal' || error.kind === 'usage') throw error;
  const { hint, status, trace, detail } = error;
  const kind = before !== undefined && isOld(context.clock, before) ? 'partial' : error.kind;
  throw new FleetError(kind, message, { hint, status, trace, detail, cause: thrown });
}

function describeAge({ clock }: Context, { updatedMs, ttlMs }: Age): string {
  return `${showDuration(clock.wallMs() - updatedMs)} old (ttl ${showDuration(ttlMs)})`;
}

/** What the feed of a folder says of itself; undefined where there is none. */
async function readBefore(folder: string): Promise<Age | undefined> {
  try {
    const document = parseJson(await readFile(join(folder, 'gbfs.json'), 'utf8'));
    const { last_updated: updated, ttl } = isObject(document) ? document : {};
    const updatedMs = typeof updated === 'number' ? updated * 1000 : readTime(updated);
    return updatedMs === undefined ? undefined : { updatedMs, ttlMs: Number(ttl) * 1000 };
  } catch {
    return undefined;
  }
}

/** `--check`: whether the feed of a folder is as young as it says. Throws a FleetError of kind `partial` where not. */
async function checkAge(context: Context, folder: string): Promise<void> {
  const before = await readBefore(folder);
  if (before === undefined) throw new FleetError('partial', `there is no feed in ${folder}`);
  const line = `the feed in ${folder} is ${describeAge(context, before)}`;
  if (isOld(context.clock, before))
    throw new FleetError('partial', line, { hint: 'see what "fleet gbfs" says that publishes it' });
  await context.notice(`✓ ${line}`);
}
