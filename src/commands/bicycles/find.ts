// Finds a bicycle by its UUID or a UUID prefix, or by a name, serial number or bleid. Case is
// ignored in names, and a part of a name is enough.

import { BICYCLE, type Bicycle } from '../../api/bicycle.js';
import { wholeUuid } from '../../api/links.js';
import { refuseOtherKind } from '../../api/other-kind.js';
import type { Context } from '../../context.js';
import { FleetError, usageError } from '../../errors.js';
import type { Client } from '../../http/client.js';
import { LARGE_PAGE } from '../../http/first-page.js';
import { cutTo } from '../../http/server-text.js';
import type { Query } from '../../http/types.js';
import { holdsAll, mirrorOf, withCurrentMirror } from '../../list/current-mirror.js';
import { chosenOrganization } from '../../list/organization.js';
import { describe, type Meant, pickOne, shorten } from '../../list/pick-one.js';
import { findByPrefix } from '../../list/uuid-prefix.js';
import type { Mirror } from '../../mirror/open.js';
import { quoteForShell } from '../../system/shell-words.js';
import { clean } from '../../terminal/clean.js';
import { canAsk } from '../../terminal/prompt.js';
import { CERTAIN_PREFIX_DIGITS, formsOf, type Matches, openMatches } from './matching.js';
import { findRemembered } from './remembered.js';

/** A bicycle, and whether the typed text is exactly the bicycle's name or UUID. */
export interface FoundBicycle extends Meant<Bicycle> {
  isExact: boolean;
}

/**
 * Finds one bicycle in the organization of `scope` or of the settings. A complete UUID or a link
 * needs no request.
 *
 * Throws a FleetError of kind `usage` when several bicycles match, and of kind `not-found` when
 * none matches.
 */
export async function findBicycle(
  context: Context,
  text: string,
  scope?: string,
): Promise<FoundBicycle> {
  const uuid = wholeUuid(text);
  if (uuid !== undefined) {
    refuseOtherKind({ one: BICYCLE.one, path: BICYCLE.listPath }, text, shorten(text));
    return { uuid, item: undefined, isExact: true };
  }
  if (text.trim() === '')
    throw usageError(
      'the name of a bicycle must not be empty',
      'use a UUID, a UUID prefix, or a name',
    );
  const client = await context.client();
  const organization = await chosenOrganization(context, scope);
  const matches =
    (await remember(context, client, text, organization)) ??
    (await lookUp(client, text, organization));
  const where = organization === undefined ? '' : ` in organization ${organization}`;
  const search = quoteForShell(clean(cutTo(text, LONGEST_QUERY_CHARACTERS)));
  const missing = new FleetError('not-found', `no bicycle${where} is named "${shorten(text)}"`, {
    hint: `use a UUID (or at least its first four digits), or part of a name, serial number or bleid; to search the list, run: fleet bicycles list --name ${search}`,
  });
  const isExact = matches.kind === 'exact';
  return { ...pickOne(text, matches.found, BICYCLE, missing), isExact };
}

/** When one of these flags is set, fleet makes or previews a change without asking a question. */
interface ChangeFlags {
  yes?: boolean | undefined;
  dryRun?: boolean | undefined;
  plan?: string | undefined;
}

/**
 * Finds the bicycle to change. Without a terminal, a value that is not the exact name or UUID
 * throws a FleetError of kind `usage`, unless `--yes` is set. Otherwise a part of a name could
 * match the wrong bicycle, and the user would not see this.
 */
export async function findBicycleToChange(
  context: Context,
  text: string,
  { yes, dryRun, plan }: ChangeFlags,
): Promise<FoundBicycle> {
  const found = await findBicycle(context, text);
  const isSeen = canAsk(context) && context.flags.quiet !== true;
  const isSent = dryRun !== true && plan === undefined;
  if (found.isExact || isSeen || yes === true || !isSent) return found;
  const name = found.item?.value.name;
  throw usageError(
    `"${shorten(text)}" is not the exact name of ${describe(found.uuid, name)}; nothing was sent`,
    'pass the exact name or the UUID, or add --yes',
  );
}

/**
 * Searches a mirror. With `--offline`, only the mirror is searched. Without `--offline`, the mirror
 * is searched when it is current. If it does not have exactly one match, fleet asks the service
 * instead.
 */
async function remember(
  context: Context,
  client: Client,
  text: string,
  organization: string | undefined,
): Promise<Matches | undefined> {
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
  return found?.found.size === 1 ? found : undefined;
}

/**
 * The maximum length of search text in a query, because services limit the length of a URL. Longer
 * text is truncated. A search for the truncated text still finds every bicycle that contains the
 * whole text.
 */
const LONGEST_QUERY_CHARACTERS = 200;

/**
 * Returns every bicycle that the text may refer to, in a map whose keys are lower-case UUIDs.
 * Observed: `query` searches names, serial numbers and bleids. A service that ignores `query` sends
 * every bicycle, and fleet then compares all of them.
 */
export async function lookUp(
  client: Client,
  text: string,
  organization: string | undefined,
): Promise<Matches> {
  const scope: Query = organization === undefined ? [] : [['organization', organization]];
  const list = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  const matches = openMatches(text);
  const begun = await findByPrefix<Bicycle>(client, { ...list, query: scope }, text);
  for (const item of begun.values()) matches.addByPrefix(item);
  // A shorter prefix of a UUID could also be a part of another bicycle's name.
  if (begun.size > 0 && text.length >= CERTAIN_PREFIX_DIGITS) return matches.closest();
  // A service may compare strings byte by byte. When a search with one Unicode form finds nothing,
  // the other forms are tried.
  for (const form of formsOf(text.trim())) {
    const query: Query = [...scope, ['query', cutTo(form, LONGEST_QUERY_CHARACTERS)], LARGE_PAGE];
    for await (const { items } of client.pages<Bicycle>({ ...list, query })) {
      for (const item of items) matches.add(item);
    }
    const closest = matches.closest();
    if (closest.found.size > 0) return closest;
  }
  return matches.closest();
}
