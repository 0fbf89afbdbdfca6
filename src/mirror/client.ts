// A client that answers requests from the mirror instead of the service.

import { ALERT } from '../api/alert.js';
import { BICYCLE, BICYCLE_FIELDS } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import type { NamedKind } from '../api/named.js';
import { FleetError, usageError } from '../errors.js';
import type { Client } from '../http/client.js';
import type { ListPage } from '../http/pages.js';
import type { HttpAnswer, HttpRequest, Query } from '../http/types.js';
import { parseJson } from '../json/parse.js';
import type { Database, Value } from './database.js';
import { likeText } from './dialect.js';
import { MIRRORED_NAMES, readStoredNames } from './names.js';
import type { Mirror } from './open.js';
import { lateItem, orderOf } from './rows.js';

/** The default page size of the service. It is used when fleet reads only some pages of a list. */
const PAGE_ITEMS = 20;
const MOST_PAGE_ITEMS = 100;

type PageOptions = NonNullable<Parameters<Client['pages']>[1]>;

/** A client that reads the mirror. */
export interface MirrorClient extends Client {
  readonly mirror: Mirror;
  /** The paths of all requests so far. */
  readonly asked: ReadonlySet<string>;
}

/**
 * Opens a client for a mirror. The client throws a FleetError of kind `usage` for requests that the
 * mirror cannot answer.
 */
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
      const kind = MIRRORED_NAMES.find(({ path }) => path === request.path);
      if (kind !== undefined) return readNamePage<T>(database, kind);
      asked.add(request.path);
      return readPages<T>(database, selectionOf(mirror, request), options);
    },
  };
}

function refuse({ subject, path }: HttpRequest): never {
  throw usageError(
    `${subject ?? path} needs the service, but --offline reads only the mirror`,
    'remove --offline',
  );
}

/**
 * Yields the names of all resources of a kind, such as zones, in one page. Throws a usage error
 * when the mirror has no names of this kind.
 */
async function* readNamePage<T>(
  database: Database,
  kind: NamedKind,
): AsyncGenerator<ListPage<T>, void, undefined> {
  const items = await readStoredNames<T>(database, kind);
  if (items.length === 0)
    throw usageError(
      `the mirror has no names of ${kind.many}, because fleet has not stored them in the mirror yet`,
      `use the UUID of the ${kind.one}, or remove --offline`,
    );
  yield { count: items.length, items, fresh: items, next: undefined, trace: {} };
}

/** Returns one bicycle of the mirror in the form in which the service would send it. */
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
    const hint = `to see its history, run: fleet bicycles history ${uuid}`;
    throw new FleetError('not-found', `${missing}: it left the list at ${row['gone']}`, { hint });
  }
  const text = String(row['raw']);
  return { status: 200, headers: {}, text, bytes: Buffer.from(text), trace: {}, milliseconds: 0 };
}

/** Returns the SQL condition for a query parameter, and the values of the condition. */
type Filter = (values: readonly string[]) => readonly [condition: string, ...values: Value[]];

/** A list that the mirror can provide. */
interface List {
  /** The SQL table with a condition that every query uses. */
  readonly source: string;
  /** The column that contains the organization. */
  readonly organization: string;
  readonly filters: ReadonlyMap<string, Filter>;
  /** The fields by which the list can be ordered. */
  readonly fields: readonly string[];
}

const isAmong = (column: string): [string, Filter] => [
  column.replace('_uuid', ''),
  (values) => [`${column} IN (${values.map(() => '?').join(', ')})`, ...values],
];

/** A filter that selects all rows. It is used when the caller filters the rows itself. */
const ANY: Filter = () => ['true'];

const isWithin: Filter = ([box = '']) => {
  const [east = 0, north = 0, west = 0, south = 0] = box.split(',').map(Number);
  return ['latitude BETWEEN ? AND ? AND longitude BETWEEN ? AND ?', south, north, west, east];
};

function contains(...columns: readonly string[]): Filter {
  return ([text = '']) => {
    // SQLite ignores case only for ASCII letters. If the search text has a character that is not
    // printable ASCII, this condition selects all rows, and the caller filters them.
    if (/[^\x20-\x7e]/.test(text)) return ANY([]);
    const either = columns.map((column) => `lower(${column}) LIKE ? ESCAPE '\\'`);
    // The subquery reads only an index that contains these fields. This is much faster than reading
    // whole rows.
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
      // Observed: `query` searches these fields.
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

/** Returns the parts of the SQL query that answers a request: table, conditions, order and page. */
function selectionOf({ database, organizations: held }: Mirror, request: HttpRequest) {
  const { path, query = [] } = request;
  const list = LISTS[path];
  if (list === undefined) return refuse(request);
  const isOwn: Filter = (wanted) => {
    const stranger = wanted.find((each) => !held.includes(each));
    const hint = held.length === 0 ? undefined : `it contains ${held.join(', ')}`;
    if (stranger !== undefined)
      throw usageError(`the mirror does not contain the organization ${stranger}`, hint);
    // The condition is omitted when the mirror contains only one organization, because every row
    // would meet it.
    return held.length > 1 ? isAmong(list.organization)[1](wanted) : ANY(wanted);
  };
  const conditions = [list.source];
  const values: Value[] = [];
  for (const name of new Set(query.map(([each]) => each))) {
    if (PAGING.includes(name)) continue;
    const filter = name === 'organization' ? isOwn : list.filters.get(name);
    if (filter === undefined) {
      const hint = 'remove this filter, use --where, or remove --offline to ask the service';
      throw usageError(
        `--offline cannot filter by "${name}"; only the service supports this filter`,
        hint,
      );
    }
    const [condition, ...more] = filter(
      query.flatMap(([each, value]) => (each === name ? [value] : [])),
    );
    conditions.push(condition);
    values.push(...more);
  }
  return { source: conditions.join(' AND '), values, ...place(database, query, list.fields) };
}

/**
 * Returns the ORDER BY and LIMIT clauses for a request. Rows without a value come last in both
 * directions. Observed: the service's default order is newest first.
 */
function place(database: Database, query: Query, fields: readonly string[]) {
  const one = (name: string) => query.find(([found]) => found === name)?.[1];
  const orders = (one('ordering') ?? '-created').split(',').map((field) => {
    const name = field.replace(/^-/, '');
    if (!fields.includes(name))
      throw usageError(
        `--offline cannot order by "${name}"`,
        `with --offline, order by ${fields.join(', ')}`,
      );
    return `${orderOf(name, database.dialect)} ${field.startsWith('-') ? 'DESC' : 'ASC'} NULLS LAST`;
  });
  // The order ends with `uuid`, in the same direction as the column before it, so that the database
  // can read the rows from an index.
  const last = orders.at(-1)?.includes(' DESC') === true ? 'DESC' : 'ASC';
  return {
    order: [...orders, `uuid ${last}`].join(', '),
    page: Math.max(1, Number(one('page') ?? 1)),
    pageItems: Math.min(MOST_PAGE_ITEMS, Number(one('page_size') ?? PAGE_ITEMS)),
  };
}

/**
 * Yields one page, or the whole list in one read transaction. For a whole list, `count` is at least
 * the number of rows that were read. Observed: the service returns a first page even for an empty
 * list, and returns 404 for a page beyond the last one.
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
      `the mirror has no page ${page} of this list; the total number of items is ${count}`,
    );
  const isOne = ahead === 0;
  // For a whole list with a limit, the query requests one row more than the limit. This row shows
  // that the list continues.
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
