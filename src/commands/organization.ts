// Which organization a command is about: the one that was named, by UUID or name, else that of the settings, else the only one there is.

import { BICYCLE, type Bicycle } from '../api/bicycle.js';
import { wholeUuid } from '../api/links.js';
import type { Context } from '../context.js';
import { FleetError, usageError } from '../errors.js';
import { firstPage } from '../http/first-page.js';
import { organizationsOf } from '../settings/token.js';
import { listSome } from './list/meant.js';

/** Assumed: the service lists organizations here, each with `uuid` and `name`; not every service does. */
const ORGANIZATIONS_PATH = '/organizations/';

interface Organization {
  uuid?: unknown;
  name?: unknown;
}

/** The UUID of the organization that was named, else that of the settings; undefined where neither says. A name is looked up. */
export async function chosenOrganization(context: Context, text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return (await context.settings()).organization.value;
  return wholeUuid(text) ?? findByName(context, text);
}

/** The same of a flag that makes a link: a URL is taken as it is. */
export async function ownerOf(context: Context, text: string | undefined): Promise<string | undefined> {
  return text === undefined || /^https?:/i.test(text) ? text : (wholeUuid(text) ?? findByName(context, text));
}

/**
 * As chosenOrganization; else the only one that the token names, or the bicycles that `witnesses` reads, or those of the first page of
 * the list, which is reported. Throws a FleetError of kind `usage` that lists several.
 */
export async function requireOrganization(
  context: Context,
  text: string | undefined,
  witnesses: () => Promise<readonly Bicycle[]> = async () => [],
): Promise<string> {
  const chosen = await chosenOrganization(context, text);
  if (chosen !== undefined) return chosen;
  const { found, source } = await findOnly(context, witnesses);
  const [only] = found;
  if (only === undefined || found.length > 1) throw await notChosen(context, found);
  await context.notice(`using the organization ${only}, ${source}`);
  return only;
}

async function findOnly(
  context: Context,
  witnesses: () => Promise<readonly Bicycle[]>,
): Promise<{ found: readonly string[]; source: string }> {
  const ofToken = organizationsOf(await (await context.token()).get());
  if (ofToken.length === 1) return { found: ofToken, source: 'the only one in the token' };
  const ofBicycles = ownersOf(await witnesses());
  if (ofBicycles.length > 0) return { found: ofBicycles, source: 'that of the bicycle' };
  if (ofToken.length > 1) return { found: ofToken, source: '' };
  const request = { path: BICYCLE.listPath, subject: 'the list of bicycles' };
  const { items } = await firstPage<Bicycle>(await context.client(), request);
  const found = ownersOf(items.map(({ value }) => value));
  return { found, source: 'the only one on the first page of bicycles' };
}

/** The organizations of these bicycles, each once. Observed: a bicycle has a link to its own. */
function ownersOf(bicycles: readonly Bicycle[]): string[] {
  const owners = bicycles.map((bicycle) => wholeUuid(String(bicycle['organization'] ?? '')));
  return [...new Set(owners.filter((owner) => owner !== undefined))];
}

async function notChosen(context: Context, several: readonly string[]): Promise<FleetError> {
  if (several.length === 0) {
    return usageError(
      'no organization is given, and neither the token nor the bicycles name one',
      'give its UUID, or set it with "fleet config set organization UUID"',
    );
  }
  const names = (await listOrganizations(context)) ?? new Map<string, string>();
  return usageError(
    `there are ${several.length} organizations, and none was chosen`,
    `give one of them, or set it with "fleet config set organization UUID": ${listSome(several.map((uuid) => [uuid, names.get(uuid)]))}`,
  );
}

/** The names of organizations by their UUIDs; undefined where the service lists none, or not to this token. */
async function listOrganizations(context: Context): Promise<Map<string, string> | undefined> {
  const organizations = new Map<string, string>();
  const request = { path: ORGANIZATIONS_PATH, subject: 'the list of organizations' };
  try {
    for await (const { items } of (await context.client()).pages<Organization>(request)) {
      for (const { value } of items) {
        const uuid = wholeUuid(String(value.uuid ?? ''));
        if (uuid !== undefined && typeof value.name === 'string') organizations.set(uuid, value.name);
      }
    }
    return organizations;
  } catch (thrown) {
    if (thrown instanceof FleetError && ['not-found', 'rejected', 'auth'].includes(thrown.kind)) return undefined;
    throw thrown;
  }
}

/** The organization of that name, whatever the case where only one has it so. */
async function findByName(context: Context, name: string): Promise<string> {
  const organizations = await listOrganizations(context);
  if (organizations === undefined) {
    throw usageError(`this service lists no organizations by name, so "${name}" cannot be found`, 'give its UUID');
  }
  const all = [...organizations];
  const exact = all.filter(([, one]) => one === name);
  const found = exact.length > 0 ? exact : all.filter(([, one]) => one.toLowerCase() === name.toLowerCase());
  const [first] = found;
  if (first === undefined) {
    throw new FleetError('not-found', `no organization is named "${name}"`, {
      hint: `organizations: ${listSome(all)}`,
    });
  }
  if (found.length > 1)
    throw usageError(`${found.length} organizations are named "${name}"`, `give the UUID: ${listSome(found)}`);
  return first[0];
}
