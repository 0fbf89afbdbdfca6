// Collects the facts of the system: --set, then a JSON file, then the settings; reports everything wrong or missing at once.

import { nearest } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import { KEYS } from '../../settings/keys.js';
import { explainSetting } from '../../settings/resolve.js';
import { loadStored } from '../../settings/store.js';
import { type FeedVersion, NEEDED_FIELDS, SYSTEM_NAMES, type System, type SystemName } from '../../settings/system.js';
import { readInput } from '../../terminal/stdin.js';

type Fields = { readonly [name: string]: unknown };

export interface SystemFlags {
  version: FeedVersion;
  /** The port. */
  serve?: number;
  /** A file of JSON. */
  system?: string;
  set?: Fields;
}

/**
 * Throws a FleetError of kind `usage` that names all that is wrong or missing, after what is wrong already. A feed that is served need not
 * say where it will be read.
 */
export async function readSystem(
  { flags, io, ...context }: Context,
  { version, serve, system: file, set = {} }: SystemFlags,
  problems: string[],
): Promise<System> {
  const system: { [Name in SystemName]?: string } = {};
  const refused = new Set<SystemName>();
  const stored = await loadStored(io.env);
  for (const name of SYSTEM_NAMES) {
    const { value, problem } = explainSetting(`gbfs.${name}`, { flags, env: io.env, stored });
    if (problem !== undefined) problems.push(problem.message);
    if (problem !== undefined) refused.add(name);
    if (typeof value === 'string') system[name] = value;
  }
  const take = (from: string, written: string, value: unknown) => {
    const name = SYSTEM_NAMES.find((each) => each === written.replaceAll('-', '_'));
    const meant = nearest(written, SYSTEM_NAMES);
    const guess = meant === undefined ? '' : `, did you mean "${meant}"?`;
    if (name === undefined) return void problems.push(`${from}: unknown field "${written}"${guess}`);
    if (typeof value !== 'string') return void problems.push(`${from}: ${name} is not a text`);
    const parsed = KEYS[`gbfs.${name}`].parse(value);
    if ('value' in parsed) {
      system[name] = parsed.value;
      return;
    }
    refused.add(name);
    problems.push(`${from}: ${name}: ${parsed.reason} (${parsed.hint})`);
  };
  if (file !== undefined)
    for (const [name, value] of Object.entries(await readFields({ flags, io, ...context }, file)))
      take(file, name, value);
  for (const [name, value] of Object.entries(set)) take('--set', name, value);
  const isMissing = (name: SystemName) =>
    system[name] === undefined &&
    !refused.has(name) &&
    NEEDED_FIELDS[version].includes(name) &&
    !(name === 'feed_url' && serve !== undefined);
  const missing = SYSTEM_NAMES.filter(isMissing);
  if (missing.length > 0) problems.push(`a feed of version ${version} needs ${missing.join(', ')}`);
  if (problems.length === 0) return system;
  const example = missing[0] ?? [...refused][0] ?? 'name';
  const hint = `fleet config set gbfs.${example} VALUE, --set ${example}=VALUE, or --system FILE; "fleet help gbfs" explains each`;
  throw usageError(problems.join('; '), hint);
}

async function readFields(context: Context, path: string): Promise<Fields> {
  const bytes = await readInput(context, path, '--system');
  try {
    const value = parseJson(bytes.toString('utf8').replace(/^\uFEFF/, ''));
    if (isObject(value)) return value;
  } catch {}
  throw usageError(`${path} is not a JSON object`, 'write it like {"name": "City Bike", "language": "en"}');
}
