// Finds a bicycle by UUID, a prefix of one, or an exact name, serial number or bleid.

import { BICYCLE, type Bicycle, bicycleUuid } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { refuseOtherKind } from '../../api/other-kind.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import { cutTo } from '../../http/server-text.js';
import type { Item, Query } from '../../http/types.js';
import { holdsAll, mirrorOf, withCurrentMirror } from '../../list/current-mirror.js';
import { chosenOrganization } from '../../list/organization.js';
import { type Meant, pickOne, shorten } from '../../list/pick-one.js';
import { findByPrefix } from '../../list/uuid-prefix.js';
import type { Mirror } from '../../mirror/open.js';
import { quoteForShell } from '../../system/shell-words.js';
import { clean } from '../../terminal/clean.js';
import { findRemembered } from './remembered.js';

/** A prefix with this many digits is rarely also a name. */
const CERTAIN_PREFIX_DIGITS = 8;

/**
 * Finds one bicycle in the organization of `scope`, or of the settings. A whole UUID or a link
 * needs no request. Throws a FleetError of kind `usage` when several match, and of kind `not-found`
 * when none matches.
 */
export async function findBicycle(
  context: Context,
  text: string,
  scope?: string,
): Promise<Meant<Bicycle>> {
  const uuid = wholeUuid(text);
  if (uuid !== undefined) {
    refuseOtherKind({ one: BICYCLE.one, path: BICYCLE.listPath }, text, shorten(text));
    return { uuid, item: undefined };
  }
  if (text.trim() === '')
    throw usageError(
      'the name of a bicycle must not be empty',
      'use a UUID, its beginning, or a name',
    );
  const client = await context.client();
  const organization = await chosenOrganization(context, scope);
  const matches =
    (await remember(context, client, text, organization)) ??
    (await lookUp(client, text, organization));
  const where = organization === undefined ? '' : ` in organization ${organization}`;
  const search = quoteForShell(clean(cutTo(text, LONGEST_QUERY_CHARACTERS)));
  const missing = new FleetError('not-found', `no bicycle${where} is named "${shorten(text)}"`, {
    hint: `use a UUID, its first four or more digits, or an exact name, serial number or bleid; search names with: fleet bicycles list --name ${search}`,
  });
  return pickOne(text, matches, BICYCLE, missing);
}

/**
 * Looks the text up in a mirror: always with `--offline`, otherwise in a current mirror. Without
 * exactly one match in a current mirror, the service is asked.
 */
async function remember(
  context: Context,
  client: Client,
  text: string,
  organization: string | undefined,
): Promise<Map<string, Item<Bicycle>> | undefined> {
  const find = async ({ database, organizations }: Mirror) => {
    const scope = organizations.length === 1 ? undefined : organization;
    return findRemembered(database, text, scope);
  };
  const offline = mirrorOf(client);
  if (offline !== undefined) return find(offline);
  const found = await withCurrentMirror(context, async (mirror) => {
    const token = async () => (await context.token()).get();
    return (await holdsAll(mirror, organization, token)) ? find(mirror) : undefined;
  });
  return found?.size === 1 ? found : undefined;
}

/**
 * The longest text in a query, because services limit the length of a URL. Every match also
 * contains the beginning of the text.
 */
const LONGEST_QUERY_CHARACTERS = 200;

/**
 * Returns every bicycle that the text may mean, by UUID in lower case. Observed: `query` searches
 * names, serial numbers and bleids. A service that ignores it sends every bicycle, which also
 * works.
 */
export async function lookUp(
  client: Client,
  text: string,
  organization: string | undefined,
): Promise<Map<string, Item<Bicycle>>> {
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const list = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  const matches = await findByPrefix<Bicycle>(client, { ...list, query: scope }, text);
  // A shorter prefix may also be the name of another bicycle.
  if (matches.size > 0 && text.length >= CERTAIN_PREFIX_DIGITS) return matches;
  const query: Query = [...scope, ['query', cutTo(text, LONGEST_QUERY_CHARACTERS)], LARGE_PAGE];
  for await (const { items } of client.pages<Bicycle>({ ...list, query })) {
    for (const item of items) {
      const uuid = bicycleUuid(item.value);
      const { name, serial_number, bleid } = item.value;
      if (uuid !== undefined && [name, serial_number, bleid].includes(text))
        matches.set(uuid, item);
    }
  }
  return matches;
}
