// The mirror as a client of the service: the same requests for lists, answered from the database; whatever else needs the service.

import { ALERT } from '../api/alert.js';
import { BICYCLE, BICYCLE_FIELDS } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import { FleetError, usageError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { ListPage } from '../http/pages.js';
import { openSeen, type Seen } from '../http/seen.js';
import type { HttpAnswer, HttpRequest, Item, Query } from '../http/types.js';
import { parseJson } from '../json/parse.js';
import type { Database, Row, Value } from './database.js';
import { DIALECTS, likeText } from './dialect.js';
import type { Mirror } from './open.js';
import { orderColumn } from './rows.js';

/** Pages as the service has them, where a list is not read whole. */
const PAGE_ITEMS = 20;
const MOST_PAGE_ITEMS = 100;

/** What a list asks of the database. */
interface Selection {
  /** The table, and what it is narrowed to. */
  readonly source: string;
  readonly values: readonly Value[];
  readonly order: string;
  readonly page: number;
  readonly pageItems: number;
}

/** A client that says what is behind it. */
export interface MirrorClient extends Client {
  readonly mirror: Mirror;
}

/** Throws a FleetError of kind `usage` for a request that the mirror cannot answer. */
export function openMirrorClient(mirror: Mirror): MirrorClient {
  const { database, baseUrl } = mirror;
  return {
    mirror,
    baseUrl: new URL(baseUrl ?? 'http://localhost/'),
    send: (request) => sendOne(database, request),
    probe: async (request) => {
      throw needsService(request);
    },
    preview: (request) => {
      throw needsService(request);
    },
    pages<T>(request: HttpRequest, options: Parameters<Client['pages']>[1] = {}) {
      const selection = selectionOf(mirror, request);
      const seen = options.seen ?? openSeen();
      if (options.ahead === 0) return readPage<T>(database, selection, seen);
      const { limit = Number.POSITIVE_INFINITY } = options;
      return readWhole<T>(database, selection, Number.isFinite(limit) ? limit : undefined);
    },
  };
}

function needsService({ subject, path }: HttpRequest): FleetError {
  return usageError(`${subject ?? path} needs the service, and --offline asks the mirror alone`, 'leave --offline out');
}

/** One bicycle at its own address. */
async function sendOne(database: Database, request: HttpRequest): Promise<HttpAnswer> {
  const uuid = wholeUuid(request.path.split('/').at(-2) ?? '');
  if ((request.method ?? 'GET') !== 'GET' || uuid === undefined || request.path !== BICYCLE.path(uuid))
    throw needsService(request);
  const [row] = await database.all('SELECT raw, gone FROM bicycles WHERE uuid = ?', [uuid]);
  if (row === undefined || row['gone'] !== null) {
    const gone = row === undefined ? '' : `: it left the list at ${row['gone']}`;
    throw new FleetError('not-found', `no bicycle ${uuid} in the mirror${gone}`, {
      hint: row === undefined ? undefined : `see its history: fleet bicycles history ${uuid}`,
    });
  }
  const text = String(row['raw']);
  return { status: 200, headers: {}, text, bytes: Buffer.from(text), trace: {}, milliseconds: 0 };
}

/** A list that the mirror answers. */
interface List {
  readonly table: string;
  readonly always: readonly string[];
  /** The column of the organization whose list it is. */
  readonly organization: string;
  /** Parameters of which one value has to be the column's. */
  readonly among: { readonly [parameter: string]: string };
  /** Further parameters that are taken. */
  readonly others: readonly string[];
  /** What it can be ordered by. */
  readonly fields: readonly string[];
}

/** Observed: in which fields a text is looked for. */
const SEARCHED = { query: ['name', 'serial_number', 'bleid'], name: ['name'] };

const LISTS: { readonly [path: string]: List } = {
  [BICYCLE.listPath]: {
    table: 'bicycles',
    always: ['gone IS NULL'],
    organization: 'followed',
    among: { state: 'state' },
    others: ['bbox', ...Object.keys(SEARCHED), 'uuid'],
    fields: [...new Set(['uuid', 'created', 'modified', 'organization', ...BICYCLE_FIELDS])],
  },
  [ALERT.listPath]: {
    table: 'alerts',
    always: [],
    organization: 'organization_uuid',
    among: { state: 'state', alert_type: 'alert_type', bicycle: 'bicycle_uuid' },
    others: [],
    fields: ['uuid', 'created', 'modified', 'organization', 'alert_type', 'message', 'state', 'url'],
  },
};

function selectionOf({ database, organizations: held }: Mirror, request: HttpRequest): Selection {
  const { path, query = [] } = request;
  const list = Object.hasOwn(LISTS, path) ? LISTS[path] : undefined;
  if (list === undefined) throw needsService(request);
  const filters = groupQuery(query, ['organization', ...Object.keys(list.among), ...list.others]);
  const conditions = [...list.always];
  const values: Value[] = [];
  const add = (condition: string, ...more: readonly Value[]) => {
    conditions.push(condition);
    values.push(...more);
  };
  for (const organization of filters.get('organization') ?? []) {
    if (!held.includes(organization)) {
      const hint = held.length === 0 ? undefined : `it holds ${held.join(', ')}`;
      throw usageError(`the mirror does not hold organization ${organization}`, hint);
    }
    // A mirror of that organization alone needs no condition, which would read every row.
    if (held.length > 1) add(`${list.organization} = ?`, organization);
  }
  for (const [parameter, column] of Object.entries(list.among)) {
    const wanted = filters.get(parameter);
    if (wanted !== undefined) add(`${column} IN (${wanted.map(() => '?').join(', ')})`, ...wanted);
  }
  const [box] = filters.get('bbox') ?? [];
  if (box !== undefined) {
    const [east = 0, north = 0, west = 0, south = 0] = box.split(',').map(Number);
    add('latitude BETWEEN ? AND ?', south, north);
    add('longitude BETWEEN ? AND ?', west, east);
  }
  for (const [parameter, columns] of Object.entries(SEARCHED)) {
    const [text] = filters.get(parameter) ?? [];
    // SQLite folds the letters of ASCII alone: of others the choice is left to the caller.
    if (text === undefined || /[^\x20-\x7e]/.test(text)) continue;
    const either = columns.map((column) => `lower(${column}) LIKE ? ESCAPE '\\'`);
    const pattern = `%${likeText(text)}%`;
    // An index holds these fields alone: whole rows are many times as much to read.
    add(`uuid IN (SELECT uuid FROM bicycles WHERE ${either.join(' OR ')})`, ...columns.map(() => pattern));
  }
  const source = conditions.length === 0 ? list.table : `${list.table} WHERE ${conditions.join(' AND ')}`;
  return { source, values, ...place(database, query, list.fields) };
}

/** The parameters by name. Throws for one that only the service can apply. */
function groupQuery(query: Query, known: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const filters = new Map<string, string[]>();
  for (const [name, value] of query) {
    if (['page', 'page_size', 'ordering'].includes(name)) continue;
    if (!known.includes(name)) {
      throw usageError(
        `--offline cannot filter by "${name}", which only the service can`,
        'leave it out, use --where, or ask the service without --offline',
      );
    }
    filters.set(name, [...(filters.get(name) ?? []), value]);
  }
  return filters;
}

/** The order, "what has no value last either way", and which page. Observed: the newest first unless the request says otherwise. */
function place(database: Database, query: Query, fields: readonly string[]) {
  const one = (name: string) => query.find(([found]) => found === name)?.[1];
  const orders = (one('ordering') ?? '-created').split(',').map((field) => {
    const name = field.replace(/^-/, '');
    if (!fields.includes(name))
      throw usageError(`--offline cannot order by "${name}"`, `it orders by ${fields.join(', ')}`);
    return `${orderColumn(name)} ${field.startsWith('-') ? 'DESC' : 'ASC'} NULLS LAST`;
  });
  const isByUuid = orders.some((order) => order.startsWith('uuid '));
  // Text in the order of its bytes, as SQLite has it.
  const { bytes } = DIALECTS[database.kind];
  const textual = (order: string) =>
    /_utc |^latitude|^longitude|^latest|^state_of_charge/.test(order) ? order : order.replace(' ', ` ${bytes} `);
  // The same way as the last field, so that an index can give the order.
  const last = isByUuid ? [] : [`uuid ${orders.at(-1)?.includes(' DESC') === true ? 'DESC' : 'ASC'}`];
  return {
    order: [...orders.map(textual), ...last].join(', '),
    page: Math.max(1, Number(one('page') ?? 1)),
    pageItems: Math.min(MOST_PAGE_ITEMS, Number(one('page_size') ?? PAGE_ITEMS)),
  };
}

/** How many there are. Observed: the service has a first page always, and knows none beyond the last. */
async function countRows(database: Database, { source, values, page, pageItems }: Selection): Promise<number> {
  const [row] = await database.all(`SELECT count(*) AS n FROM ${source}`, values);
  const count = Number(row?.['n'] ?? 0);
  if (page > 1 && (page - 1) * pageItems >= count)
    throw new FleetError('not-found', `the mirror has no page ${page} of this list, which holds ${count}`);
  return count;
}

/** One page; nobody asks for the next one in the same breath. */
async function* readPage<T>(
  database: Database,
  selection: Selection,
  seen: Seen,
): AsyncGenerator<ListPage<T>, void, undefined> {
  const { source, order, values, page, pageItems } = selection;
  const count = await countRows(database, selection);
  const offset = (page - 1) * pageItems;
  const sql = `SELECT raw FROM ${source} ORDER BY ${order} LIMIT ? OFFSET ?`;
  const items = (await database.all(sql, [...values, pageItems, offset])).map((row) => itemOf<T>(row));
  const hasMore = offset + items.length < count && items.length > 0;
  const fresh = items.filter((item) => seen.add(item));
  yield { count, items, fresh, next: hasMore ? [['page', String(page + 1)]] : undefined, trace: {} };
}

/** The list as one reading of the database, of which `count` is at last exactly what came. */
async function* readWhole<T>(
  database: Database,
  selection: Selection,
  limit: number | undefined,
): AsyncGenerator<ListPage<T>, void, undefined> {
  const { source, order, values, page, pageItems } = selection;
  const skipped = (page - 1) * pageItems;
  const count = await countRows(database, selection);
  // One more than is wanted shows that there are more.
  const most = limit === undefined ? Number.MAX_SAFE_INTEGER : limit + 1;
  const sql = `SELECT raw FROM ${source} ORDER BY ${order} LIMIT ${most} OFFSET ${skipped}`;
  let came = 0;
  let held: Item<T>[] | undefined;
  const pageOf = (items: Item<T>[], isLast: boolean): ListPage<T> => ({
    count: isLast && limit === undefined ? skipped + came : Math.max(count, skipped + came),
    items,
    fresh: items,
    next: isLast ? undefined : [['page', '0']],
    trace: {},
  });
  for await (const rows of database.each(sql, values)) {
    if (held !== undefined) yield pageOf(held, false);
    held = rows.map((row) => itemOf<T>(row));
    came += held.length;
  }
  yield pageOf(held ?? [], true);
}

/** An object as the mirror has it; its value is read when it is asked for. */
function itemOf<T>({ raw }: Row): Item<T> {
  const json = String(raw);
  let value: T | undefined;
  return {
    json,
    get value(): T {
      value ??= parseJson(json) as T;
      return value;
    },
  };
}
