// Which organizations a mirror follows: those that were named, else that of the settings, else all that the token names.

import type { Context } from '../../context.js';
import { organizationsOf } from '../../settings/token.js';
import { chosenOrganization, requireOrganization } from '../organization.js';

/** At least one, each once, in lower case. Throws a FleetError of kind `usage` where none is named and none can be found. */
export async function chosenOrganizations(context: Context, texts: readonly string[]): Promise<string[]> {
  const named: string[] = [];
  for (const text of texts) named.push(await requireOrganization(context, text));
  if (named.length > 0) return distinct(named);
  const ofSettings = await chosenOrganization(context, undefined);
  if (ofSettings !== undefined) return distinct([ofSettings]);
  const ofToken = organizationsOf(await (await context.token()).get());
  return distinct(ofToken.length > 0 ? ofToken : [await requireOrganization(context, undefined)]);
}

function distinct(organizations: readonly string[]): string[] {
  return [...new Set(organizations.map((organization) => organization.toLowerCase()))];
}
