// Chooses the organization of a command. It comes from a flag or from the settings, or it is the
// only organization that exists.

import { BICYCLE, type Bicycle } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import { NAMED } from '../api/named.js';
import type { Context } from '../context.js';
import { type FleetError, usageError } from '../errors.js';
import { firstPage } from '../http/first-page.js';
import { organizationsOf } from '../settings/token.js';
import { readNames, uuidOfNamed } from './find-named.js';
import { listSome } from './pick-one.js';

/**
 * Returns the UUID of the organization in the flag or the settings, or undefined when neither is
 * set. Looks up names.
 */
export async function chosenOrganization(
  context: Context,
  text?: string,
): Promise<string | undefined> {
  const chosen = text ?? (await context.settings()).organization.value;
  return chosen === undefined ? undefined : uuidOfNamed(context, NAMED.organization, chosen);
}

/** Returns the organization as a query parameter of a list. */
export async function scopeOf(
  context: Context,
  text?: string,
): Promise<[name: string, value: string][]> {
  const organization = await chosenOrganization(context, text);
  return organization === undefined ? [] : [['organization', organization]];
}

/**
 * Returns the only organization that `requireOrganizations` finds. When there are several
 * organizations, throws a FleetError of kind `usage` that lists them.
 */
export async function requireOrganization(
  context: Context,
  text: string | undefined,
): Promise<string> {
  const found = await requireOrganizations(context, text === undefined ? [] : [text]);
  const [only = ''] = found;
  if (found.length > 1) throw await notChosen(context, found);
  return only;
}

/**
 * Returns the organizations from the flags, the settings or the token. If these do not name an
 * organization, returns the only organization on the first page of bicycles. Prints a notice when
 * fleet uses the only organization in the token or on this page. The UUIDs are in lower case and
 * distinct. Throws a FleetError of kind `usage` when no organization is found, or when the page
 * contains several.
 */
export async function requireOrganizations(
  context: Context,
  texts: readonly string[],
): Promise<string[]> {
  const asked = texts.length > 0 ? texts : [undefined];
  const chosen = await Promise.all(asked.map((text) => chosenOrganization(context, text)));
  const known = chosen.filter((one) => one !== undefined).map((one) => one.toLowerCase());
  if (known.length > 0) return [...new Set(known)];
  const ofToken = organizationsOf(await (await context.token()).get());
  const found = ofToken.length > 0 ? ofToken : await readOwners(context);
  if (found.length === 0 || (found.length > 1 && ofToken.length === 0))
    throw await notChosen(context, found);
  const source = ofToken.length > 0 ? 'in the token' : 'on the first page of bicycles';
  if (found.length === 1)
    await context.notice(`using the organization ${found[0]}, the only one ${source}`);
  return [...found];
}

/**
 * Returns the organizations on the first page of bicycles. Observed: a bicycle links to its
 * organization.
 */
async function readOwners(context: Context): Promise<string[]> {
  const request = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  const { items } = await firstPage<Bicycle>(await context.client(), request);
  const owners = items.map(({ value }) => wholeUuid(String(value['organization'] ?? '')));
  return [...new Set(owners.filter((owner) => owner !== undefined))];
}

async function notChosen(context: Context, several: readonly string[]): Promise<FleetError> {
  if (several.length === 0) {
    return usageError(
      'no organization given, and fleet cannot determine it from the token or the bicycles',
      'pass the name or UUID of the organization, or set it with "fleet config set organization NAME"',
    );
  }
  const names = await readNames(await context.client(), NAMED.organization).catch(() => undefined);
  return usageError(
    `there are ${several.length} organizations, and none was chosen`,
    `choose one of them, or set it with "fleet config set organization NAME": ${listSome(several.map((uuid) => [uuid, names?.get(uuid)?.[0]]))}`,
  );
}
