// `fleet bicycles stats`: counts the fleet, or what the filters of a list leave, by state, charge, silence, alerts or any field.

import { ALERTS_PATH, type Alert } from '../../api/alert.js';
import { BICYCLE_FIELDS, type Bicycle } from '../../api/bicycle.js';
import { uuidOfLink } from '../../api/links.js';
import { unknownWord } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { asFleetError } from '../../errors.js';
import type { HttpRequest } from '../../http/types.js';
import { loadPaint } from '../../terminal/colour.js';
import { fieldsOf } from '../../terminal/formats/columns.js';
import { forScreen } from '../../terminal/marks.js';
import { readTime } from '../../terminal/time.js';
import { numberOf, readPath, textOf } from '../../terminal/values.js';
import { drawStats, STATS, type StatsRow } from '../../views/stats.js';
import { type ListPlan, printList } from '../list/list.js';
import { openResult } from '../list/result.js';
import { chosenOrganization } from '../organization.js';
import { STATS_GROUPS } from './choices.js';
import { type ListBicyclesOptions, planBicycles } from './list.js';

export interface StatsOptions extends Omit<ListBicyclesOptions, 'page' | 'limit' | 'all' | 'count' | 'ordering'> {
  /** `state`, `charge`, `silence`, `model`, `organization` or a field; states, charge, silence and alerts when absent. */
  by?: string;
}

/** How many have each value. */
type Counts = Map<string, number>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NONE = '(none)';

/** Since when nothing was heard of a bicycle, the shortest first. */
const SILENCES = [
  ['within an hour', HOUR_MS],
  ['within a day', DAY_MS],
  ['within a week', 7 * DAY_MS],
  ['longer ago', Number.POSITIVE_INFINITY],
] as const;
const NEVER = 'never';

/** The value of a bicycle in each group that has a name of its own; any other name is a field. */
const GROUPS: { readonly [group: string]: (bicycle: Bicycle, now: number) => string } = {
  state: ({ state }) => nameOf(state),
  charge: ({ state_of_charge }) => tenOf(numberOf(state_of_charge)),
  silence: ({ latest_gps_timestamp }, now) => silenceOf(latest_gps_timestamp, now),
  model: (bicycle) => nameOf(bicycle['bicycle_model_name'] ?? uuidIn(bicycle.model)),
  organization: (bicycle) => nameOf(uuidIn(bicycle['organization'])),
};

const DEFAULT_GROUPS = ['state', 'charge', 'silence'] as const;

/** Groups whose values have an order of their own; the others are ordered by count. */
const ORDERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['charge', [...Array.from({ length: 10 }, (_, ten) => tenOf(ten * 10)), NONE]],
  ['silence', [...SILENCES.map(([name]) => name), NEVER]],
]);

/** Counts and prints. Throws what a list throws: a count of a list that stayed short ends with `partial`. */
export async function showStats(context: Context, { by, ...filters }: StatsOptions): Promise<void> {
  const groups = by === undefined ? DEFAULT_GROUPS : [by];
  const counts = new Map<string, Counts>(groups.map((group) => [group, new Map()]));
  const seen = new Set<string>();
  const now = context.clock.wallMs();
  const fields = new Set<string>(BICYCLE_FIELDS);
  const plan: ListPlan<Bicycle> = {
    ...(await planBicycles(context, filters)),
    onlyReads: (bicycles) => {
      for (const { value } of bicycles) {
        if (typeof value.uuid === 'string') seen.add(value.uuid.toLowerCase());
        for (const [group, values] of counts) add(values, valueIn(group, value, now));
      }
      for (const field of fieldsOf(bicycles.map(({ value }) => value))) fields.add(field);
    },
  };
  let incomplete: unknown;
  await printList(context, plan, { ...filters, all: true }).catch((thrown) => {
    if (asFleetError(thrown).kind !== 'partial') throw thrown;
    incomplete = thrown;
  });
  checkGroup(by, fields);
  const rows = [...counts].flatMap(([group, values]) => rowsOf(group, values));
  if (by === undefined) rows.push(...(await countAlerts(context, filters.organization, seen)));
  await print(context, rows, sum(counts.get(groups[0] ?? '')));
  if (incomplete !== undefined) throw incomplete;
}

