// Bicycle fields that can be given in flags or in file rows.

import { NEW_BICYCLE_FIELDS, type NewBicycle } from '../../api/bicycle.js';
import { isLinkField, type LinkField, resourceLink } from '../../api/links.js';
import { NAMED } from '../../api/named.js';
import { refuseOtherKind } from '../../api/other-kind.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { uuidOfNamed } from '../../list/find-named.js';
import type { FieldFlags } from './flags.js';

type FieldName = (typeof NEW_BICYCLE_FIELDS)[number];

/** The values that the user typed, as strings by field name. */
export type BicycleTexts = { [field in FieldName]?: string | undefined };

/** Whether this field can be set when a bicycle is created or edited. */
export function isField(name: string): name is FieldName {
  return (NEW_BICYCLE_FIELDS as readonly string[]).includes(name);
}

export function textsOf({
  name,
  organization,
  model,
  lock,
  serialNumber,
  description,
}: FieldFlags): BicycleTexts {
  return { name, organization, model, lock, serial_number: serialNumber, description };
}

/** Parses the typed fields. Throws the errors of looking up a name. */
export async function readBicycleFields(
  context: Context,
  texts: BicycleTexts,
): Promise<Partial<NewBicycle>> {
  const fields: Partial<NewBicycle> = {};
  for (const [field, text] of Object.entries(texts) as [FieldName, string | undefined][])
    if (text !== undefined)
      fields[field] = isLinkField(field) ? await readLink(context, field, text) : text;
  return fields;
}

/**
 * Returns the link that is sent for a resource. Keeps a URL unchanged, and turns a UUID into a URL
 * below the base URL. Any other text is the name of a resource and is looked up.
 *
 * Throws a FleetError of kind `usage` for the URL of another kind of resource.
 */
export async function readLink(
  context: Context,
  field: LinkField,
  written: string,
): Promise<string> {
  const text = written.trim();
  if (text === '') return text;
  if (/^https?:/i.test(text)) {
    refuseOtherKind(NAMED[field], text);
    return text;
  }
  const { baseUrl } = await context.client();
  return resourceLink(baseUrl, field, await uuidOfNamed(context, NAMED[field], text));
}

/** Throws a usage error when one of these flags is set. `why` says why the flag does not apply. */
export function refuseFlags<Options>(
  options: Options,
  names: readonly (keyof Options & string)[],
  why: string,
  hint?: string,
) {
  for (const name of names) {
    if (options[name] === undefined || options[name] === false) continue;
    throw usageError(
      `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${why}`,
      hint,
    );
  }
}
