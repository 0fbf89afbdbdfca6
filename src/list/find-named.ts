// Finds organizations, zones, models, locks and users by name. The names come from lists of the
// service.

import { wholeUuid } from '../api/links.js';
import { NAMED, type Named, type NamedKind } from '../api/named.js';
import { refuseOtherKind } from '../api/other-kind.js';
import { nearest } from '../cli/nearest.js';
import type { Context } from '../context.js';
import { FleetError, usageError } from '../errors.js';
import type { Client } from '../http/client.js';
import { LARGE_PAGE } from '../http/first-page.js';
import { ifOffered } from '../http/optional.js';
import { within } from '../system/clock.js';
import { ID_DIGITS } from '../views/bicycle.js';
import { listSome, shorten } from './pick-one.js';

/** The names of each resource, by resource UUID. The most common kind of name comes first. */
export type Names = Map<string, string[]>;

/**
 * Reads names from the service until `isEnough` returns true. Returns undefined when the service
 * does not have the list, or does not show it to this token.
 */
export function readNames(
  client: Client,
  kind: NamedKind,
  isEnough: (names: Names) => boolean = () => false,
): Promise<Names | undefined> {
  // A 401 is thrown, because it means that the service refuses the token for every list.
  return ifOffered(readAllNames(client, kind, isEnough), ({ status }) => status !== 401);
}

/** Like `readNames`, but throws when the service denies access to the list. */
function readNamesOrRefusal(client: Client, kind: NamedKind): Promise<Names | undefined> {
  return ifOffered(readAllNames(client, kind), ({ kind: failure }) => failure !== 'auth').catch(
    (thrown: unknown) => {
      if (!(thrown instanceof FleetError) || thrown.status !== 403) throw thrown;
      throw thrown.with({
        hint: `use the UUID of the ${kind.one}, or run "fleet auth login" to log in again`,
      });
    },
  );
}

/** The maximum number of names in a list. There is a limit because all names are kept in memory. */
const MOST_NAMES = 50_000;

/**
 * Reads names until `isEnough` returns true. Throws a FleetError of kind `service` when the list
 * has more than MOST_NAMES names.
 */
async function readAllNames(
  client: Client,
  { path, many, nameFields }: NamedKind,
  isEnough: (names: Names) => boolean = () => false,
): Promise<Names> {
  const names: Names = new Map();
  const request = { path, query: [LARGE_PAGE], subject: `the list of ${many}` };
  for await (const { items } of client.pages<Named>(request, { ahead: 1 })) {
    for (const { value } of items) {
      const uuid = wholeUuid(String(value.uuid ?? value.url ?? ''));
      const own = nameFields
        .map((field) => value[field])
        .filter((name) => typeof name === 'string' && name !== '');
      if (uuid !== undefined) names.set(uuid, own as string[]);
    }
    if (isEnough(names)) break;
    if (names.size > MOST_NAMES)
      throw new FleetError(
        'service',
        `the list of ${many} has more than ${MOST_NAMES} items, which is too many to search by name`,
        { hint: 'use a UUID in place of the name' },
      );
  }
  return names;
}

/** The maximum time for which a heading waits for the names of organizations. */
const NAME_LIMIT_MS = 1_000;

/**
 * Returns the names of organizations for a heading. If the service does not respond in time, each
 * name is `organization` followed by the first digits of the UUID. Never throws.
 */
export async function showOrganizations(
  context: Context,
  uuids: readonly string[],
): Promise<Map<string, string>> {
  if (uuids.length === 0) return new Map();
  const read = async (signal: AbortSignal) => {
    return readNames(await context.client({ retries: 0, signal }), NAMED.organization);
  };
  const names = await within(context, NAME_LIMIT_MS, read).catch(() => undefined);
  return new Map(
    uuids.map((uuid) => [
      uuid,
      names?.get(uuid)?.[0] ?? `organization ${uuid.slice(0, ID_DIGITS)}`,
    ]),
  );
}

/**
 * Returns the UUID of the resource that the user named. `text` is a UUID, a link to such a
 * resource, or a name to look up. Throws a FleetError of kind `usage` for a link to another kind of
 * resource.
 */
export async function uuidOfNamed(
  context: Context,
  kind: NamedKind,
  text: string,
): Promise<string> {
  const uuid = wholeUuid(text);
  if (uuid === undefined) return findByName(context, kind, text);
  refuseOtherKind(kind, text);
  return uuid;
}

/**
 * Caches the names that a command has read, so that each list of names is read once. Without the
 * cache, each part of a command that needs the organization would read the list again. So would
 * each name in the rows of a file.
 */
const NAMES_READ = new WeakMap<Context, Map<NamedKind, Promise<Names | undefined>>>();

function readOnce(context: Context, kind: NamedKind): Promise<Names | undefined> {
  const lists = NAMES_READ.get(context) ?? new Map<NamedKind, Promise<Names | undefined>>();
  NAMES_READ.set(context, lists);
  const names =
    lists.get(kind) ?? context.client().then((client) => readNamesOrRefusal(client, kind));
  lists.set(kind, names);
  return names;
}

async function findByName(context: Context, kind: NamedKind, text: string): Promise<string> {
  if (text.trim() === '')
    throw usageError(`the ${kind.one} name is empty`, 'use its UUID or its name');
  return pickByName(kind, text, await readOnce(context, kind));
}

/**
 * Returns the UUID of the resource with this name. Ignores case when no name matches exactly.
 * Throws a FleetError when no resource or several resources match. The error lists other names.
 */
export function pickByName(
  { one, many }: NamedKind,
  text: string,
  names: Names | undefined,
): string {
  const wanted = text.trim();
  if (names === undefined)
    throw usageError(
      `this service lists no ${many} by name, so "${shorten(text)}" cannot be found`,
      'use the UUID, and check that the address of the service is correct',
    );
  const called = (isIt: (name: string) => boolean) =>
    [...names].filter(([, own]) => own.some(isIt));
  const exact = called((name) => name === wanted);
  const found =
    exact.length > 0 ? exact : called((name) => name.toLowerCase() === wanted.toLowerCase());
  const [first, ...others] = found;
  const show = (some: readonly [string, string[]][]) =>
    listSome(some.map(([uuid, [name]]) => [uuid, name]));
  const near = nearest(wanted, [...names.values()].flat());
  if (first === undefined)
    throw new FleetError('not-found', `no ${one} is named "${shorten(text)}"`, {
      hint: `${near === undefined ? '' : `did you mean "${near}"? `}${many}: ${show([...names])}`,
    });
  if (others.length > 0)
    throw usageError(
      `${found.length} ${many} are named "${shorten(text)}"; nothing was sent`,
      `use the UUID: ${show(found)}`,
    );
  return first[0];
}
