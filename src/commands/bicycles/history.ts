// `fleet bicycles history`: the transitions that the service lists for a bicycle, and the changes
// and gaps that a mirror recorded, sorted by time.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { readTransitions, type Transitioned } from '../../api/history.js';
import { wholeUuid } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import type { Context } from '../../context.js';
import { FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { reasonIn } from '../../http/failure.js';
import { firstPage } from '../../http/first-page.js';
import { ifOffered } from '../../http/optional.js';
import type { Item, Query } from '../../http/types.js';
import { readExact, writeJson } from '../../json/exact.js';
import { isObject, textOrNull } from '../../json/parse.js';
import { type Names, readNames } from '../../list/find-named.js';
import { chosenDatabase, describeAge, openChosen } from '../../list/offline.js';
import { describe, pickOne, shorten } from '../../list/pick-one.js';
import { openResult } from '../../list/result.js';
import type { MirrorAddress } from '../../mirror/address.js';
import type { Row } from '../../mirror/database.js';
import type { Mirror } from '../../mirror/open.js';
import { statIfThere } from '../../settings/trust.js';
import { showLocalTime } from '../../system/time-zone.js';
import { showDuration } from '../../terminal/time.js';
import { readTimeFlag } from '../../terminal/typed-time.js';
import { textOf } from '../../terminal/values.js';
import { type HistoryRow as Entry, HISTORY } from '../../views/history.js';
import { findBicycle } from './find.js';
import type { HistoryOptions } from './flags.js';
import { findRemembered, readSide } from './remembered.js';

const NOTHING = Object.fromEntries(HISTORY.fields.map((field) => [field, null])) as {
  [field in keyof Entry]: null;
};

/**
 * The maximum number of pages of transitions. A page has at least 20 transitions, and no bicycle
 * has 10,000.
 */
const MOST_PAGES = 500;

/** Prints the history of a bicycle from the service and the mirror, oldest first. */
export async function showHistory(
  context: Context,
  text: string,
  options: HistoryOptions,
): Promise<void> {
  const { since: typed, field: fields = [], to } = options;
  const mirror = await openIfThere(context, to);
  context.atEnd(async () => mirror?.close().catch(() => undefined));
  const since =
    typed === undefined
      ? undefined
      : new Date(readTimeFlag('--since', typed, context.now())).toISOString();
  const { uuid, item } = await findOne(context, mirror, text);
  const served =
    fields.length > 0 && !fields.includes('state')
      ? []
      : await readService(context, mirror, uuid, since);
  await context.io.startPager(context.notice);
  const result = await openResult(context, HISTORY);
  let count = 0;
  let isRecorded = served.length === 0;
  const recorded = mirror === undefined ? [] : readEntries(mirror, uuid, since, fields);
  for await (const entries of mergeByTime(recorded, served)) {
    count += entries.filter(({ value }) => value.field !== null).length;
    isRecorded ||= entries.some(({ value }) => value.source !== 'service');
    await result.write(entries);
  }
  const status = await mirror?.status();
  const keptSince = since ?? status?.keptSince;
  const span =
    keptSince === undefined ? '' : ` since ${showLocalTime(Date.parse(keptSince), context.zone)}`;
  // The mirror's age is not printed when all entries come from the service.
  const old = status === undefined || status.isCurrent || !isRecorded ? [] : [describeAge(status)];
  const none =
    count > 0 ? [] : [`No changes of ${describe(uuid, item?.value.name)} are recorded${span}`];
  await result.end([...old, ...none]);
}

/**
 * Opens the mirror of this run if it exists. If a flag or the settings name a mirror, this mirror
 * must exist.
 */
async function openIfThere(
  context: Context,
  to: MirrorAddress | undefined,
): Promise<Mirror | undefined> {
  if (to === undefined && context.flags.mirror === false) return undefined;
  const address = await chosenDatabase(context, to);
  const isNamed = (to ?? (await context.settings()).mirror.value) !== undefined;
  if (!isNamed && address.kind === 'sqlite' && statIfThere(address.path) === undefined)
    return undefined;
  return openChosen(context, address);
}

/**
 * Looks for the bicycle in the mirror, which also contains deleted bicycles. If it is not there,
 * looks for it at the service.
 */
async function findOne(context: Context, mirror: Mirror | undefined, text: string) {
  const matches =
    mirror === undefined ? undefined : await findRemembered(mirror.database, text, undefined, true);
  if (
    matches === undefined ||
    (matches.found.size === 0 && (await context.settings()).baseUrl.value !== undefined)
  )
    return findBicycle(context, text);
  const missing = new FleetError('not-found', `the mirror contains no bicycle "${shorten(text)}"`, {
    hint: 'use a UUID (or at least its first four digits), or part of a name, serial number or bleid',
  });
  return pickOne(text, matches.found, BICYCLE, missing);
}

/**
 * Reads the service's transitions, oldest first. When the service cannot answer, prints a notice
 * and returns no transitions, so that only the mirror's entries are shown. Without a mirror, throws
 * the error.
 */
async function readService(
  context: Context,
  mirror: Mirror | undefined,
  uuid: string,
  since: string | undefined,
): Promise<Item<Entry>[]> {
  try {
    const client = await context.client();
    let refusal: FleetError | undefined;
    const steps = await readTransitions(client, uuid, MOST_PAGES, (failure) => {
      refusal = failure;
    });
    if (steps === undefined) throw await explainMissing(client, uuid, refusal);
    // Observed: the service sends the newest transition first, and several transitions can occur in
    // the same second.
    const isNewestFirst = timeOf(steps[0]?.timestamp) >= timeOf(steps.at(-1)?.timestamp);
    const ordered = (isNewestFirst ? steps.toReversed() : steps).toSorted(
      (a, b) => timeOf(a.timestamp) - timeOf(b.timestamp),
    );
    const people = await namesOf(client, ordered);
    const entries = ordered.map(({ timestamp, from, to, transition, by }, index) => {
      const [at, old] = [timestamp ?? '', from ?? ordered[index - 1]?.to ?? null];
      return entryOf({
        at,
        field: 'state',
        source: 'service',
        old,
        new: to,
        transition,
        by: people(by),
      });
    });
    return entries.filter(
      ({ value: { at } }) => since === undefined || timeOf(at) >= Date.parse(since),
    );
  } catch (thrown) {
    context.signal.throwIfAborted();
    if (mirror === undefined || !(thrown instanceof FleetError)) throw thrown;
    await context.notice(`! only the history in the mirror is shown: ${thrown.message}`);
    return [];
  }
}

/**
 * Returns an error that explains why the service shows no transitions: the user's role, a deleted
 * bicycle, or a service without this list.
 */
async function explainMissing(
  client: Client,
  uuid: string,
  refusal: FleetError | undefined,
): Promise<FleetError> {
  const mirror = 'to record every change from now on, run "fleet mirror run"';
  if (refusal?.status === 401) return refusal;
  if (refusal?.status === 403)
    return refusal.with({
      message: `this token is not allowed to read the history of ${uuid}: ${reasonIn(refusal) ?? refusal.message}`,
      hint: `the history needs another role; run "fleet auth status" to see your role; ${mirror}`,
    });
  const isDeleted =
    refusal?.status === 410 || (refusal?.status === 404 && (await isGone(client, uuid, refusal)));
  if (isDeleted)
    return new FleetError('not-found', `the bicycle ${uuid} was deleted, or you have no access`, {
      status: refusal?.status,
      trace: refusal?.trace,
      hint: 'a mirror keeps deleted bicycles; to start a mirror, run: fleet mirror run',
    });
  return new FleetError('not-found', `this service lists no transitions of ${uuid}`, {
    hint: mirror,
  });
}

/**
 * Whether the bicycle is found neither at its URL nor in the filtered list. If the service ignores
 * the filter and returns other bicycles, the result is false, because the bicycle may still exist.
 */
async function isGone(client: Client, uuid: string, { message }: FleetError): Promise<boolean> {
  // Observed: for an unknown path, the service returns only "Not found.".
  if (/No Bicycle matches the given query/i.test(message)) return true;
  const found = await ifOffered(client.send({ path: BICYCLE.path(uuid), subject: 'the bicycle' }));
  if (found !== undefined) return false;
  const query: Query = [
    ['uuid', uuid],
    ['page_size', '1'],
  ];
  const list = await firstPage<Bicycle>(client, { path: BICYCLE.listPath, query });
  return list.items.length === 0;
}

/**
 * Returns a function that looks up an author's name. The name is in the entry itself or in the
 * service's list of users.
 */
async function namesOf(
  client: Client,
  steps: readonly Transitioned[],
): Promise<(by: unknown) => string | null> {
  const uuidIn = (by: unknown) => (typeof by === 'string' ? wholeUuid(by) : undefined);
  const uuids = steps.flatMap(({ by }) => uuidIn(by) ?? []);
  const isEnough = (names: Names) => uuids.every((uuid) => names.has(uuid));
  const names = uuids.length === 0 ? undefined : await readNames(client, NAMED.user, isEnough);
  return (by) => {
    if (isObject(by))
      return textOrNull(
        NAMED.user.nameFields.map((field) => by[field]).find(Boolean) ?? by['name'],
      );
    const uuid = uuidIn(by) ?? '';
    return names?.get(uuid)?.[0] ?? (uuid || (textOf(by) ?? null));
  };
}

function timeOf(text: string | null | undefined): number {
  return Date.parse(text ?? '') || 0;
}

/**
 * Merges both sources by time. The mirror's entries are streamed, so that they are never all in
 * memory at once.
 */
async function* mergeByTime(
  recorded: AsyncIterable<Item<Entry>[]> | Iterable<Item<Entry>[]>,
  served: readonly Item<Entry>[],
): AsyncGenerator<Item<Entry>[], void, undefined> {
  const left = [...served];
  for await (const entries of recorded)
    yield entries.flatMap((entry) => {
      const later = left.findIndex(({ value }) => timeOf(value.at) > timeOf(entry.value.at));
      return [...left.splice(0, later === -1 ? left.length : later), entry];
    });
  yield left;
}

/** Yields the recorded changes and the gaps between them, in chronological order. */
async function* readEntries(
  { database }: Mirror,
  uuid: string,
  since: string | undefined,
  fields: readonly string[],
) {
  const isField = fields.length === 0 ? '' : ` AND field IN (${fields.map(() => '?').join(', ')})`;
  const [isRecent, isLate] =
    since === undefined ? ['', ''] : [' AND at >= ?', ' AND (ended IS NULL OR ended >= ?)'];
  const recent = since === undefined ? [] : [since];
  const sql = `SELECT at, id, field, old, new, source, version, NULL AS ended FROM changes WHERE bicycle = ?${isField}${isRecent}
    UNION ALL SELECT started, 0, NULL, NULL, NULL, reason, NULL, ended FROM gaps
      WHERE coalesce(organization = (SELECT followed FROM bicycles WHERE uuid = ?), true)${isLate} ORDER BY at, id`;
  for await (const rows of database.each(sql, [uuid, ...fields, ...recent, uuid, ...recent]))
    yield rows.map((row) => (row['field'] === null ? gapOf(row) : changeOf(row)));
}

/** Formats a gap in the recording. The column `source` contains the reason for the gap. */
function gapOf({ at, ended, source }: Row): Item<Entry> {
  const length =
    ended === null
      ? 'still open'
      : showDuration(Date.parse(String(ended)) - Date.parse(String(at)));
  return entryOf({ at: String(at), note: `gap, ${length}: ${source}` });
}

function changeOf({ at, field, old, new: sent, source, version }: Row): Item<Entry> {
  const now = readSide(sent);
  const note =
    field === '*'
      ? 'first seen'
      : field !== 'gone'
        ? null
        : now === null
          ? 'came back'
          : 'left the list';
  const known = {
    at: String(at),
    field: String(field),
    old: readSide(old),
    new: now,
    source: String(source),
    note,
  };
  return entryOf({ ...known, version: version === null ? null : readExact(String(version)) });
}

function entryOf(known: Partial<Entry> & Pick<Entry, 'at'>): Item<Entry> {
  const value = { ...NOTHING, ...known };
  return { json: writeJson(value), value };
}
