// Bodies that create or edit a bicycle: reading and checking each field (interface.md sections 4.2 and 4.4).
import { type BicycleRow, hasOrganization, linkTo, type ServedFleet } from './fleet.js';
import { type Detail, Problem, refuseRole } from './problem.js';
import type { Viewer } from './token.js';

type Body = { [field: string]: unknown };

/** Observed: the longest name. */
const LONGEST_NAME = 128;

/** Observed: the states in which a lock may be taken off or put on. */
const WORKSHOP_STATES: readonly string[] = ['in_maintenance', 'retired'];

/** Reads fields one by one and remembers what is wrong with them. */
function openReader(fleet: ServedFleet, body: Body) {
  const detail: Detail = {};
  const complain = (field: string, message: string, code: string): undefined => {
    detail[field] = [{ message, code }];
    return undefined;
  };
  const prefix = new URL(fleet.baseUrl).pathname.replace(/\/$/, '');
  return {
    detail,
    complain,
    isGiven: (field: string) => body[field] !== undefined && body[field] !== null,
    text: (field: string) => {
      const value = body[field];
      return typeof value === 'string' ? value : complain(field, 'Not a valid string.', 'invalid');
    },
    // "Related resources are referenced by absolute URL (a link to the resource), not by bare identifier" (section 2).
    link: (field: string, collection: string) => {
      const value = body[field];
      if (typeof value !== 'string') {
        return complain(field, `Incorrect type. Expected URL string, received ${typeof value}.`, 'incorrect_type');
      }
      const path = URL.canParse(value) && /^https?:/.test(value) ? new URL(value).pathname : '';
      // Assumed: as with Django, only the path of the link counts, since a proxy may stand in front.
      const [, uuid] = new RegExp(`^${prefix}/${collection}/([0-9a-fA-F-]{36})/$`).exec(path) ?? [];
      if (uuid === undefined) return complain(field, 'Invalid hyperlink - No URL match.', 'no_match');
      return uuid.toLowerCase();
    },
  };
}

/** Everything that creation and edit have in common. Unknown fields are ignored (assumed). */
function readFields(fleet: ServedFleet, reader: FieldReader, further: readonly string[]) {
  const { complain, isGiven, text, link, detail } = reader;
  const unknown = (field: string) => complain(field, 'Invalid hyperlink - Object does not exist.', 'does_not_exist');
  const fields: { [field: string]: string | null } = {};
  for (const field of ['name', 'serial_number', 'description', ...further]) {
    if (isGiven(field)) fields[field] = text(field) ?? '';
  }
  const { name } = fields;
  if (name !== undefined && name !== null && detail['name'] === undefined) {
    if (!fleet.isObserved && name.trim() === '') complain('name', 'This field may not be blank.', 'blank');
    if (fleet.isObserved && [...name].length > LONGEST_NAME) {
      complain('name', `Ensure this field has no more than ${LONGEST_NAME} characters.`, 'max_length');
    }
  }
  const organization = isGiven('organization') ? link('organization', 'organizations') : undefined;
  if (organization !== undefined && !hasOrganization(fleet, organization)) unknown('organization');
  if (isGiven('model')) {
    const uuid = link('model', 'bicycle_models');
    const model = fleet.models.find((candidate) => candidate.uuid === uuid);
    if (model !== undefined) fields['model'] = model.url;
    else if (uuid !== undefined) unknown('model');
  }
  if (isGiven('lock')) {
    const uuid = link('lock', 'locks');
    if (uuid !== undefined) fields['lock'] = linkTo(fleet, 'locks', uuid);
  }
  return { organization, fields };
}

type FieldReader = ReturnType<typeof openReader>;

function requireFields(reader: FieldReader, names: readonly string[]): void {
  for (const name of names) {
    if (!reader.isGiven(name)) reader.complain(name, 'This field is required.', 'required');
  }
}

/** Observed: a name is there once in an organization; the empty one does not count. */
function checkName(
  fleet: ServedFleet,
  organization: string,
  name: string | null | undefined,
  own: BicycleRow | undefined,
): void {
  if (!fleet.isObserved || name === undefined || name === null || name === '') return;
  const isTaken = (row: BicycleRow) => row !== own && row.organization === organization && row.body.name === name;
  if (!fleet.bicycles.some(isTaken)) return;
  const message = 'The fields organization, name must make a unique set.';
  throw new Problem(400, { non_field_errors: [{ message, code: 'unique' }] });
}

function checkOrganization(organization: string, viewer: Viewer): void {
  if (viewer.organization !== undefined && viewer.organization !== organization) throw refuseRole();
}

/** Section 4.2. Throws a 400 Problem that names every field that is wrong, or a 403 Problem. */
export function readNewBicycle(
  fleet: ServedFleet,
  body: Body,
  viewer: Viewer,
): { organization: string; fields: { name: string; [field: string]: string } } {
  const reader = openReader(fleet, body);
  requireFields(reader, ['name', 'organization']);
  const { organization, fields } = readFields(fleet, reader, []);
  const name = fields['name'];
  if (Object.keys(reader.detail).length > 0 || organization === undefined || typeof name !== 'string') {
    throw new Problem(400, reader.detail);
  }
  checkOrganization(organization, viewer);
  checkName(fleet, organization, name, undefined);
  return { organization, fields: { ...(fields as { [field: string]: string }), name } };
}

/**
 * Observed: an edit, whole (PUT) or in part (PATCH). `state` and unknown fields are ignored, a lock changes only in the
 * workshop. Throws a 400 or 403 Problem.
 */
export function readEdit(fleet: ServedFleet, row: BicycleRow, body: Body, input: { isWhole: boolean; viewer: Viewer }) {
  const reader = openReader(fleet, body);
  if (input.isWhole) requireFields(reader, ['name', 'organization']);
  const { organization, fields } = readFields(fleet, reader, ['note']);
  for (const field of ['model', 'lock']) if (body[field] === null) fields[field] = null;
  const isLockNew = fields['lock'] !== undefined && fields['lock'] !== (row.body.lock ?? null);
  if (isLockNew && !WORKSHOP_STATES.includes(row.body.state)) {
    reader.complain('lock', 'The lock can only be changed in maintenance or when retired.', 'invalid');
  }
  if (Object.keys(reader.detail).length > 0) throw new Problem(400, reader.detail);
  checkOrganization(organization ?? row.organization, input.viewer);
  checkName(fleet, organization ?? row.organization, fields['name'], row);
  return { organization, fields };
}
