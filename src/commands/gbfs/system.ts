// What is said of the system: --set, then one JSON file, then the settings; what is wrong or missing is named all at once.

import { nearest } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { messageOf, usageError } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import { KEYS } from '../../settings/keys.js';
import { explainSetting } from '../../settings/resolve.js';
import { loadStored } from '../../settings/store.js';
import { type FeedVersion, SYSTEM_FIELDS, SYSTEM_NAMES, type System, type SystemName } from '../../settings/system.js';
import { readInput } from '../../terminal/stdin.js';

export type SetFields = { readonly [name: string]: unknown };

/** Throws a FleetError of kind `usage` that names all that is wrong or missing; `ownUrl` is in the place of a `feed_url`. */
export async function readSystem(
  context: Context,
  version: FeedVersion,
  given: { file: string | undefined; set: SetFields | undefined },
  ownUrl: string | undefined,
): Promise<System> {
  const problems: string[] = [];
  const system: { [Name in SystemName]?: string } = {};
  const stored = await loadStored(context.io.env);
  for (const name of SYSTEM_NAMES) {
    const { value, problem } = explainSetting(`gbfs.${name}`, context.flags, context.io.env, stored);
    if (problem !== undefined) problems.push(problem.message);
    if (typeof value === 'string') system[name] = value;
  }
  const fromFile = given.file === undefined ? {} : await readFields(context, given.file);
  for (const [from, fields] of [
    [given.file, fromFile],
    ['--set', given.set ?? {}],
  ] as const) {
    for (const [name, value] of Object.entries(fields)) {
      const known = SYSTEM_NAMES.find((each) => each === name.replaceAll('-', '_'));
      const meant = nearest(name, SYSTEM_NAMES);
      if (known === undefined) {
        problems.push(`${from}: there is no field "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`);
        continue;
      }
      const parsed = KEYS[`gbfs.${known}`].parse(typeof value === 'string' ? value : '');
      if ('value' in parsed) system[known] = parsed.value;
      else problems.push(`${from}: ${known}: ${parsed.reason}${parsed.hint === undefined ? '' : ` (${parsed.hint})`}`);
    }
  }
  if (ownUrl !== undefined) system.feed_url ??= ownUrl;
  const missing = SYSTEM_NAMES.filter(
    (name) => system[name] === undefined && SYSTEM_FIELDS[name].neededBy.includes(version),
  );
  if (missing.length > 0) problems.push(`a feed of version ${version} needs ${missing.join(', ')}`);
  if (problems.length === 0) return system;
  const [first = 'name'] = missing;
  throw usageError(
    problems.join('; '),
    `fleet config set gbfs.${first} VALUE, --set ${first}=VALUE, or --system FILE; "fleet help gbfs" explains each`,
  );
}

async function readFields(context: Context, path: string): Promise<SetFields> {
  const text = (await readInput(context, path, '--system')).toString('utf8').replace(/^\uFEFF/, '');
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw usageError(`${path} cannot be understood: ${messageOf(error)}`, '--system takes a JSON object');
  }
  if (isObject(value)) return value;
  throw usageError(`${path} is not a JSON object`, 'write it like {"name": "City Bike", "language": "en"}');
}
