// The mirror as a client of the service: the same requests for lists, answered from the database; whatever else needs the service.

import { ALERT } from '../api/alert.js';
import { BICYCLE, BICYCLE_FIELDS } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import { FleetError, usageError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { ListPage } from '../http/pages.js';
import type { HttpAnswer, HttpRequest, Query } from '../http/types.js';
import { parseJson } from '../json/parse.js';
import type { Database, Value } from './database.js';
import { likeText } from './dialect.js';
import type { Mirror } from './open.js';
import { lateItem, orderOf } from './rows.js';

/** Pages as the service has them, where a list is not read whole. */
const PAGE_ITEMS = 20;
const MOST_PAGE_ITEMS = 100;

type PageOptions = NonNullable<Parameters<Client['pages']>[1]>;

/** A client that says what is behind it. */
export interface MirrorClient extends Client {
  readonly mirror: Mirror;
  /** The paths of what was asked for. */
  readonly asked: ReadonlySet<string>;
}

/** Throws a FleetError of kind `usage` for a request that the mirror cannot answer. */
export function openMirrorClient(mirror: Mirror): MirrorClient {
  const { database, baseUrl } = mirror;
  const asked = new Set<string>();
  return {
    ...{ mirror, asked },
    baseUrl: new URL(baseUrl ?? 'http://localhost/'),
    send(request) {
      asked.add(request.path);
      return sendOne(database, request);
    },
    probe: async (request) => refuse(request),
    preview: refuse,
    pages<T>(request: HttpRequest, options: PageOptions = {}) {
      asked.add(request.path);
      return readPages<T>(database, selectionOf(mirror, request), options);
    },
  };
}

function refuse({ subject, path }: HttpRequest): never {
  throw usageError(
    `${subject ?? path} needs the service, and --offline asks the mirror alone`,
    'leave --offline out',
  );
}

/** One bicycle at its own address. */
async function sendOne(database: Database, request: HttpRequest): Promise<HttpAnswer> {
  const uuid = wholeUuid(request.path.split('/').at(-2) ?? '');
  if (
    (request.method ?? 'GET') !== 'GET' ||
    uuid === undefined ||
    request.path !== BICYCLE.path(uuid)
  )
    return refuse(request);
  const [row] = await database.all('SELECT raw, gone FROM bicycles WHERE uuid = ?', [uuid]);
  const missing = `no bicycle ${uuid} in the mirror`;
  if (row === undefined) throw new FleetError('not-found', missing);
  if (row['gone'] !== null) {
    const hint = `see its history: fleet bicycles history ${uuid}`;
    throw new FleetError('not-found', `${missing}: it left the list at ${row['gone']}`, { hint });
  }
  const text = String(row['raw']);
  return { status: 200, headers: {}, text, bytes: Buffer.from(text), trace: {}, milliseconds: 0 };
}

/** How the values of a parameter narrow a list: a condition, and its own values. */
type Filter = (values: readonly string[]) => readonly [condition: string, ...values: Value[]];

/** A list that the mirror answers. */
interface List {
  /** The table, and what is always left out. */
  readonly source: string;
  /** The column of the organization whose list it is. */
  readonly organization: string;
  readonly filters: ReadonlyMap<string, Filter>;
  /** What it can be ordered by. */
  readonly fields: readonly string[];
}

const isAmong = (column: string): [string, Filter] => [
  column.replace('_uuid', ''),
  (values) => [`${column} IN (${values.map(() => '?').join(', ')})`, ...values],
];

/** The caller looks at each that comes. */
const ANY: Filter = () => ['true'];

const isWithin: Filter = ([box = '']) => {
  const [east = 0, north = 0, west = 0, south = 0] = box.split(',').map(Number);
  return ['latitude BETWEEN ? AND ? AND longitude BETWEEN ? AND ?', south, north, west, east];
};

function contains(...columns: readonly string[]): Filter {
  return ([text = '']) => {
    // SQLite folds the letters of ASCII alone.
    if (/[^\x20-\x7e]/.test(text)) return ANY([]);
    const either = columns.map((column) => `lower(${column}) LIKE ? ESCAPE '\\'`);
    // An index holds these fields alone: whole rows are many times as much to read.
    const condition = `uuid IN (SELECT uuid FROM bicycles WHERE ${either.join(' OR ')})`;
    return [condition, ...columns.map(() => `%${likeText(text)}%`)];
  };
}

const LISTS: { readonly [path: string]: List } = {
  [BICYCLE.listPath]: {
    source: 'bicycles WHERE gone IS NULL',
    organization: 'followed',
    filters: new Map([
      isAmong('state'),
      ['bbox', isWithin],
      // Observed: in which fields a text is looked for.
      ['query', contains('name', 'serial_number', 'bleid')],
      ['name', contains('name')],
      ['uuid', ANY],
    ]),
    fields: [...new Set(['uuid', 'created', 'modified', 'organization', ...BICYCLE_FIELDS])],
  },
  [ALERT.listPath]: {
    source: 'alerts WHERE true',
    organization: 'organization_uuid',
    filters: new Map([isAmong('state'), isAmong('alert_type'), isAmong('bicycle_uuid')]),
    fields: [
      'uuid',
      'created',
      'modified',
      'organization',
      'alert_type',
      'message',
      'state',
      'url',
    ],
  },
};

const PAGING: readonly string[] = ['page', 'page_size', 'ordering'];

/** What a list asks of the database: the table, and what it is narrowed to; the order and the page. */
function selectionOf({ database, organizations: held }: Mirror, request: HttpRequest) {
  const { path, query = [] } = request;
  const list = LISTS[path];
  if (list === undefined) return refuse(request);
  const isOwn: Filter = (wanted) => {
    const stranger = wanted.find((each) => !held.includes(each));
    const hint = held.length === 0 ? undefined : `it holds ${held.join(', ')}`;
    if (stranger !== undefined)
      throw usageError(`the mirror does not hold organization ${stranger}`, hint);
    // A mirror of that organization alone needs no condition, which would read every row.
    return held.length > 1 ? isAmong(list.organization)[1](wanted) : ANY(wanted);
  };
  const conditions = [list.source];
  const values: Value[] = [];
  for (const name of new Set(query.map(([each]) => each))) {
    if (PAGING.includes(name)) continue;
    const filter = name === 'organization' ? isOwn : list.filters.get(name);
    if (filter === undefined) {
      const hint = 'leave it out, use --where, or ask the service without --offline';
      throw usageError(`--offline cannot filter by "${name}", which only the service can`, hint);
    }
    const [condition, ...more] = filter(
      query.flatMap(([each, value]) => (each === name ? [value] : [])),
    );
    conditions.push(condition);
    values.push(...more);
  }
  return { source: conditions.join(' AND '), values, ...place(database, query, list.fields) };
}

/** The order, "what has no value last either way", and which page. Observed: the newest first unless the request says otherwise. */
function place(database: Database, query: Query, fields: readonly string[]) {
  const one = (name: string) => query.find(([found]) => found === name)?.[1];
  const orders = (one('ordering') ?? '-created').split(',').map((field) => {
    const name = field.replace(/^-/, '');
    if (!fields.includes(name))
      throw usageError(`--offline cannot order by "${name}"`, `it orders by ${fields.join(', ')}`);
    return `${orderOf(name, database.dialect)} ${field.startsWith('-') ? 'DESC' : 'ASC'} NULLS LAST`;
  });
  // The same way as the last field, so that an index can give the order.
  const last = orders.at(-1)?.includes(' DESC') === true ? 'DESC' : 'ASC';
  return {
    order: [...orders, `uuid ${last}`].join(', '),
    page: Math.max(1, Number(one('page') ?? 1)),
    pageItems: Math.min(MOST_PAGE_ITEMS, Number(one('page_size') ?? PAGE_ITEMS)),
  };
}

/**
 * One page, where nobody asks for the next one in the same breath; else the list as one reading of the database, of which `count` is at last
 * exactly what came. Observed: the service has a first page always, and knows none beyond the last.
 */
async function* readPages<T>(
  database: Database,
  { source, order, values, page, pageItems }: ReturnType<typeof selectionOf>,
  { ahead, limit = Number.POSITIVE_INFINITY }: PageOptions,
): AsyncGenerator<ListPage<T>, void, undefined> {
  const skipped = (page - 1) * pageItems;
  const [row] = await database.all(`SELECT count(*) AS n FROM ${source}`, values);
  const count = Number(row?.['n']);
  if (page > 1 && skipped >= count)
    throw new FleetError(
      'not-found',
      `the mirror has no page ${page} of this list, which holds ${count}`,
    );
  const isOne = ahead === 0;
  // One more than is wanted shows that there are more.
  const most = isOne ? pageItems : Math.min(limit + 1, Number.MAX_SAFE_INTEGER);
  const sql = `SELECT raw FROM ${source} ORDER BY ${order} LIMIT ${most} OFFSET ${skipped}`;
  let came = skipped;
  const next: Query = [['page', String(page + 1)]];
  for await (const rows of isOne ? [await database.all(sql, values)] : database.each(sql, values)) {
    const items = rows.map(({ raw }) => lateItem<T>(String(raw), parseJson));
    came += items.length;
    const isLast = came >= count;
    yield {
      count: Math.max(count, came),
      items,
      fresh: items,
      next: isLast ? undefined : next,
      trace: {},
    };
  }
  if (!isOne)
    yield { count: most > count ? came : count, items: [], fresh: [], next: undefined, trace: {} };
}
