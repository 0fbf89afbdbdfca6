// `fleet gbfs`: builds the feed once or repeatedly, and publishes it.

import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import type { Context } from '../../context.js';
import { asFleetError, type ErrorKind, FleetError, reasonOf, usageError } from '../../errors.js';
import { chooseLines } from '../../follow/print.js';
import { keptKey } from '../../follow/random-key.js';
import { beginFollowing } from '../../follow/token-command-retry.js';
import { requireOrganization } from '../../list/organization.js';
import { writeWhole } from '../../list/output-file.js';
import { sleep } from '../../system/clock.js';
import { makeFolder } from '../../system/folder.js';
import { escapeJson } from '../../terminal/clean.js';
import { type Age, checkAge, describeFeedAge, isOld, readAge } from './age.js';
import { areasOf, drawFeed } from './feed.js';
import type { GbfsOptions } from './flags.js';
import { rangesOf, readNamedRows, readVehicles } from './read.js';
import { type Published, serveFeed } from './serve.js';
import { readSystem } from './system.js';
import type { System } from './system-fields.js';

const DEFAULT_TTL_MS = 60_000;
/**
 * How long models and zones are cached. They rarely change, and services limit the number of
 * requests.
 */
const NAMED_MS = 600_000;
/**
 * Kinds of failures that a retry may fix. This list applies until the first feed has been
 * published. After that, every failure is retried, because a gateway may temporarily refuse a valid
 * request.
 */
const PASSING: readonly ErrorKind[] = ['network', 'service', 'partial'];

/**
 * Publishes the feed. Throws the error that ended the command. If the published feed is older than
 * its ttl, the error is of kind `partial`.
 */
export async function publishGbfs(context: Context, options: GbfsOptions): Promise<void> {
  const { out, every, serve, check } = options;
  const isLasting = (every ?? serve) !== undefined;
  await chooseLines(context, 'gbfs');
  const problems = checkFlags(context, options);
  if (check === true) return checkAge(context, out ?? '');
  // `readSystem` is called first, because it also reports missing fields. These errors then appear
  // before the first request and before the server starts.
  const system = await readSystem(context, options, problems);
  const patient = isLasting ? await beginFollowing(context) : context;
  const server = serve === undefined ? undefined : await serveFeed(context, serve);
  if (server !== undefined)
    await tell(context, { event: 'serving', url: `${server.origin}/gbfs.json` });
  let make: (() => Promise<Published>) | undefined;
  let last: Published | undefined;
  for (;;) {
    const startMs = context.clock.monotonicMs();
    try {
      make ??= await openMaker(patient, options, { feed_url: server?.origin ?? '', ...system });
      const published = await make();
      if (out !== undefined) await writeFiles(context, out, published.files);
      server?.show(published);
      last = published;
      await tellPublished(context, published);
    } catch (thrown) {
      const error = await describeFailure(context, thrown, last ?? (await readAge(context, out)));
      const isPassing =
        last === undefined ? PASSING.includes(error.kind) : error.kind !== 'internal';
      if (!isLasting || !isPassing) throw error;
      await tell(context, { event: 'failed', kind: error.kind, message: error.message });
    }
    if (!isLasting) return;
    const spentMs = context.clock.monotonicMs() - startMs;
    await sleep(context.clock, Math.max(0, (every ?? DEFAULT_TTL_MS) - spentMs), context.signal);
  }
}

/**
 * The smallest accepted range. If the user types a smaller number, it was probably meant in
 * kilometres.
 */
const LEAST_RANGE_METRES = 1000;

/** Returns a problem for each missing flag. Throws for invalid flags. */
function checkFlags(
  { flags: { jq } }: Context,
  { out, serve, check, range }: GbfsOptions,
): string[] {
  if (check === true && out === undefined)
    throw usageError('--check needs the folder of the feed', 'pass --out DIR');
  if (jq !== undefined)
    throw usageError(
      'gbfs does not support --jq',
      'pipe the JSON output to jq: fleet gbfs --json … | jq …',
    );
  if (range !== undefined && range < LEAST_RANGE_METRES)
    throw usageError(
      `--range ${range} is ${range} metres`,
      'to use kilometres, add the unit, such as 60km',
    );
  return out === undefined && serve === undefined
    ? ['the feed needs a destination: pass --out DIR, or --serve PORT']
    : [];
}

