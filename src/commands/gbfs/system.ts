// Collects the facts about the rental system from --set and a JSON file. Reports all invalid and
// missing fields at once.

import { nearest } from '../../cli/nearest.js';
import type { Context } from '../../context.js';
import { usageError } from '../../errors.js';
import { isObject, parseJson } from '../../json/parse.js';
import { readInput } from '../../terminal/stdin.js';
import type { GbfsOptions } from './flags.js';
import type { System, SystemName } from './system-fields.js';
import { NEEDED_FIELDS, SYSTEM_FIELDS, SYSTEM_NAMES } from './system-fields.js';

const LONGEST_FIELD_CHARACTERS = 1000;
const LONGEST_SHOWN_CHARACTERS = 80;

type Fields = { readonly [name: string]: unknown };

/**
 * Reads the facts about the rental system. Throws a FleetError of kind `usage` that lists the
 * problems passed by the caller and all invalid and missing fields. `feed_url` is not required when
 * fleet serves the feed itself.
 */
export async function readSystem(
  context: Context,
  {
    version,
    serve,
    system: file,
    set = {},
  }: Pick<GbfsOptions, 'version' | 'serve' | 'system' | 'set'>,
  problems: string[],
): Promise<System> {
  /**
   * The valid fields. An invalid field is added with the value undefined, so that it is not also
   * reported as missing.
   */
  const system: { [Name in SystemName]?: string | undefined } = {};
  const take = (from: string, written: string, value: unknown) => {
    const name = SYSTEM_NAMES.find((each) => each === written.replaceAll('-', '_'));
    const meant = nearest(written, SYSTEM_NAMES);
    const guess = meant === undefined ? '' : `, did you mean "${meant}"?`;
    if (name === undefined)
      return void problems.push(`${from}: unknown field "${written}"${guess}`);
    const [example, parse] = SYSTEM_FIELDS[name];
    const text = String(value).trim();
    const isText =
      typeof value === 'string' && text !== '' && text.length <= LONGEST_FIELD_CHARACTERS;
    system[name] = isText && !/[\x00-\x1f\x7f]/.test(text) ? parse(text) : undefined;
    const shown = `${name}: "${text.slice(0, LONGEST_SHOWN_CHARACTERS)}"`;
    if (system[name] === undefined)
      problems.push(`${from}: ${shown} does not fit (write it like ${example})`);
  };
  const ofFile = file === undefined ? {} : await readFields(context, file);
  for (const [name, value] of Object.entries(ofFile)) take(file ?? '', name, value);
  for (const [name, value] of Object.entries(set)) take('--set', name, value);
  const isMissing = (name: SystemName) =>
    !(name in system) && !(name === 'feed_url' && serve !== undefined);
  const missing = NEEDED_FIELDS[version].filter(isMissing);
  if (missing.length > 0) problems.push(`a feed of version ${version} needs ${missing.join(', ')}`);
  if (problems.length === 0) return system;
  throw usageError(
    problems.join('; '),
    '--set NAME=VALUE, or --system FILE; "fleet help gbfs" explains each',
  );
}

async function readFields(context: Context, path: string): Promise<Fields> {
  const bytes = await readInput(context, path);
  try {
    const value = parseJson(bytes.toString('utf8').replace(/^\uFEFF/, ''));
    if (isObject(value)) return value;
  } catch {}
  throw usageError(
    `${path} is not a JSON object`,
    'write an object such as {"name": "City Bike", "language": "en"}',
  );
}