/** Refuses a group that is neither one of ours nor a field of any bicycle: it would count everything as `(none)`. */
function checkGroup(by: string | undefined, fields: ReadonlySet<string>): void {
  if (by === undefined || Object.hasOwn(GROUPS, by) || fields.has(by)) return;
  const [first = by] = by.split('.', 1);
  if (!fields.has(first)) throw unknownWord('field', by, [...new Set([...STATS_GROUPS, ...fields])]);
}

function valueIn(group: string, bicycle: Bicycle, now: number): string {
  const find = Object.hasOwn(GROUPS, group) ? GROUPS[group] : undefined;
  return find === undefined ? nameOf(readPath(bicycle, group)) : find(bicycle, now);
}

/** A name longer than this is cut, and counts with those that begin alike. */
const LONGEST_NAME_CHARACTERS = 200;

function nameOf(value: unknown): string {
  const text = textOf(value);
  return text === undefined || text === '' ? NONE : text.slice(0, LONGEST_NAME_CHARACTERS);
}

function uuidIn(link: unknown): unknown {
  return typeof link === 'string' ? (uuidOfLink(link) ?? link) : link;
}

/** `50-59` for 57; the last ten ends at 100. */
function tenOf(percent: number | undefined): string {
  if (percent === undefined) return NONE;
  const start = Math.min(90, Math.max(0, Math.floor(percent / 10) * 10));
  return start === 90 ? '90-100' : `${start}-${start + 9}`;
}

function silenceOf(time: unknown, now: number): string {
  const seenAt = readTime(time);
  if (seenAt === undefined) return NEVER;
  return SILENCES.find(([, longest]) => now - seenAt <= longest)?.[0] ?? NEVER;
}

function add(counts: Counts, value: string): void {
  counts.set(value, (counts.get(value) ?? 0) + 1);
}

function sum(counts: Counts = new Map()): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

function rowsOf(group: string, counts: Counts): StatsRow[] {
  const total = sum(counts);
  const order =
    ORDERS.get(group) ?? [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([value]) => value);
  return order.flatMap((value) => {
    const count = counts.get(value) ?? 0;
    // A ten without bicycles belongs to the picture; a value that nobody has does not.
    if (count === 0 && (value === NONE || value === NEVER)) return [];
    return [{ group, value, count, percent: total === 0 ? 0 : Math.round((count / total) * 1000) / 10 }];
  });
}

/** Alerts that are new or escalated, by type, of the bicycles that were counted; none, after a notice, when they cannot be read. */
async function countAlerts(
  context: Context,
  asked: string | undefined,
  bicycles: ReadonlySet<string>,
): Promise<StatsRow[]> {
  const organization = await chosenOrganization(context, asked);
  const request: HttpRequest = {
    path: ALERTS_PATH,
    query: [
      ...(organization === undefined ? [] : [['organization', organization] as const]),
      ['state', 'new'],
      ['state', 'escalated'],
    ],
    subject: 'the list of alerts',
  };
  const counts: Counts = new Map();
  try {
    for await (const { fresh } of (await context.client()).pages<Alert>(request, { seen: new Set() })) {
      for (const { value } of fresh)
        if (isOpen(value) && isAbout(value, bicycles)) add(counts, nameOf(value.alert_type));
    }
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    await context.notice(`! alerts are left out: ${asFleetError(thrown).message}`);
    return [];
  }
  return rowsOf('open alerts', counts);
}

function isOpen({ state }: Alert): boolean {
  return state === 'new' || state === 'escalated';
}

function isAbout({ bicycle }: Alert, bicycles: ReadonlySet<string>): boolean {
  return typeof bicycle === 'string' && bicycles.has((uuidOfLink(bicycle) ?? bicycle).toLowerCase());
}

async function print(context: Context, rows: readonly StatsRow[], total: number): Promise<void> {
  const { io, flags } = context;
  const format = (await context.settings()).output.value;
  if (format !== 'table' || flags.jq !== undefined || flags.columns !== undefined || !io.stdout.isTerminal) {
    const result = await openResult<StatsRow>(context, STATS);
    await result.write(rows.map((row) => ({ json: JSON.stringify(row), value: row })));
    return result.end();
  }
  const paint = await loadPaint(io.stdout.colorLevel);
  const isWhole = flags.wide === true || flags.truncate === false;
  const drawn = drawStats(rows, { width: io.stdout.width() ?? 80, paint, total, isWhole });
  await io.stdout.write(forScreen(drawn, io.stdout));
}
