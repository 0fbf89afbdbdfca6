// `fleet bicycles get`: shows all fields of one bicycle. On a terminal, it also shows the newest
// alerts.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { readOne } from '../../api/read-one.js';
import type { Context } from '../../context.js';
import { asFleetError, FleetError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import type { HttpAnswer, Item } from '../../http/types.js';
import { exactValue } from '../../json/exact.js';
import { parseJson } from '../../json/parse.js';
import { squeeze } from '../../json/text.js';
import { mirrorOf, withCurrentMirror } from '../../list/current-mirror.js';
import { chosenOrganization } from '../../list/organization.js';
import { isScreen, writeResult } from '../../list/output-file.js';
import { printRows } from '../../list/result.js';
import type { Mirror } from '../../mirror/open.js';
import { clean } from '../../terminal/clean.js';
import { loadPaint, type Paint, paintIn } from '../../terminal/colour.js';
import type { Shape } from '../../terminal/formats.js';
import { drawList } from '../../terminal/list.js';
import { forScreen } from '../../terminal/marks.js';
import { MISSING, textOf } from '../../terminal/values.js';
import { BICYCLES, lookOf } from '../../views/bicycle.js';
import type { CardChange } from '../../views/card.js';
import { MEASUREMENTS } from '../../views/watch.js';
import { isOpenAlert, readNewestAlerts } from './alerts.js';
import { findBicycle, lookUp } from './find.js';
import { readSide } from './remembered.js';

/** How many alerts and changes the card shows. */
const ALERTS_SHOWN = 5;
const CHANGES_SHOWN = 5;

/** How a single bicycle is printed. */
const ONE_BICYCLE: Shape<Bicycle> = { ...BICYCLES, single: true };

/**
 * Shows one bicycle. `text` is the bicycle's UUID, name, serial number or bleid, or a part of one
 * of these.
 */
export async function getBicycle(context: Context, text: string): Promise<void> {
  const client = await context.client();
  const { uuid } = await findBicycle(context, text);
  const item = await fetchBicycle(context, client, uuid);
  const { io, flags } = context;
  const format = (await context.settings()).output.value;
  await io.startPager(context.notice);
  if (format !== 'table' || flags.jq !== undefined || flags.columns !== undefined) {
    return printRows(context, ONE_BICYCLE, [item]);
  }
  if (!isScreen(context)) {
    const paint = await loadPaint(flags.file === undefined ? io.stdout.colorLevel : 0);
    return writeResult(context, drawFields(item, paint));
  }
  const { drawCard } = await import('../../views/card.js');
  const newest = await readNewestAlerts(context, uuid);
  const changes = await readLastChanges(context, client, uuid);
  const content = {
    openAlerts: newest && {
      count: newest.alerts.filter(isOpenAlert).length,
      isWhole: newest.isWhole,
    },
    alerts: newest?.alerts.slice(0, ALERTS_SHOWN).map(({ value }) => value),
    changes,
  };
  const card = drawCard(item.value, content, {
    width: io.stdout.width() ?? 80,
    paint: await loadPaint(io.stdout.colorLevel),
    now: context.clock.wallMs(),
    zone: context.zone,
    isWhole: flags.wide === true || flags.truncate === false,
  });
  await io.stdout.write(forScreen(card, io.stdout));
}

/** The fields that a pipe prints first, in this order. */
const FIRST_FIELDS: readonly string[] = [
  'state',
  'state_of_charge',
  'latest_gps_timestamp',
  'latitude',
  'longitude',
  'lock',
];

/**
 * Returns one line for each field, with the whole value. A pipe gets this output. It has colours
 * only when FORCE_COLOR is set.
 */
function drawFields(item: Item<Bicycle>, paint: Paint): string {
  const sent = Object.entries(exactValue(item));
  const isFirst = ([field]: [string, unknown]) => FIRST_FIELDS.includes(field);
  const first = sent
    .filter(isFirst)
    .toSorted(([one], [other]) => FIRST_FIELDS.indexOf(one) - FIRST_FIELDS.indexOf(other));
  const ordered = [...first, ...sent.filter((field) => !isFirst(field))];
  const fields = ordered.map(([field, value]) => [field, textOf(value) ?? MISSING] as const);
  const lines = drawList(fields).split('\n');
  return lines
    .map((line, index) => {
      const [field = '', value = ''] = fields[index] ?? [];
      if (field !== 'state') return line;
      const start = line.length - clean(value).trimEnd().length;
      return line.slice(0, start) + paintIn(paint, lookOf(value).color, line.slice(start));
    })
    .join('\n');
}

/**
 * Reads one bicycle at its own URL. When the service does not have this URL (404 or 405), reads it
 * from the list. Throws a FleetError of kind `not-found` when neither the URL nor the list shows
 * the bicycle.
 */
export async function fetchBicycle(
  context: Context,
  client: Client,
  uuid: string,
): Promise<Item<Bicycle>> {
  try {
    return await readOne<Bicycle>(client, BICYCLE, uuid);
  } catch (thrown) {
    const { status, detail } = asFleetError(thrown);
    if (status !== 405 && status !== 404) throw thrown;
    // Observed: a service that supports this URL answers for a missing object with JSON that names
    // the object. A service without this URL answers with an HTML page.
    if (status === 404 && JSON.stringify(detail ?? '').includes('No Bicycle matches')) throw thrown;
  }
  const found = (await lookUp(client, uuid, await chosenOrganization(context))).found.get(uuid);
  if (found !== undefined) return found;
  throw new FleetError('not-found', `no bicycle ${uuid} was found, or you have no access`, {
    hint: 'to search all bicycles, run: fleet bicycles list --all --where uuid=…',
  });
}

/**
 * Prints the bicycle in the answer to a change. The interface does not describe this answer.
 * Assumed: it contains the bicycle.
 */
export async function printAnswer(
  context: Context,
  { text }: HttpAnswer,
  done: 'created' | 'edited',
): Promise<void> {
  const json = squeeze(text.trim());
  if (json === '')
    await context.notice(`the bicycle was ${done}; the service sent no description of it`);
  await printRows(
    context,
    ONE_BICYCLE,
    json === '' ? [] : [{ json, value: parseJson(json) as Bicycle }],
  );
}

/**
 * Reads the last changes from the mirror of `--offline`, or from a current mirror. Omits position
 * and charge changes.
 */
async function readLastChanges(
  context: Context,
  client: Client,
  uuid: string,
): Promise<CardChange[]> {
  const left = [...MEASUREMENTS, 'state_of_charge', '*', 'gone'];
  const sql = `SELECT at, field, old, new FROM changes WHERE bicycle = ? AND field NOT IN (${left.map(() => '?').join(', ')}) ORDER BY id DESC LIMIT ?`;
  const read = async ({ database }: Mirror): Promise<CardChange[]> => {
    const rows = await database.all(sql, [uuid, ...left, CHANGES_SHOWN]);
    return rows.map(({ at, field, old, new: now }) => ({
      ...{ at: String(at), field: String(field) },
      ...{ old: readSide(old), new: readSide(now) },
    }));
  };
  const offline = mirrorOf(client);
  return (
    (offline === undefined ? await withCurrentMirror(context, read) : await read(offline)) ?? []
  );
}
