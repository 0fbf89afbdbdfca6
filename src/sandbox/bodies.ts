// Parses and checks bodies that create or edit a bicycle (interface.md sections 4.2 and 4.4).
import { type BicycleRow, hasOrganization, linkTo, type ServedFleet } from './fleet.js';
import { type Detail, Problem, refuseRole } from './problem.js';
import type { Viewer } from './token.js';

type Body = { [field: string]: unknown };

/** Observed: the maximum length of a name. */
const LONGEST_NAME = 128;

/** Observed: the states in which a lock may be changed. */
const WORKSHOP_STATES: readonly string[] = ['in_maintenance', 'retired'];

const TEXT_FIELDS = ['name', 'serial_number', 'description'];
const REQUIRED_FIELDS = ['name', 'organization'];

/**
 * Parses the fields that create and edit requests share, and collects their errors. Unknown fields
 * are ignored (assumed).
 */
function readFields(
  fleet: ServedFleet,
  body: Body,
  required: readonly string[],
  texts: readonly string[],
) {
  const detail: Detail = {};
  const fields: { [field: string]: string | null } = {};
  const complain = (field: string, message: string, code: string): undefined => {
    detail[field] = [{ message, code }];
    return undefined;
  };
  const isGiven = (field: string) => body[field] !== undefined && body[field] !== null;
  const prefix = new URL(fleet.baseUrl).pathname.replace(/\/$/, '');
  // "Related resources are referenced by absolute URL (a link to the resource), not by bare
  // identifier" (section 2). Assumed: as in Django, only the path of the link is compared. The rest
  // of the link may differ when a proxy is in front of the service.
  const readLink = (field: string, collection: string, isThere: (uuid: string) => boolean) => {
    if (!isGiven(field)) return undefined;
    const text = String(body[field]);
    const path = /^https?:/.test(text) && URL.canParse(text) ? new URL(text).pathname : '';
    const uuid = new RegExp(`^${prefix}/${collection}/([0-9a-fA-F-]{36})/$`)
      .exec(path)?.[1]
      ?.toLowerCase();
    if (uuid === undefined) return complain(field, 'Invalid hyperlink - No URL match.', 'no_match');
    if (!isThere(uuid))
      return complain(field, 'Invalid hyperlink - Object does not exist.', 'does_not_exist');
    return uuid;
  };
  for (const field of texts.filter(isGiven)) {
    const value = body[field];
    if (typeof value === 'string') fields[field] = fleet.storedText(value);
    else complain(field, 'Not a valid string.', 'invalid');
  }
  if ([...(fields['name'] ?? '')].length > LONGEST_NAME) {
    complain(
      'name',
      `Ensure this field has no more than ${LONGEST_NAME} characters.`,
      'max_length',
    );
  }
  const organization = readLink('organization', 'organizations', (uuid) =>
    hasOrganization(fleet, uuid),
  );
  const model = readLink('model', 'bicycle_models', (uuid) =>
    fleet.models.some((each) => each.uuid === uuid),
  );
  const lock = readLink('lock', 'locks', () => true);
  if (model !== undefined) fields['model'] = linkTo(fleet, 'bicycle_models', model);
  if (lock !== undefined) fields['lock'] = linkTo(fleet, 'locks', lock);
  for (const field of required)
    if (!isGiven(field)) complain(field, 'This field is required.', 'required');
  return { organization, fields, detail, complain };
}

/**
 * The organization and the name that a new or edited bicycle will have, for the uniqueness check.
 * `own` is the row of the edited bicycle, and undefined for a new bicycle.
 */
interface Claim {
  organization: string;
  name: string | null | undefined;
  own?: BicycleRow;
}

/**
 * Observed: a name is unique within an organization, except the empty name. Throws a 400 or 403
 * Problem.
 */
function check(
  fleet: ServedFleet,
  viewer: Viewer,
  detail: Detail,
  { organization, name, own }: Claim,
): void {
  if (Object.keys(detail).length > 0) throw new Problem(400, detail);
  if (viewer.organization !== undefined && viewer.organization !== organization) throw refuseRole();
  const isTaken = (row: BicycleRow) =>
    row !== own && row.organization === organization && row.body.name === name;
  if (!fleet.isObserved || !name || !fleet.bicycles.some(isTaken)) return;
  const message = 'The fields organization, name must make a unique set.';
  throw new Problem(400, { non_field_errors: [{ message, code: 'unique' }] });
}

/**
 * Parses a create request (section 4.2). Throws a 400 Problem that names every invalid field, or a
 * 403 Problem.
 */
export function readNewBicycle(
  fleet: ServedFleet,
  body: Body,
  viewer: Viewer,
): { organization: string; fields: { [field: string]: string | null } } {
  const {
    organization = '',
    fields,
    detail,
  } = readFields(fleet, body, REQUIRED_FIELDS, TEXT_FIELDS);
  check(fleet, viewer, detail, { organization, name: fields['name'] });
  return { organization, fields };
}

/**
 * Parses an edit. Observed: an edit contains all fields (PUT) or some fields (PATCH). `state` and
 * unknown fields are ignored. A lock can be changed only in WORKSHOP_STATES. Throws a 400 or 403
 * Problem.
 */
export function readEdit(
  fleet: ServedFleet,
  row: BicycleRow,
  body: Body,
  input: { isWhole: boolean; viewer: Viewer },
) {
  const required = input.isWhole ? REQUIRED_FIELDS : [];
  const { organization, fields, detail, complain } = readFields(fleet, body, required, [
    ...TEXT_FIELDS,
    'note',
  ]);
  for (const field of ['model', 'lock', 'note']) if (body[field] === null) fields[field] = null;
  const isLockNew = fields['lock'] !== undefined && fields['lock'] !== (row.body.lock ?? null);
  if (isLockNew && !WORKSHOP_STATES.includes(row.body.state)) {
    complain('lock', 'The lock can only be changed in maintenance or when retired.', 'invalid');
  }
  const claim = { organization: organization ?? row.organization, name: fields['name'], own: row };
  check(fleet, input.viewer, detail, claim);
  return { organization, fields };
}