/** Returns a function that builds the current feed. */
async function openMaker(context: Context, options: GbfsOptions, system: System) {
  const { version, range, maxAge, disabled: withDisabled = false } = options;
  const { clock } = context;
  const organization = await requireOrganization(context, options.organization);
  const key = await keptKey(context, 'gbfs.key', 'the vehicle IDs');
  const rangeMetres = range && Math.round(range);
  // The range of a model is never removed, because a reader may still have an older feed that
  // refers to it.
  const ranges = new Set([rangeMetres]);
  const readAround = async () => ({
    atMs: clock.monotonicMs(),
    models: rangesOf(await readNamedRows(context, 'model')),
    ...areasOf(await readNamedRows(context, 'zone'), organization),
  });
  let around: Awaited<ReturnType<typeof readAround>> | undefined;
  return async (): Promise<Published> => {
    if (around === undefined || clock.monotonicMs() - around.atMs > NAMED_MS)
      around = await readAround();
    for (const metres of around.models.values()) ranges.add(metres);
    const { models, areas, leftOut: zones } = around;
    const startMs = clock.monotonicMs();
    const rangeOf = ({ model }: Bicycle) =>
      models.get(wholeUuid(String(model ?? '')) ?? '') ?? rangeMetres;
    const selection = {
      organization,
      nowMs: clock.wallMs(),
      maxAgeMs: maxAge,
      withDisabled,
      rangeOf,
    };
    const { all, ...read } = await readVehicles(context, selection, key);
    // The ttl tells clients when to fetch the feed again. Without --ttl, it is at least
    // the time that this build took, because fleet cannot publish the next feed sooner.
    const ttlMs =
      options.ttl ?? Math.max(options.every ?? DEFAULT_TTL_MS, clock.monotonicMs() - startMs);
    if (zones > 0) read.leftOut['zones whose rules are not known'] = zones;
    const facts = { version, system, areas, ttlMs, updatedMs: read.updatedMs };
    const documents = drawFeed({ ...facts, vehicles: [...all], ranges: [...ranges] });
    const files = documents.map(
      ([name, document]) => [name, `${JSON.stringify(document)}\n`] as const,
    );
    return { ...read, vehicles: all.size, ttlMs, files };
  };
}

async function writeFiles(
  context: Context,
  folder: string,
  files: Published['files'],
): Promise<void> {
  await makeFolder(folder).catch((error) => {
    throw new FleetError('output', `${folder} cannot be created: ${reasonOf(error)}`, {
      cause: error,
    });
  });
  for (const [name, text] of files) await writeWhole(context, join(folder, name), text);
  const isOver = (name: string) => FILE.test(name) && files.every(([own]) => own !== name);
  for (const name of (await readdir(folder)).filter(isOver))
    await rm(join(folder, name), { force: true });
}

/** Matches the names of feed files, and of drafts that a killed process left behind. */
const FILE =
  /^(?:gbfs|system_information|vehicle_types|vehicle_status|free_bike_status|geofencing_zones)\.json(?:\.[\w-]+\.draft)?$/;

/**
 * Returns the error for a failure that leaves the old feed in place. The message contains the old
 * feed's age. The error is of kind `partial` when the old feed is older than its ttl.
 */
async function describeFailure(
  context: Context,
  thrown: unknown,
  before: Age | undefined,
): Promise<FleetError> {
  context.signal.throwIfAborted();
  const error = asFleetError(thrown);
  // Other errors, such as a closed output, are thrown unchanged, because they are not feed errors.
  if (error.kind === 'internal' || error.kind === 'usage') throw thrown;
  const age =
    before === undefined
      ? 'there is none yet'
      : `the old one stays, ${describeFeedAge(context, before)}`;
  const message = `the feed was not published: ${error.message.replace(/\.$/, '')}; ${age}`;
  const kind = before !== undefined && isOld(context, before) ? 'partial' : error.kind;
  return error.with({ kind, message });
}

/**
 * Prints a message. Programs get a JSON line on stdout. People get the URL on stdout, and all other
 * messages on stderr.
 */
async function tell(
  { io, notice }: Context,
  fields: { event: string; url?: string; [field: string]: unknown },
) {
  const { url, message } = fields;
  if (io.isJson || url !== undefined)
    return io.stdout.write(`${io.isJson ? escapeJson(JSON.stringify(fields)) : url}\n`);
  return notice(String(message));
}

function tellPublished(context: Context, published: Published): Promise<void> {
  const { vehicles, leftOut, source, updatedMs, ttlMs } = published;
  const counts = Object.entries(leftOut).sort();
  const reasons = counts.map(([reason, count]) => `${count} ${reason.replaceAll('_', ' ')}`);
  const left = reasons.length === 0 ? '' : `; left out: ${reasons.join(', ')}`;
  const message = `✓ published ${vehicles} vehicles from the ${source}${left}`;
  if (!context.io.isJson) return context.notice(message);
  const updated = new Date(updatedMs).toISOString();
  const left_out = Object.fromEntries(
    counts.map(([reason, count]) => [reason.replace(/[^a-z]+/g, '_'), count]),
  );
  return tell(context, {
    event: 'published',
    vehicles,
    left_out,
    source,
    updated,
    ttl_s: ttlMs / 1000,
  });
}
